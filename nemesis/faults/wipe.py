"""Wipe: after a crash, all replicas of a broker are gone from its disk."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext, Proof
from nemesis.steps.processes import EndsProcess, end_process
from nemesis.targets import Groups, Target, brokers_only
from nemesis.topology import Topology

KEPT = ("meta.properties", "bootstrap.checkpoint", "__cluster_metadata-0", "lost+found")
"""Files that stay: the node's identity, and KRaft's metadata."""


@dataclass(frozen=True, kw_only=True)
class Wipe(EndsProcess):
    """The process is killed, and all partitions are removed from its disk."""

    name = "wipe"
    family = "storage"
    proved_by = "something was removed, and nothing is left"
    requires = "a target that is, or can be, a broker"
    changes_cluster = True
    destroys_records = True

    def check(self, topology: Topology, target: Target | Groups) -> None:
        brokers_only(topology, target, "have no replicas")

    def inject(self, context: FaultContext) -> None:
        end_process(context)
        keep = " ".join(f"! -name {name}" for name in KEPT)
        find = f"find /k/data -mindepth 1 -maxdepth 1 {keep}"
        script = f"{find} | wc -l; {find} -exec rm -rf {{}} +; {find} | wc -l"
        context.notes["status"], context.notes["output"] = context.node.disk.run(script)

    def verify_injected(self, context: FaultContext) -> Proof:
        proof, output = super().verify_injected(context), context.notes["output"].split()
        if context.notes["status"] or len(output) != 2:
            return Proof(False, {**proof.evidence, "not_wiped": context.notes["output"].strip()})
        removed, left = map(int, output)
        return Proof(proof.effective and removed > 0 and not left, {**proof.evidence, "removed": removed})


def wipe(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """Killed; all partitions are removed from its disk, but not its identity and KRaft's metadata; started again at
    the end."""
    return Event.of(Wipe(), target, at=at, after=after, lasting=lasting)
