"""A rule, what mends what it finds, and what happens to one configuration in one event by all rules.

A rule says in which events and with which configurations something is lost or refused, why, and by which source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.events import EVENTS

Effect = Literal["loses", "unknown", "unavailable", "keeps"]
EFFECTS: tuple[Effect, ...] = ("loses", "unknown", "unavailable", "keeps")
"""The worst one first."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """name     unique.
    events   in which it may apply.
    effect   "loses": acknowledged records may be lost. "unavailable": writes, or reads as well, are refused longer
             than an election takes. "unknown": it depends on a fact that is not known. "keeps": neither; the rule
             only adds a note.
    applies  whether it does with a configuration, in the event of that name.
    why      with fields of the configuration in the form ``{c.min_isr}``.
    until    when what is unavailable is available again.
    mends    all of them together prevent it.
    sources  where this is documented, or was measured.
    """

    name: str
    events: tuple[str, ...]
    effect: Effect
    applies: Callable[[Configuration, str], bool]
    why: str
    until: str = ""
    mends: tuple[Mend, ...] = ()
    sources: tuple[str, ...]

    def concerns(self, configuration: Configuration, event: str) -> bool:
        return event in self.events and self.applies(configuration, event)

    def reason(self, configuration: Configuration) -> str:
        return self.why.format(c=configuration)


def worst(effects: Iterable[Effect]) -> Effect:
    return min(effects, key=EFFECTS.index, default="keeps")


@dataclass(frozen=True, kw_only=True)
class Mend:
    """setting  what to set.
    cost     what it costs.
    apply    the configuration with it.
    """

    setting: str
    cost: str
    apply: Callable[[Configuration], Configuration]


def _at_least(configuration: Configuration, *, replication: int, min_isr: int = 1) -> Configuration:
    return configuration.with_(
        replication=max(configuration.replication, replication), min_isr=max(configuration.min_isr, min_isr)
    )


def _eligible_replicas(configuration: Configuration) -> Configuration:
    version = configuration.version if configuration.number >= (4, 1, 0) else "4.1.1"
    return _at_least(
        configuration.with_(version=version, mode="kraft", elr=True, protocol=None), replication=3, min_isr=2
    )


def _spare_replicas(configuration: Configuration, spare: int) -> Configuration:
    wider = _at_least(configuration, replication=2 + spare)
    return wider.with_(min_isr=min(configuration.min_isr, wider.replication - spare))


ACKS_ALL = Mend(
    setting="acks=all",
    cost="an acknowledgement waits until all in-sync replicas have the record: a round trip between brokers more",
    apply=lambda c: c.with_(acks="all"),
)
MIN_ISR = Mend(
    setting="min.insync.replicas=2, with 3 replicas",
    cost="writes with acks=all are refused while fewer than 2 replicas are in sync; three times the disk of one",
    apply=lambda c: _at_least(c, replication=3, min_isr=2),
)
REPLICAS = Mend(
    setting="3 replicas, min.insync.replicas=2",
    cost="three times the disk and the traffic between brokers",
    apply=lambda c: _at_least(c, replication=3, min_isr=2),
)
SPARE_REPLICA = Mend(
    setting="min.insync.replicas below the number of replicas: 2 of 3",
    cost="one more replica, or an acknowledged record is certain to be on one replica less",
    apply=lambda c: _spare_replicas(c, 1),
)
TWO_SPARE_REPLICAS = Mend(
    setting="min.insync.replicas below the number of replicas by two: 2 of 4",
    cost="one more replica, on a broker of its own",
    apply=lambda c: _spare_replicas(c, 2),
)
CLEAN_ELECTIONS = Mend(
    setting="unclean.leader.election.enable=false",
    cost="without an in-sync replica the partition has no leader until one returns",
    apply=lambda c: c.with_(unclean=False),
)
ELIGIBLE_REPLICAS = Mend(
    setting="eligible.leader.replicas.version=1 (Kafka 4.0 or later), with 3 replicas and min.insync.replicas=2",
    cost="an upgrade to KRaft and Kafka 4.0 or later, where not done; none while it runs",
    apply=_eligible_replicas,
)
SYNC = Mend(
    setting="flush.messages=1",
    cost="every append waits for the disk: throughput falls to what the disk can sync per second",
    apply=lambda c: c.with_(flush_messages=1),
)
RACKS = Mend(
    setting="broker.rack on every broker, with 3 racks or more, and replicas spread over them",
    cost="traffic between racks; replicas that exist already must be reassigned",
    apply=lambda c: _at_least(c, replication=3).with_(replicas_in_rack=1),
)
CURRENT_PROTOCOL = Mend(
    setting="inter.broker.protocol.version and log.message.format.version of the release",
    cost="two rolling restarts; clients older than 0.11 get converted records",
    apply=lambda c: c.with_(protocol=None, version=c.version if c.number >= (2, 0, 0) else "2.8.2"),
)
THREE_VOTERS = Mend(
    setting="3 controllers (or nodes of ZooKeeper), each in a rack of its own",
    cost="one or two more processes",
    apply=lambda c: c.with_(controllers=max(c.controllers, 3), zookeepers=max(c.zookeepers, 3)),
)
SEPARATE_CONTROLLERS = Mend(
    setting="3 controllers on nodes of their own: process.roles=controller there, process.roles=broker here",
    cost="three more processes, and a migration of the quorum",
    apply=lambda c: c.with_(controllers=max(c.controllers, 3), roles="separate"),
)
DISKS = Mend(
    setting="a volume for log.dirs that outlives the container or pod",
    cost="a disk for each broker, which stays where its pod is not",
    apply=lambda c: c.with_(storage="kept", metadata_storage="kept"),
)
COMMIT_AFTER = Mend(
    setting="enable.auto.commit=false, and commit what has been processed",
    cost="records after the last commit are processed twice after a crash",
    apply=lambda c: c.with_(commit="after-processing"),
)
RESET_EARLIEST = Mend(
    setting="auto.offset.reset=earliest, or none with a position that the program chooses",
    cost="a group without a committed position begins with all records that are there",
    apply=lambda c: c.with_(auto_offset_reset="earliest"),
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """event    its name.
    effect   the worst one of the rules that apply; "keeps" where none does.
    why      the reasons for this effect. The event is also the scenario of a matrix that shows it,
             unless it names a claim.
    until    when it is available again, for "unavailable".
    also     reasons of other rules, such as writes that are refused besides the loss of others.
    mends    together they prevent the effect; none where no setting does.
    rules    those that give the effect.
    """

    event: str
    effect: Effect
    why: tuple[str, ...] = ()
    until: str = ""
    also: tuple[str, ...] = ()
    mends: tuple[Mend, ...] = ()
    rules: tuple[Rule, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source for rule in self.rules for source in rule.sources))

    def to_json(self) -> dict[str, Any]:
        return {
            "event": self.event,
            "scenario": self.event if EVENTS[self.event].claim is None else None,
            "claim": EVENTS[self.event].claim,
            "effect": self.effect,
            "why": list(self.why),
            "until": self.until,
            "also": list(self.also),
            "mends": [{"setting": mend.setting, "cost": mend.cost} for mend in self.mends],
            "rules": [rule.name for rule in self.rules],
            "sources": list(self.sources),
        }
