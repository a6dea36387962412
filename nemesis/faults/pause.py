"""Pause: every thread of the broker stands still, as in a long garbage collection, and then goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.serving import serving

LIMIT = 5.0
"""Seconds for a process to be seen in the state it was brought to."""


@dataclass(frozen=True, kw_only=True)
class Pause(Fault):
    """By the cgroup freezer, or by SIGSTOP where the kernel refuses; the evidence says which."""

    name: ClassVar[str] = "pause"
    halts: ClassVar[bool] = True

    def inject(self, context: FaultContext) -> None:
        context.notes["before"] = context.cluster.nodes[context.node].state()
        context.processes.want(context.event, context.node, "paused")

    def verify_injected(self, context: FaultContext) -> Proof:
        process = context.cluster.nodes[context.node]
        evidence: dict[str, object] = {"before": context.notes["before"]}
        if context.processes.desired(context.node) != "paused":  # a kill is stronger
            return Proof(
                False, {**evidence, "state": process.state(), "not_paused_because_of": list(context.others)}
            )
        paused = context.until(lambda: process.state() == "paused", LIMIT)
        evidence |= {"state": process.state(), "mechanism": context.processes.mechanism(context.node)}
        return Proof(paused, evidence)

    def heal(self, context: FaultContext) -> None:
        context.notes["wanted"] = context.processes.desired(context.node)
        try:
            context.notes["end"] = context.cluster.nodes[context.node].state()
        finally:
            context.processes.release(context.event, context.node)

    def verify_healed(self, context: FaultContext) -> Proof:
        process, wanted = context.cluster.nodes[context.node], context.processes.desired(context.node)
        evidence: dict[str, object] = {"state_before_heal": context.notes["end"]}
        if context.effective and context.notes["end"] != context.notes["wanted"]:
            evidence["ended_early"] = "something else had changed the broker's state before the fault's end"
        as_wanted = context.until(lambda: process.state() == wanted, LIMIT)
        evidence["state"] = process.state()
        if not as_wanted:
            return Proof(False, evidence)
        if wanted != "running":  # another fault wants it so, and undoes it when it ends
            return Proof("ended_early" not in evidence, {**evidence, "held_by": list(context.others)})
        served = serving(context)
        return Proof(served.effective and "ended_early" not in evidence, {**evidence, **served.evidence})
