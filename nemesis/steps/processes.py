"""Faults that end a node's process, which starts again at the heal, and faults of client processes."""

from __future__ import annotations

from nemesis.fault import Fault, FaultContext, Proof
from nemesis.steps.serving import note_explaining, served_before, verify_serving

LIMIT = 10.0
"""Seconds for a process to be observed in its new state."""

KILLED = 137
"""Exit status of a process that SIGKILL ended."""


class EndsProcess(Fault):
    """Subclasses end the process in `inject`, by `end_process` or in another way after `note_process`."""

    family = "process"
    end_proved_by = "a new process runs, the old one was gone until the heal, and the node serves"
    blocks_process = True
    strikes_serving = True

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when the process is gone, and served before or could not because of another fault."""
        node = context.node
        if was_down_by_itself(context):
            return Proof(False, {"before": "stopped", "nothing": "the process had ended before the fault"})
        stopped = context.wait_until(lambda: node.state() == "stopped", LIMIT)
        evidence = {"before": context.notes["before"], "state": node.state()}
        if stopped:
            evidence["exit_code"] = node.exit_code()
        served = served_before(context, context.node_id)
        return Proof(stopped and served.effective, {**evidence, **served.evidence})

    def heal(self, context: FaultContext) -> None:
        """Start the process again, unless another fault keeps it down."""
        try:
            context.notes["end"] = context.node.state()
        finally:
            context.processes.release(context.event, context.node_id)

    def verify_healed(self, context: FaultContext) -> Proof:
        """Effective when a new process runs and serves clients."""
        if "incarnation" not in context.notes:
            return Proof(True, {"nothing": "the injection failed before it changed anything"})
        node, wanted = context.node, context.processes.wanted(context.node_id)
        evidence: dict[str, object] = {"state_before_heal": context.notes["end"]}
        if context.effective and context.notes["end"] != "stopped":
            evidence["ended_early"] = "something else had started the broker before the fault's end"
        if wanted == "stopped":  # by another fault, which starts the process at its own end
            return Proof("ended_early" not in evidence, {**evidence, "held_by": list(context.others)})
        is_as_wanted = context.wait_until(lambda: node.state() == wanted, LIMIT)
        is_new = node.incarnation() != context.notes["incarnation"]
        evidence |= {"state": node.state(), "new_incarnation": is_new}
        if not is_as_wanted or not is_new:
            return Proof(False, evidence)
        served = verify_serving(context)
        return Proof(served.effective and "ended_early" not in evidence, {**evidence, **served.evidence})


def note_process(context: FaultContext) -> None:
    """Remember which process ran before the fault, and what other faults wanted of it."""
    note_explaining(context)
    context.notes |= {
        "before": context.node.state(),
        "wanted_before": context.processes.wanted(context.node_id),
        "incarnation": context.node.incarnation(),
    }


def was_down_by_itself(context: FaultContext) -> bool:
    """Whether the process did not run before the fault although no other fault had stopped or paused it."""
    return bool(context.notes["before"] != "running" and context.notes["wanted_before"] == "running")


def end_process(context: FaultContext, *, gently: bool = False) -> None:
    """End the node's process, by SIGKILL or gently by SIGTERM, and keep it down."""
    if "before" not in context.notes:
        note_process(context)
    context.processes.want(context.event, context.node_id, "stopped", gently=gently)


CLIENT_LIMIT = 15.0
"""Seconds for a client process to be observed in its new state."""


class AffectsClient(Fault):
    """`FaultContext.node_id` is the number of a client process."""

    family = "clients"
    target_family = "clients"
    takes_nodes_down = False
