"""Whether a process served just before a fault that ends it, or makes it stand still."""

from __future__ import annotations

from nemesis.fault_context import FaultContext, Proof


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
