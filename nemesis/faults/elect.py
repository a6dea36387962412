"""Elections: the preferred leader takes over, or any replica at all; and leadership that never rests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.checked import LONGEST, number
from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.ground import Ground
from nemesis.targets import Family, Groups, Target

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

    def check(self, ground: Ground, target: Target | Groups) -> None:  # noqa: ARG002
        if ground.replicas < 2:
            raise ValueError("a partition with one replica has one leader only")
        if self.unclean and ground.coordination == "KRaft" and ground.release < (3, 9):
            raise ValueError(
                f"unclean=True: KRaft elects unclean leaders from Kafka 3.9 on, and this is "
                f"{'.'.join(map(str, ground.release))}"
            )

    def inject(self, strike: Strike) -> None:
        kafka, cluster, log = strike.cluster.kafka, strike.cluster, strike.log
        strike.notes |= {"leader": cluster.leader(*log), "epoch": kafka.epoch(*log)}
        kafka.elect(*log, unclean=self.unclean)

    def verify_injected(self, strike: Strike) -> Proof:
        kafka, cluster, log = strike.cluster.kafka, strike.cluster, strike.log
        before = strike.notes["leader"]
        strike.until(lambda: kafka.epoch(*log) > strike.notes["epoch"], LIMIT)
        leader, epoch = cluster.leader(*log), kafka.epoch(*log)
        evidence = {
            "leader_before": before,
            "leader": leader,
            "epoch_before": strike.notes["epoch"],
            "epoch": epoch,
        }
        return Proof(leader is not None and leader != before and epoch > strike.notes["epoch"], evidence)


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

    def check(self, ground: Ground, target: Target | Groups) -> None:  # noqa: ARG002
        if ground.replicas < 2:
            raise ValueError("a partition with one replica has one leader only")

    def inject(self, strike: Strike) -> None:
        strike.notes |= {
            "replicas": strike.cluster.replicas(*strike.log),
            "epoch": strike.cluster.kafka.epoch(*strike.log),
        }
        self.beat(strike)

    def beat(self, strike: Strike) -> None:
        kafka, log = strike.cluster.kafka, strike.log
        replicas = strike.cluster.replicas(*log)
        kafka.reassign(*log, (*replicas[1:], replicas[0]))
        strike.until(lambda: strike.cluster.replicas(*log) != replicas, self.every)
        kafka.elect(*log, unclean=False)

    def verify_injected(self, strike: Strike) -> Proof:
        changed = strike.until(lambda: strike.cluster.kafka.epoch(*strike.log) > strike.notes["epoch"], LIMIT)
        return Proof(changed, {"epoch_before": strike.notes["epoch"]})

    def heal(self, strike: Strike) -> None:
        try:
            strike.notes["end"] = strike.cluster.kafka.epoch(*strike.log)
        finally:
            if strike.notes.get("replicas"):
                strike.cluster.kafka.reassign(*strike.log, strike.notes["replicas"])

    def verify_healed(self, strike: Strike) -> Proof:
        cluster, log, wanted = strike.cluster, strike.log, strike.notes.get("replicas")
        if not wanted:
            return Proof(True, {"nothing": "the injection failed before anything was done"})
        changes = strike.notes["end"] - strike.notes.get("epoch", 0)
        evidence = {"leader_epochs": changes, "replicas": list(wanted or ())}
        if not strike.until(lambda: cluster.replicas(*log) == wanted, LIMIT):
            return Proof(False, {**evidence, "replicas_now": list(cluster.replicas(*log))})
        calm = strike.until(lambda: cluster.leader(*log) is not None, LIMIT)
        return Proof(calm, evidence)
