"""Kill: the process ends without warning, and is started again when the fault ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, Proof, Strike
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

    def inject(self, strike: Strike) -> None:
        halt(strike)

    def verify_injected(self, strike: Strike) -> Proof:
        return halted(strike)

    def heal(self, strike: Strike) -> None:
        rouse(strike)

    def verify_healed(self, strike: Strike) -> Proof:
        return roused(strike)


def halt(strike: Strike, *, gently: bool = False) -> None:
    """End the node's process, and keep it down."""
    process = strike.process
    strike.notes |= {"before": process.state(), "incarnation": process.incarnation()}
    strike.processes.want(strike.event, strike.node, "stopped", gently=gently)


def halted(strike: Strike) -> Proof:
    """Whether it is down."""
    process = strike.process
    stopped = strike.until(lambda: process.state() == "stopped", LIMIT)
    evidence = {"before": strike.notes["before"], "state": process.state()}
    if stopped:
        evidence["exit_code"] = process.exit_code()
    return Proof(stopped, evidence)


def rouse(strike: Strike) -> None:
    """Let it run again, unless another fault keeps it down."""
    try:
        strike.notes["end"] = strike.process.state()
    finally:
        strike.processes.release(strike.event, strike.node)


def roused(strike: Strike) -> Proof:
    """Whether a new process runs and serves."""
    if "incarnation" not in strike.notes:
        return Proof(True, {"nothing": "the injection failed before anything was done"})
    process, wanted = strike.process, strike.processes.desired(strike.node)
    evidence: dict[str, object] = {"state_before_heal": strike.notes["end"]}
    if strike.effective and strike.notes["end"] != "stopped":
        evidence["ended_early"] = "something else had started the broker before the fault's end"
    if wanted == "stopped":  # by another fault, which starts it when it ends
        return Proof("ended_early" not in evidence, {**evidence, "held_by": list(strike.others)})
    as_wanted = strike.until(lambda: process.state() == wanted, LIMIT)
    new = process.incarnation() != strike.notes["incarnation"]
    evidence |= {"state": process.state(), "new_incarnation": new}
    if not as_wanted or not new:
        return Proof(False, evidence)
    served = serving(strike)
    return Proof(served.effective and "ended_early" not in evidence, {**evidence, **served.evidence})
