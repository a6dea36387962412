"""Election: the preferred leader takes over, or any replica at all."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.targets import Groups, Target
from nemesis.topology import Topology

LIMIT = 15.0
"""Seconds for a new leader to be known."""


@dataclass(frozen=True, kw_only=True)
class Elect(Fault):
    """unclean: elect any live replica, whatever records it lacks, if there is no leader; otherwise the preferred
    one.
    """

    unclean: bool = False

    name = "elect"
    family = "Kafka"
    proved_by = "another leader, and a higher leader epoch"
    requires = "2 replicas; `unclean` with KRaft: Kafka 3.9 or later"
    target_family = "partition"
    takes_all_nodes = True
    momentary = True
    takes_nodes_down = False

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
        leader_before, epoch_before = context.notes["leader"], context.notes["epoch"]
        context.wait_until(lambda: kafka.epoch(*log) > epoch_before, LIMIT)
        leader, epoch = cluster.leader(*log), kafka.epoch(*log)
        evidence = {
            "leader_before": leader_before,
            "leader": leader,
            "epoch_before": epoch_before,
            "epoch": epoch,
        }
        return Proof(leader not in (None, leader_before) and epoch > epoch_before, evidence)


def elect(
    target: str = "partition", *, at: float = 0, after: str | None = None, unclean: bool = False
) -> Event:
    """The preferred replica becomes leader; with ``unclean`` any live one, if there is no leader."""
    return Event.of(Elect(unclean=unclean), target, at=at, after=after)
