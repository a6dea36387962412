"""A necessary condition of a check, which the prefilter evaluates in one cheap pass over the records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grain = Literal["record", "value", "send"]


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """True for at least one row of a run wherever the check finds something in the run."""

    per: Grain
    """What a row is."""
    where: str
    """SQL over the columns of such a row. Null counts as not suspicious."""


def per_record(where: str) -> Suspicion:
    """Over the columns of ``records``: each polled record and each acknowledged send."""
    return Suspicion(per="record", where=where)


def per_value(where: str) -> Suspicion:
    """Over one row per log and value, of sends of any completion type and intact polls.

    Columns: those of `SEEN` in `analyzers.facts.values` (sent, acked, failed, transactional, polled, read_committed,
    in_final); settled and due (whether the final read had to find it: because of its acknowledgement, and because
    of a poll); unknown (sent with completion type info); least, most (its lowest and highest offset); begun
    (ns, first invocation of a send), returned (ns, first completion of a poll); shared: the offset that it shares
    with another value, else null. Values that share an offset are always suspicious.
    """
    return Suspicion(per="value", where=where)


def per_send(where: str) -> Suspicion:
    """Over acknowledged sends. Columns: invoked (ns), and overtaken: when the first of the sends to a higher offset
    of the log was acknowledged (ns). Sends that no other can have overtaken are left out."""
    return Suspicion(per="send", where=where)
