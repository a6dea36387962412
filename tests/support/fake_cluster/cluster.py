"""The fake cluster."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from nemesis.cluster import Ahead
from nemesis.views import Elected
from tests.support.fake_cluster.kafka import FakeKafka
from tests.support.fake_cluster.manual_clock import ManualClock
from tests.support.fake_cluster.node import FakeNode


@dataclass
class FakeCluster:
    clock: ManualClock
    size: int = 3
    boot: float = 2.0
    leaders: dict[tuple[str, int], int | None] = field(default_factory=dict)
    in_sync: tuple[int, ...] = (1, 2, 3)
    assignment: tuple[int, ...] = (2, 3, 1)
    active_controller: int | None = 3
    opened: int = 0
    closed: int = 0

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.nodes_by_id = {n: FakeNode(n, self) for n in range(1, self.size + 1)}
        self.nodes: Mapping[int, FakeNode] = self.nodes_by_id
        self.kafka = FakeKafka(self)
        self.planes = {"replication": frozenset({9092}), "controller": frozenset({9093})}
        self.brokers = self.controllers = tuple(self.nodes)

    def leader(self, topic: str, partition: int) -> int | None:
        return self.leaders.get((topic, partition), 2)

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        return self.assignment if (topic, partition) != ("none", 0) else ()

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        return self.in_sync if (topic, partition) != ("none", 0) else ()

    def controller(self) -> int | None:
        return self.active_controller

    def quick(self) -> FakeCluster:
        self.opened += 1
        return self

    def elected_leader(self, topic: str, partition: int) -> Elected:
        return Elected(self.leader(topic, partition), self.kafka.epochs, self.kafka.topic_id(topic))

    def elected_controller(self) -> Elected:
        return Elected(self.controller(), self.kafka.controller_epochs)

    def state(self, kind: str, name: str) -> str | None:
        known = self.kafka.groups if kind == "group" else self.kafka.transactions
        return known[name][0] if name in known else None

    def serving_nodes(self) -> dict[int, bool]:
        return {node: self.serving(node) for node in self.brokers}

    def close(self) -> None:
        self.closed += 1

    def coordinator(self, _: str, name: str) -> int | None:
        return None if name == "gone" else 1

    def ahead(self, node: int) -> Ahead:
        process, now = self.nodes[node], self.clock.now
        if process.state() != "running" or "ahead" in process.ignores:
            raise OSError(f"node {node} does not state its time")
        ahead = process.clock.ahead(now)
        return Ahead(at=now, least=ahead - 0.002, most=ahead + 0.002, source="append time of a record")

    def answers(self, node: int) -> bool:
        process = self.nodes[node]
        if "clients" in process.filters:
            process.filters["clients"] += 1
            return False
        return process.state() == "running"

    def serving(self, node: int) -> bool:
        process = self.nodes[node]
        others = [n for n in self.nodes if n != node]
        return (
            process.state() == "running"
            and process.is_serving
            and self.clock.now - process.started_at >= self.boot
            and all(self.connects(node, other) for other in others)
        )

    def connects(self, source: int, destination: int, *, port: int = 9093, version: int = 4) -> bool:
        """Whether packets pass both ways, found by a connection and without touching counters."""
        node, peer = self.nodes[source], self.nodes[destination]
        with self.lock:
            tables = [(each, each.table) for each in (node, peer)]
            before = [[rule.packets for rule in table or []] for _, table in tables]
            status, reason = node._connect(peer.addresses[0 if version == 4 else 1], port)
            for (_, table), counts in zip(tables, before, strict=True):
                for rule, count in zip(table or [], counts, strict=True):
                    rule.packets = count
        return status == 0 or reason == "Connection refused"

    def clean(self) -> bool:
        """Whether nothing of any fault is left."""
        return all(
            node.table is None
            and node.state() == "running"
            and not node.filters
            and not node.qdiscs
            and node.cores is None
            and node.bytes_allowed is None
            and not (node.disk.full or node.disk.stalled or node.disk.gone or node.disk.rate)
            and node.clock.get() == (0, 0)
            for node in self.nodes.values()
        )
