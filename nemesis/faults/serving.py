"""Whether a broker that was struck serves again, asked only when it can."""

from __future__ import annotations

from nemesis.faults.fault import FaultContext, Proof

LIMIT = 60.0
"""Seconds for a broker to start, recover its logs and be unfenced on a busy machine."""


def serving(context: FaultContext) -> Proof:
    """Wait until the node serves, unless something may rightly keep it from that.

    That is any other fault (the node may be cut off, or the quorum of controllers be lost), or the next one
    when it is due: to strike a cluster that recovers is what some schedules are for.
    """
    if others := context.others:
        return Proof(True, {"serving": f"not demanded while {', '.join(others)} goes on"})
    leisure = context.leisure()
    if leisure <= 0:
        return Proof(True, {"serving": "not demanded: the next event is due"})
    limit = min(LIMIT, leisure)
    seen = False

    def settled() -> bool:
        nonlocal seen
        seen = context.cluster.serving(context.node)
        return seen or context.leisure() <= 0  # a trigger may have come

    context.until(settled, limit)
    if seen:
        return Proof(True, {"serving": True})
    if context.leisure() <= 0:
        return Proof(True, {"serving": "not yet when the next event was due"})
    return Proof(False, {"serving": f"not seen; gave up after {limit:.0f} s or when the run was stopped"})
