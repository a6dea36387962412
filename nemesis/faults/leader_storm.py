"""Leader storm: leadership of a partition keeps moving from replica to replica."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.targets import Groups, Target
from nemesis.topology import Topology
from nemesis.validation import LONGEST, number

LIMIT = 15.0
"""Seconds for a new leader to be known."""


@dataclass(frozen=True, kw_only=True)
class LeaderStorm(Fault):
    """every: seconds between two changes of the leader. Each change, a beat, puts the first replica last and elects
    the new first.
    """

    every: float = 0.5

    name = "leader-storm"
    family = "Kafka"
    proved_by = "a higher leader epoch"
    end_proved_by = (
        "the replicas have their former order, and a leader; in every beat the new first replica became "
        "leader, apart from beats that another event explains"
    )
    requires = "2 replicas"
    target_family = "partition"
    takes_all_nodes = True
    needs_all_nodes = True
    takes_nodes_down = False
    restores_state = True

    def __post_init__(self) -> None:
        number("leader-storm every", self.every, above=0, most=LONGEST)

    @property
    def repeat_every(self) -> float:
        return self.every

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: ARG002
        if topology.replicas < 2:
            raise ValueError("a partition with one replica has one leader only")

    def inject(self, context: FaultContext) -> None:
        context.notes |= {
            "replicas": context.cluster.replicas(*context.log),
            "epoch": context.cluster.kafka.epoch(*context.log),
            **dict.fromkeys(("beats", "elections", "changes", "explained"), 0),
        }
        self.repeat(context)

    def repeat(self, context: FaultContext) -> None:
        notes = context.notes
        notes["beats"] += 1
        notes.pop("awaited", None)
        before = notes["changes"]
        try:
            self._move_leadership(context)
        finally:
            if notes["changes"] == before and context.explaining(None):
                notes["explained"] += 1
                notes.pop("awaited", None)

    def _move_leadership(self, context: FaultContext) -> None:
        kafka, log, notes = context.cluster.kafka, context.log, context.notes
        replicas, epoch = context.cluster.replicas(*log), kafka.epoch(*log)
        first = replicas[1]
        kafka.reassign(*log, (*replicas[1:], replicas[0]))
        context.wait_until(lambda: context.cluster.replicas(*log) != replicas, LIMIT)
        kafka.elect(*log, unclean=False)
        notes["elections"] += 1
        notes["awaited"] = first, epoch
        if context.wait_until(lambda: _leads(context, first, epoch), LIMIT):
            notes["changes"] += 1
            del notes["awaited"]

    def verify_injected(self, context: FaultContext) -> Proof:
        kafka, before = context.cluster.kafka, context.notes["epoch"]
        has_changed = context.wait_until(lambda: kafka.epoch(*context.log) > before, LIMIT)
        return Proof(has_changed, {"epoch_before": before})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["end"] = context.cluster.kafka.epoch(*context.log)
        finally:
            if context.notes.get("replicas"):
                context.cluster.kafka.reassign(*context.log, context.notes["replicas"])

    def verify_healed(self, context: FaultContext) -> Proof:
        cluster, log, wanted = context.cluster, context.log, context.notes.get("replicas")
        if not wanted:
            return Proof(True, {"nothing": "the injection failed before it changed anything"})
        notes = context.notes
        # The heal was due while the last beat waited for its leader.
        if "awaited" in notes and context.wait_until(lambda: _leads(context, *notes["awaited"]), LIMIT):
            notes["changes"] += 1
        evidence = {
            "leader_epochs": notes["end"] - notes.get("epoch", 0),
            **{name: notes[name] for name in ("beats", "elections", "changes", "explained")},
            "replicas": list(wanted),
        }
        if not context.wait_until(lambda: cluster.replicas(*log) == wanted, LIMIT):
            return Proof(False, {**evidence, "replicas_now": list(cluster.replicas(*log))})
        has_leader = context.wait_until(lambda: cluster.leader(*log) is not None, LIMIT)
        is_whole = notes["changes"] + notes["explained"] >= notes["beats"]
        return Proof(has_leader and is_whole, evidence)


def _leads(context: FaultContext, node: int, epoch: int) -> bool:
    """Whether it is the leader, elected after that epoch."""
    return context.cluster.kafka.epoch(*context.log) > epoch and context.cluster.leader(*context.log) == node


def leader_storm(
    target: str = "partition",
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
    every: float = 0.5,
) -> Event:
    """Leadership moves to the next replica every ``every`` seconds; the order of replicas is restored at the end."""
    return Event.of(LeaderStorm(every=every), target, at=at, after=after, lasting=lasting)
