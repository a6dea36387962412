"""Pause: every thread of the broker stands still, as in a long garbage collection, and later continues."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Draw, Fault, FaultContext, Proof
from nemesis.faults.pause_client import pause_client
from nemesis.steps.processes import note_process, was_down_by_itself
from nemesis.steps.serving import served_before, verify_serving
from nemesis.targets import names_clients

LIMIT = 5.0
"""Seconds for a process to be observed in its new state."""


@dataclass(frozen=True, kw_only=True)
class Pause(Fault):
    """By the cgroup freezer, or by SIGSTOP where the kernel refuses it. The evidence says which."""

    name = "pause"
    family = "process"
    proved_by = (
        "the node served just before, and its process stands still; the evidence says which mechanism stopped "
        "it"
    )
    end_proved_by = "the process runs, and stood still until the heal; the node serves"
    draw = Draw(weight=3)
    blocks_process = True
    strikes_serving = True
    allows = frozenset({"kill"})
    prefers = frozenset({"freezer"})

    def inject(self, context: FaultContext) -> None:
        note_process(context)
        context.processes.want(context.event, context.node_id, "paused")

    def verify_injected(self, context: FaultContext) -> Proof:
        node = context.node
        evidence: dict[str, object] = {"before": context.notes["before"]}
        if context.processes.wanted(context.node_id) != "paused":  # a fault that ends the process wins
            evidence |= {"state": node.state(), "not_paused_because_of": list(context.others)}
            return Proof(False, evidence)
        if was_down_by_itself(context):
            return Proof(False, {**evidence, "nothing": "the process did not run before the fault"})
        is_paused = context.wait_until(lambda: node.state() == "paused", LIMIT)
        evidence |= {"state": node.state(), "mechanism": context.processes.mechanism(context.node_id)}
        served = served_before(context, context.node_id)
        return Proof(is_paused and served.effective, {**evidence, **served.evidence})

    def heal(self, context: FaultContext) -> None:
        context.notes["wanted"] = context.processes.wanted(context.node_id)
        try:
            context.notes["end"] = context.node.state()
        finally:
            context.processes.release(context.event, context.node_id)

    def verify_healed(self, context: FaultContext) -> Proof:
        node, wanted = context.node, context.processes.wanted(context.node_id)
        evidence: dict[str, object] = {"state_before_heal": context.notes["end"]}
        had_effect = context.notes["end"] == "paused" and _could_be_paused(context)
        if context.effective and context.notes["end"] != context.notes["wanted"]:
            evidence["ended_early"] = "something else had changed the broker's state before the fault's end"
        is_as_wanted = context.wait_until(lambda: node.state() == wanted, LIMIT)
        evidence["state"] = node.state()
        if not is_as_wanted:
            return Proof(False, evidence, had_effect)
        if wanted != "running":  # another fault wants this state, and undoes it at its own end
            return Proof(
                "ended_early" not in evidence, {**evidence, "held_by": list(context.others)}, had_effect
            )
        served = verify_serving(context)
        is_proved = served.effective and "ended_early" not in evidence
        return Proof(is_proved, {**evidence, **served.evidence}, had_effect)


def _could_be_paused(context: FaultContext) -> bool:
    """Whether the process ran and served before. With its state at the heal, that proves an injection whose own proof
    had not ended."""
    if "before" not in context.notes or was_down_by_itself(context):
        return False
    return served_before(context, context.node_id).effective


def pause(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """Every thread of the broker, or of client processes such as ``app:1``, stands still, by freezer or SIGSTOP."""
    if names_clients(target):
        return pause_client(str(target), at=at, after=after, lasting=lasting)
    return Event.of(Pause(), target, at=at, after=after, lasting=lasting)
