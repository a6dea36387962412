"""Wait until a broker serves clients again after a fault."""

from __future__ import annotations

from nemesis.fault_context import FaultContext, Proof

LIMIT = 60.0
"""Seconds for a broker to start, recover its logs and be unfenced on a busy machine."""


def verify_serving(context: FaultContext) -> Proof:
    """Wait until the node serves clients, unless another event may rightly prevent that.

    Another fault may cut the node off, or the controllers may have lost their quorum.
    """
    is_serving = False

    def is_settled() -> bool:
        nonlocal is_serving
        is_serving = not context.others and context.cluster.serving(context.node_id)
        return is_serving or bool(context.others)

    context.wait_until(is_settled, LIMIT)
    if is_serving:
        return Proof(True, {"serving": True})
    if others := context.others:
        return Proof(True, {"serving": f"not required while {', '.join(others)} goes on"})
    return Proof(False, {"serving": f"not seen; gave up after {LIMIT:.0f} s or when the run was stopped"})
