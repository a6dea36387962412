"""Wait until a broker serves clients again after a fault."""

from __future__ import annotations

from nemesis.fault_context import FaultContext, Proof

LIMIT = 60.0
"""Seconds for a broker to start, recover its logs and be unfenced on a busy machine."""


def verify_serving(context: FaultContext) -> Proof:
    """Wait until the node serves clients, unless another event may rightly prevent that.

    Another fault may cut the node off, or the controllers may have lost their quorum. Nor may the wait delay the next
    event of the schedule: some schedules inject a fault while the cluster is still recovering.
    """
    if others := context.others:
        return Proof(True, {"serving": f"not required while {', '.join(others)} goes on"})
    left = context.seconds_to_next_action()
    if left <= 0:
        return Proof(True, {"serving": "not required: the next event is due"})
    limit = min(LIMIT, left)
    is_serving = False

    def is_settled() -> bool:
        nonlocal is_serving
        is_serving = context.cluster.serving(context.node_id)
        # A trigger may make the next event due at any time.
        return is_serving or context.seconds_to_next_action() <= 0

    context.wait_until(is_settled, limit)
    if is_serving:
        return Proof(True, {"serving": True})
    if context.seconds_to_next_action() <= 0:
        return Proof(True, {"serving": "not yet when the next event was due"})
    return Proof(False, {"serving": f"not seen; gave up after {limit:.0f} s or when the run was stopped"})
