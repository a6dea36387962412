"""Whether the controller agrees that a broker joined or left the cluster."""

from __future__ import annotations

from nemesis.cluster import Registration
from nemesis.fault_context import FaultContext, Proof
from nemesis.steps.serving import LIMIT


def verify_member(context: FaultContext, node: int) -> Proof:
    """Wait until the controller has the broker registered and not fenced, and it serves clients."""
    answer: Registration | None = None
    is_serving = False

    def has_joined() -> bool:
        nonlocal answer, is_serving
        answer = context.cluster.kafka.registration(node)
        is_serving = answer == "active" and context.cluster.serving(node)
        return is_serving

    has_it_joined = context.wait_until(has_joined, LIMIT)
    return Proof(has_it_joined, {"added": node, "controller_says": answer, "serving": is_serving})


def verify_removed(context: FaultContext, node: int) -> Proof:
    """Wait until the controller does not know the broker any more."""
    answer: Registration | None = None

    def has_left() -> bool:
        nonlocal answer
        answer = context.cluster.kafka.registration(node)
        return answer == "unregistered"

    is_gone = context.wait_until(has_left, LIMIT)
    brokers = sorted(context.cluster.brokers)
    evidence = {"removed": node, "controller_says": answer, "brokers": brokers}
    return Proof(is_gone and node not in brokers, evidence)
