"""Triggers: moments that an event can wait for, such as the hundredth acknowledgement."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from nemesis.cluster import Clients, Cluster
from nemesis.topology import APP, Aliases, Topology
from nemesis.validation import LONGEST, first_words, near_or_all
from nemesis.views import MOMENTS, Elected, Moment, QuickView
from nemesis.watch import Aim, Observed, Watch

ALLOWED = (
    "'acks:<number>', 'isr-shrink', 'isr-full', 'leader-change' (of partition 0 of the workload's main topic; "
    "'isr-shrink:<partition>' and 'isr-shrink:<topic>-<partition>' name another), 'controller-change', "
    "'rebalance:<group>', 'transaction:<id>'; of an instance of an application: "
    "'uncommitted-output:app:<instance>', 'committed-ahead:app:<instance>', 'open-transaction:app:<instance>', "
    "'in-flight:app:<instance>', 'revocation:app:<instance>'; each may end with ' from <seconds>', "
    "' within <seconds>' or both; with ' or after <seconds>' in place of within, the event then comes without it"
)

_WORDS = first_words(ALLOWED)
"""With which triggers begin, for suggestions."""

_LOG = re.compile(r"(isr-shrink|isr-full|leader-change)(?::(?:([A-Za-z0-9._-]+)-)?([0-9]+))?")
_NAMED = re.compile(r"(rebalance|transaction):(\S+)")
_MOMENT = re.compile(rf"({'|'.join(MOMENTS)}):app:([0-9]+)", re.ASCII)
_ACKS = re.compile(r"acks:([1-9][0-9]*)")

REBALANCING = ("PreparingRebalance", "CompletingRebalance")
"""States of a group of the classic protocol that is rebalancing."""

TRIGGER_LIMIT = 60.0
"""Seconds for which an event waits for a trigger that names no other limit."""

BACK_AGAIN = 2
"""By how much a partition's epoch is higher, at least, after its leader has lost the lead and got it back.

One more may be a change of the ISR: the controllers of ZooKeeper mode raise the epoch with it, and those of KRaft did
so up to Kafka 3.5.
"""

Look = tuple[Callable[[], Any], Callable[[Any], bool], Callable[[Any], str]]
"""What is observed, whether the moment has come, and the words for what was seen: as `Observed` takes them."""

_SECONDS = r"([0-9]+(?:\.[0-9]+)?)"
_TIMED = re.compile(rf"(\S+)(?: from {_SECONDS})?(?: (within|or after) {_SECONDS})?")


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """Made by `parse`.

    kind       the word before the colon.
    number     of acknowledgements.
    topic      None for the workload's main topic.
    partition  None where the text has none, which means 0.
    name       of a group or a transactional id.
    instance   number of an instance of an application.
    begin      seconds, from the start of the schedule, from which on it is waited for.
    limit      seconds after that for which it is waited for.
    or_without  whether the event comes without it then: with the next moment at which the instance is in the middle
               of its work, if it is that of an instance, and otherwise at once.
    """

    kind: str
    number: int = 0
    topic: str | None = None
    partition: int | None = None
    name: str | None = None
    instance: int | None = None
    begin: float = 0.0
    limit: float = TRIGGER_LIMIT
    or_without: bool = False

    @classmethod
    def parse(cls, text: str) -> Trigger:
        """Raises ValueError naming the text and what is allowed."""
        if isinstance(text, str):
            if (match := _TIMED.fullmatch(text)) and (match[2] or match[3]):
                begin, limit = float(match[2] or 0), float(match[4] or TRIGGER_LIMIT)
                if begin <= LONGEST and 0 < limit <= LONGEST:
                    without = match[3] == "or after"
                    return replace(cls.parse(match[1]), begin=begin, limit=limit, or_without=without)
            if text == "controller-change":
                return cls(kind=text)
            if match := _ACKS.fullmatch(text):
                return cls(kind="acks", number=int(match[1]))
            if match := _MOMENT.fullmatch(text):
                return cls(kind=match[1], instance=int(match[2]))
            if match := _NAMED.fullmatch(text):
                return cls(kind=match[1], name=match[2])
            if match := _LOG.fullmatch(text):
                kind, topic, partition = match.groups()
                return cls(kind=kind, topic=topic, partition=None if partition is None else int(partition))
        raise ValueError(f"no trigger {text!r}{near_or_all(text, _WORDS, allowed=ALLOWED)}")

    def __str__(self) -> str:
        begin = f" from {self.begin:g}" if self.begin else ""
        if self.or_without:
            return f"{self.moment}{begin} or after {self.limit:g}"
        return self.moment + begin + (f" within {self.limit:g}" if self.limit != TRIGGER_LIMIT else "")

    @property
    def moment(self) -> str:
        """Its text without times."""
        if self.kind == "acks":
            return f"acks:{self.number}"
        if self.name is not None:
            return f"{self.kind}:{self.name}"
        if self.instance is not None:
            return f"{self.kind}:app:{self.instance}"
        if self.partition is None:
            return self.kind
        return f"{self.kind}:{f'{self.topic}-' if self.topic else ''}{self.partition}"

    @property
    def comes_then(self) -> bool:
        """Whether the event comes at once where the moment did not come."""
        return self.or_without and self.instance is None

    def in_turn(self) -> tuple[Trigger, ...]:
        """This one, and the one that is waited for where this one does not come."""
        if not self.or_without or self.instance is None:
            return (self,)
        following = replace(
            self, kind="in-flight", begin=self.begin + self.limit, limit=TRIGGER_LIMIT, or_without=False
        )
        return self, following

    def named(self, aliases: Aliases) -> Trigger:
        """With the names by which brokers know its topic, group or transactional id."""
        return replace(self, name=aliases.name(self.name), topic=aliases.topic(self.topic))

    def check(self, topology: Topology) -> None:
        """Raises ValueError, naming the trigger and what is allowed, for a moment that can never come there."""
        what = f"trigger {str(self)!r}"
        if self.kind in ("isr-shrink", "isr-full", "leader-change"):
            topic = self.topic or next(iter(topology.topics), "")
            if topology.any_topic and not topic:
                raise ValueError(f"{what}: name a topic, such as '{self.kind}:orders-0'")
            is_known = topic in topology.topics
            if not is_known and not topology.any_topic:
                allowed = ", ".join(topology.topics) or "none"
                raise ValueError(f"{what}: the workload has no topic {topic or 'at all'}; allowed: {allowed}")
            if is_known and (self.partition or 0) >= topology.topics[topic]:
                raise ValueError(
                    f"{what}: {topic} has no partition {self.partition}; allowed: 0 to {topology.topics[topic] - 1}"
                )
            if topology.replicas < 2:
                raise ValueError(f"{what}: this never happens to a topic with one replica")

        if self.kind == "controller-change" and len(topology.controllers or topology.brokers) < 2:
            raise ValueError(
                f"{what}: the cluster has one node that can be the controller, which never changes"
            )

        if self.instance is not None:
            self._check_instance(topology, what)

    def _check_instance(self, topology: Topology, what: str) -> None:
        number = topology.clients.get(APP, 0)
        if not number:
            others = "acks, isr-shrink, isr-full, leader-change, controller-change, rebalance and transaction"
            raise ValueError(
                f"{what}: only an application of yours (Pipeline) has instances; allowed: {others}"
            )
        if (self.instance or 0) >= number:
            allowed = "app:0" if number == 1 else f"app:0 to app:{number - 1}"
            raise ValueError(f"{what}: the application has no instance {self.instance}; allowed: {allowed}")
        if topology.unseen_instances is not None:
            raise ValueError(f"{what}: {topology.unseen_instances}")

    def watch(
        self,
        cluster: Cluster,
        clients: Clients,
        *,
        topic: str,
        pause: Callable[[float], object] = time.sleep,
    ) -> Watch:
        """topic: the workload's main topic. pause: waits that many seconds, or less."""
        if self.instance is not None:
            return Aim(cast(Moment, self.kind), self.instance, clients, pause=pause)
        if self.kind == "acks":
            return Observed(clients.acknowledged, self.number.__le__, "{:,} acknowledgements".format)
        view = cluster.quick()
        return Observed(*self._look(view, (self.topic or topic, self.partition or 0)), close=view.close)

    def _look(self, view: QuickView, log: tuple[str, int]) -> Look:
        match self.kind:
            case "controller-change":
                return view.elected_controller, elected_anew(1), lambda now: _role("controller", now)
            case "leader-change":
                return (
                    lambda: view.elected_leader(*log),
                    elected_anew(BACK_AGAIN),
                    lambda now: _role("leader", now),
                )
            case "isr-shrink":
                return lambda: (view.isr(*log), view.replicas(*log)), _shrunk, _in_sync
            case "isr-full":
                return lambda: (view.isr(*log), view.replicas(*log)), _full_again(), _in_sync
            case "rebalance":
                return lambda: view.state("group", self.name or ""), REBALANCING.__contains__, _state
        return lambda: view.state("transaction", self.name or ""), "Ongoing".__eq__, _state


def elected_anew(step: int) -> Callable[[Elected], bool]:
    """Whether another node is elected than at first, or elections since the last look brought the same one back.

    step  by how much the epoch is higher then, at least. It shows an election that began and ended between two looks.
    """
    first: list[Elected] = []
    last: list[Elected] = []

    def is_new(now: Elected) -> bool:
        if now.node is None:
            return False
        before = last[-1] if last else now
        if now.of == before.of and now.epoch < before.epoch:
            return False  # an outdated view: the brokers that know better did not answer
        first[:], last[:] = first or [now], [now]
        is_back = now.of == before.of and before.epoch >= 0 and now.epoch - before.epoch >= step
        return now.node != first[0].node or is_back

    return is_new


Isr = tuple[Sequence[int], Sequence[int]]
"""The in-sync replicas, and all replicas. Empty: unknown."""


def _shrunk(isr: Isr) -> bool:
    return 0 < len(isr[0]) < len(isr[1])


def _full_again() -> Callable[[Isr], bool]:
    """Whether the ISR was not full, and then full."""
    seen: set[bool] = set()

    def full_again(isr: Isr) -> bool:
        if not all(isr):
            return False
        is_full = len(isr[0]) == len(isr[1])
        seen.add(is_full)
        return is_full and False in seen

    return full_again


def _role(role: str, now: Elected) -> str:
    if now.node is None:
        return f"no {role}"
    return f"the {role} is {now.node}" + (f", epoch {now.epoch}" if now.epoch >= 0 else "")


def _in_sync(isr: Isr) -> str:
    in_sync, replicas = (", ".join(map(str, sorted(nodes))) or "unknown" for nodes in isr)
    return f"the ISR is {in_sync}; the replicas are {replicas}"


def _state(state: str | None) -> str:
    return f"the state is {state or 'unknown'}"
