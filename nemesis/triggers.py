"""Triggers: moments that an event can wait for, such as the hundredth acknowledgement."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nemesis.cluster import Clients, Cluster
from nemesis.topology import Topology

ALLOWED = (
    "'acks:<number>', 'isr-shrink', 'isr-full', 'leader-change' (of partition 0 of the workload's main topic; "
    "'isr-shrink:<partition>' and 'isr-shrink:<topic>-<partition>' name another), 'controller-change', "
    "'rebalance:<group>', 'transaction:<id>'"
)

_LOG = re.compile(r"(isr-shrink|isr-full|leader-change)(?::(?:([A-Za-z0-9._-]+)-)?([0-9]+))?")
_NAMED = re.compile(r"(rebalance|transaction):(\S+)")
_ACKS = re.compile(r"acks:([1-9][0-9]*)")

REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
"""States of a group that is rebalancing; the last two exist in the protocol of KIP-848."""

TRIGGER_LIMIT = 60.0
"""Seconds, from the start of the schedule, for which an event waits for its trigger."""

TRIGGER_INTERVAL = 0.05
"""Seconds between two looks at a trigger."""

HasCome = Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """Made by `parse`.

    kind       the word before the colon.
    number     of acknowledgements.
    topic      None for the workload's main topic.
    partition  None where the text has none, which means 0.
    name       of a group or a transactional id.
    """

    kind: str
    number: int = 0
    topic: str | None = None
    partition: int | None = None
    name: str | None = None

    @classmethod
    def parse(cls, text: str) -> Trigger:
        """Raises ValueError naming the text and what is allowed."""
        if isinstance(text, str):
            if text == "controller-change":
                return cls(kind=text)
            if match := _ACKS.fullmatch(text):
                return cls(kind="acks", number=int(match[1]))
            if match := _NAMED.fullmatch(text):
                return cls(kind=match[1], name=match[2])
            if match := _LOG.fullmatch(text):
                kind, topic, partition = match.groups()
                return cls(kind=kind, topic=topic, partition=None if partition is None else int(partition))
        raise ValueError(f"trigger {text!r}: allowed are {ALLOWED}")

    def __str__(self) -> str:
        if self.kind == "acks":
            return f"acks:{self.number}"
        if self.name is not None:
            return f"{self.kind}:{self.name}"
        if self.partition is None:
            return self.kind
        return f"{self.kind}:{f'{self.topic}-' if self.topic else ''}{self.partition}"

    def check(self, topology: Topology) -> None:
        """Raises ValueError, naming the trigger and what is allowed, for a moment that can never come there."""
        what = f"trigger {str(self)!r}"
        if self.kind in ("isr-shrink", "isr-full", "leader-change"):
            topic = self.topic or next(iter(topology.topics), "")
            if topic not in topology.topics:
                allowed = ", ".join(topology.topics) or "none"
                raise ValueError(f"{what}: the workload has no topic {topic or 'at all'}; allowed: {allowed}")
            if (self.partition or 0) >= topology.topics[topic]:
                raise ValueError(
                    f"{what}: {topic} has no partition {self.partition}; allowed: 0 to {topology.topics[topic] - 1}"
                )
            if topology.replicas < 2:
                raise ValueError(f"{what}: this never happens to a topic with one replica")

        if self.kind == "controller-change" and len(topology.controllers or topology.brokers) < 2:
            raise ValueError(
                f"{what}: the cluster has one node that can be the controller, which never changes"
            )

    def watch(self, cluster: Cluster, clients: Clients, *, topic: str) -> HasCome:
        """A function to call repeatedly that returns whether the moment has come since now. topic: the workload's
        main topic.
        """
        log, view = (self.topic or topic, self.partition or 0), cluster.quick()
        match self.kind:
            case "acks":
                return lambda: clients.acknowledged() >= self.number
            case "controller-change":
                return _changed(view.controller)
            case "leader-change":
                return _changed(lambda: view.leader(*log))
            case "isr-shrink":
                return lambda: 0 < len(view.isr(*log)) < len(view.replicas(*log))
            case "isr-full":
                return _again(lambda: _full(view.isr(*log), view.replicas(*log)))
            case "rebalance":
                return lambda: cluster.kafka.group(self.name or "")[0] in REBALANCING
        return lambda: cluster.kafka.transaction(self.name or "")[0] == "Ongoing"


def _changed(observe: Callable[[], Any]) -> HasCome:
    first: list[Any] = []

    def changed() -> bool:
        if (now := observe()) is None:
            return False
        if not first:
            first.append(now)
        return bool(now != first[0])

    return changed


def _again(observe: Callable[[], bool | None]) -> HasCome:
    """Whether the observed value was false, and then true again. An observation of None counts as unknown."""
    seen: set[bool] = set()

    def again() -> bool:
        if (now := observe()) is not None:
            seen.add(now)
        return now is True and False in seen

    return again


def _full(in_sync: Sequence[int], replicas: Sequence[int]) -> bool | None:
    return len(in_sync) == len(replicas) if in_sync and replicas else None
