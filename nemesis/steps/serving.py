"""Whether a broker served before a fault, serves clients again after it, and joined or left the cluster."""

from __future__ import annotations

from nemesis.cluster import Registration
from nemesis.fault import FaultContext, Proof

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


def served_before(context: FaultContext, node: int) -> Proof:
    """Effective when the node served, or when other faults explain that it did not.

    Also when that could not be observed: a fault at the beginning of a schedule has no time before it.
    """
    served = context.served(node)
    if served != "no":
        return Proof(True, {"served_before": True if served == "yes" else "not observed"})
    if others := context.notes.get("explaining", {}).get(node, ()):
        return Proof(True, {"served_before": f"not required because of {', '.join(others)}"})
    nothing = "the node did not serve before the fault: it was booting, hung or fenced"
    return Proof(False, {"served_before": False, "nothing": nothing})


def note_explaining(context: FaultContext) -> None:
    """Remember, before the injection, which other events explain that a node does not serve."""
    context.notes["explaining"] = {node: context.explaining(node) for node in context.node_ids}


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
