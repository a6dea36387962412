"""Kill: the process ends without warning, and is started again when the fault ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.serving import serving

LIMIT = 10.0
"""Seconds for a process to be seen in the state it was brought to."""

KILLED = 137
"""Exit code of a process that did not end by itself."""


@dataclass(frozen=True, kw_only=True)
class Kill(Fault):
    """SIGKILL to the process."""

    name: ClassVar[str] = "kill"
    halts: ClassVar[bool] = True

    def inject(self, context: FaultContext) -> None:
        halt(context)

    def verify_injected(self, context: FaultContext) -> Proof:
        return halted(context)

    def heal(self, context: FaultContext) -> None:
        rouse(context)

    def verify_healed(self, context: FaultContext) -> Proof:
        return roused(context)


def halt(context: FaultContext, *, gently: bool = False) -> None:
    """End the node's process, and keep it down."""
    process = context.process
    context.notes |= {"before": process.state(), "incarnation": process.incarnation()}
    context.processes.want(context.event, context.node, "stopped", gently=gently)


def halted(context: FaultContext) -> Proof:
    """Whether it is down."""
    process = context.process
    stopped = context.until(lambda: process.state() == "stopped", LIMIT)
    evidence = {"before": context.notes["before"], "state": process.state()}
    if stopped:
        evidence["exit_code"] = process.exit_code()
    return Proof(stopped, evidence)


def rouse(context: FaultContext) -> None:
    """Let it run again, unless another fault keeps it down."""
    try:
        context.notes["end"] = context.process.state()
    finally:
        context.processes.release(context.event, context.node)


def roused(context: FaultContext) -> Proof:
    """Whether a new process runs and serves."""
    if "incarnation" not in context.notes:
        return Proof(True, {"nothing": "the injection failed before anything was done"})
    process, wanted = context.process, context.processes.desired(context.node)
    evidence: dict[str, object] = {"state_before_heal": context.notes["end"]}
    if context.effective and context.notes["end"] != "stopped":
        evidence["ended_early"] = "something else had started the broker before the fault's end"
    if wanted == "stopped":  # by another fault, which starts it when it ends
        return Proof("ended_early" not in evidence, {**evidence, "held_by": list(context.others)})
    as_wanted = context.until(lambda: process.state() == wanted, LIMIT)
    new = process.incarnation() != context.notes["incarnation"]
    evidence |= {"state": process.state(), "new_incarnation": new}
    if not as_wanted or not new:
        return Proof(False, evidence)
    served = serving(context)
    return Proof(served.effective and "ended_early" not in evidence, {**evidence, **served.evidence})
