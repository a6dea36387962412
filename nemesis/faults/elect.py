"""Elections: the preferred leader takes over, or any replica at all; and leadership that never rests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.targets import Family, Groups, Target
from nemesis.topology import Topology
from nemesis.validation import LONGEST, number

LIMIT = 15.0
"""Seconds for a new leader to be known."""


@dataclass(frozen=True, kw_only=True)
class Elect(Fault):
    """unclean: any living replica, whatever it lacks, where there is no leader; else the preferred leader."""

    unclean: bool = False

    name: ClassVar[str] = "elect"
    strikes: ClassVar[Family] = "partition"
    together: ClassVar[bool] = True
    momentary: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.unclean, bool):
            raise ValueError(f"elect unclean={self.unclean!r}: expected True or False")

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: ARG002
        if topology.replicas < 2:
            raise ValueError("a partition with one replica has one leader only")
        if self.unclean and topology.coordination == "KRaft" and topology.release < (3, 9):
            raise ValueError(
                f"unclean=True: KRaft elects unclean leaders from Kafka 3.9 on, and this is "
                f"{'.'.join(map(str, topology.release))}"
            )

    def inject(self, context: FaultContext) -> None:
        kafka, cluster, log = context.cluster.kafka, context.cluster, context.log
        context.notes |= {"leader": cluster.leader(*log), "epoch": kafka.epoch(*log)}
        kafka.elect(*log, unclean=self.unclean)

    def verify_injected(self, context: FaultContext) -> Proof:
        kafka, cluster, log = context.cluster.kafka, context.cluster, context.log
        before = context.notes["leader"]
        context.until(lambda: kafka.epoch(*log) > context.notes["epoch"], LIMIT)
        leader, epoch = cluster.leader(*log), kafka.epoch(*log)
        evidence = {
            "leader_before": before,
            "leader": leader,
            "epoch_before": context.notes["epoch"],
            "epoch": epoch,
        }
        return Proof(leader is not None and leader != before and epoch > context.notes["epoch"], evidence)


@dataclass(frozen=True, kw_only=True)
class LeaderStorm(Fault):
    """every: seconds between two changes of the leader, which goes round among the partition's replicas."""

    every: float = 0.5

    name: ClassVar[str] = "leader-storm"
    puts_back: ClassVar[bool] = True
    strikes: ClassVar[Family] = "partition"
    together: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def __post_init__(self) -> None:
        number("leader-storm every", self.every, above=0, most=LONGEST)

    @property
    def pulse(self) -> float:
        return self.every

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: ARG002
        if topology.replicas < 2:
            raise ValueError("a partition with one replica has one leader only")

    def inject(self, context: FaultContext) -> None:
        context.notes |= {
            "replicas": context.cluster.replicas(*context.log),
            "epoch": context.cluster.kafka.epoch(*context.log),
        }
        self.beat(context)

    def beat(self, context: FaultContext) -> None:
        kafka, log = context.cluster.kafka, context.log
        replicas = context.cluster.replicas(*log)
        kafka.reassign(*log, (*replicas[1:], replicas[0]))
        context.until(lambda: context.cluster.replicas(*log) != replicas, self.every)
        kafka.elect(*log, unclean=False)

    def verify_injected(self, context: FaultContext) -> Proof:
        changed = context.until(
            lambda: context.cluster.kafka.epoch(*context.log) > context.notes["epoch"], LIMIT
        )
        return Proof(changed, {"epoch_before": context.notes["epoch"]})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["end"] = context.cluster.kafka.epoch(*context.log)
        finally:
            if context.notes.get("replicas"):
                context.cluster.kafka.reassign(*context.log, context.notes["replicas"])

    def verify_healed(self, context: FaultContext) -> Proof:
        cluster, log, wanted = context.cluster, context.log, context.notes.get("replicas")
        if not wanted:
            return Proof(True, {"nothing": "the injection failed before anything was done"})
        changes = context.notes["end"] - context.notes.get("epoch", 0)
        evidence = {"leader_epochs": changes, "replicas": list(wanted or ())}
        if not context.until(lambda: cluster.replicas(*log) == wanted, LIMIT):
            return Proof(False, {**evidence, "replicas_now": list(cluster.replicas(*log))})
        calm = context.until(lambda: cluster.leader(*log) is not None, LIMIT)
        return Proof(calm, evidence)
