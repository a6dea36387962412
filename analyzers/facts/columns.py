"""Names and conditions that several facts use."""

from __future__ import annotations

LOG = ["run", "topic", "partition"]
"""The columns that identify a log."""

ACKED = "f = 'send' and type = 'ok'"

POLLED = "f = 'poll' and error is null"
"""A polled record with an intact payload of this run, in the partition to which it was written."""

ABORTED = "f = 'send' and type = 'fail' and transaction is not null"
"""A record of a transaction that was aborted. To readers of committed records and to the cleaner it is no record."""

SESSION = "coalesce(cast(session as bigint), -1 - process)"
"""A process without a session is a session of its own, with a negative number. Declared sessions count from 0."""

TIME = "coalesce(completed, invoked)"
"""ns. An operation that never completed has the time at which it began."""

SERVED = "coalesce(fetched, completed, invoked)"
"""ns. The broker had answered with a polled record by then. `completed` may be much later, because the record waited
in the client's buffer; where the client did not record when the response arrived, it is the only bound."""

MAYBE_ABORTED = "transaction is not null and type <> 'ok'"
"""A send in a transaction that was aborted, or whose outcome is unknown."""


def is_withheld(maybe_aborted: str, isolated: str, isolation: str) -> str:
    """SQL: a record that brokers may withhold from a consumer for good. It is `MAYBE_ABORTED`, no final read with
    read_committed found it (`isolated`), and the consumer is not known to read uncommitted records."""
    return f"coalesce({maybe_aborted} and not {isolated} and {isolation} <> 'read_uncommitted', false)"
