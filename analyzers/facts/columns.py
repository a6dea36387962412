"""Names and conditions that several facts use."""

from __future__ import annotations

LOG = ["run", "topic", "partition"]
"""What identifies one log."""

ACKED = "f = 'send' and type = 'ok'"

POLLED = "f = 'poll' and error is null"
"""A polled record whose payload is intact, of this run, and in the partition it was written for."""

SESSION = "coalesce(cast(session as bigint), -1 - process)"
"""A process without a session stands for itself; sessions count from 0, so these never meet."""

TIME = "coalesce(completed, invoked)"
"""ns. An operation that never completed is placed where it began."""
