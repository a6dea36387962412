"""Pause: every thread of the broker stands still, as in a long garbage collection, and then goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.faults.serving import serving

LIMIT = 5.0
"""Seconds for a process to be seen in the state it was brought to."""


@dataclass(frozen=True, kw_only=True)
class Pause(Fault):
    """By the cgroup freezer, or by SIGSTOP where the kernel refuses; the evidence says which."""

    name: ClassVar[str] = "pause"
    halts: ClassVar[bool] = True

    def inject(self, strike: Strike) -> None:
        strike.notes["before"] = strike.cluster.nodes[strike.node].state()
        strike.processes.want(strike.event, strike.node, "paused")

    def verify_injected(self, strike: Strike) -> Proof:
        process = strike.cluster.nodes[strike.node]
        evidence: dict[str, object] = {"before": strike.notes["before"]}
        if strike.processes.desired(strike.node) != "paused":  # a kill is stronger
            return Proof(
                False, {**evidence, "state": process.state(), "not_paused_because_of": list(strike.others)}
            )
        paused = strike.until(lambda: process.state() == "paused", LIMIT)
        evidence |= {"state": process.state(), "mechanism": strike.processes.mechanism(strike.node)}
        return Proof(paused, evidence)

    def heal(self, strike: Strike) -> None:
        strike.notes["wanted"] = strike.processes.desired(strike.node)
        try:
            strike.notes["end"] = strike.cluster.nodes[strike.node].state()
        finally:
            strike.processes.release(strike.event, strike.node)

    def verify_healed(self, strike: Strike) -> Proof:
        process, wanted = strike.cluster.nodes[strike.node], strike.processes.desired(strike.node)
        evidence: dict[str, object] = {"state_before_heal": strike.notes["end"]}
        if strike.effective and strike.notes["end"] != strike.notes["wanted"]:
            evidence["ended_early"] = "something else had changed the broker's state before the fault's end"
        as_wanted = strike.until(lambda: process.state() == wanted, LIMIT)
        evidence["state"] = process.state()
        if not as_wanted:
            return Proof(False, evidence)
        if wanted != "running":  # another fault wants it so, and undoes it when it ends
            return Proof("ended_early" not in evidence, {**evidence, "held_by": list(strike.others)})
        served = serving(strike)
        return Proof(served.effective and "ended_early" not in evidence, {**evidence, **served.evidence})
