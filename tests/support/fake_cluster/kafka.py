"""A fake of what Kafka itself can be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nemesis.cluster import Registration
from tests.support.fake_cluster.node import FakeNode


class FakeKafka:
    """One topic with one partition. Requests in `ignores` have no effect, and those in `silent` get no answer."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.ignores: set[str] = set()
        self.silent: set[str] = set()
        self.epochs = self.controller_epochs = 5
        self.number, self.identity, self.first = 1, 1, 0
        self.topic_settings: dict[str, str] = {"retention.ms": "1000"}
        self.broker_settings: dict[int, dict[str, str]] = {}
        self.groups = {"readers": ("Stable", 3), "empty": ("Empty", 3)}
        self.transactions = {"transfer": ("Ongoing", 7)}

    def _acts(self, what: str) -> bool:
        if what in self.silent:
            raise OSError(f"no broker answers {what}")
        return what not in self.ignores

    def elect(self, topic: str, partition: int, *, unclean: bool) -> None:
        assert isinstance(unclean, bool)
        preferred = self.cluster.assignment[0]
        if self._acts("elect") and self.cluster.leader(topic, partition) != preferred:
            self.cluster.leaders[topic, partition] = preferred
            self.epochs += 1

    def reassign(self, _topic: str, _partition: int, replicas: Sequence[int]) -> None:
        if self._acts("reassign"):
            self.cluster.assignment = self.cluster.in_sync = tuple(replicas)

    def epoch(self, *_log: object) -> int:
        self._acts("epoch")
        return self.epochs

    def ends(self, *_log: object) -> tuple[int, int]:
        return self.first, 100

    def partitions(self, _topic: str) -> int:
        return self.number

    def add_partitions(self, _topic: str, total: int) -> None:
        if self._acts("add_partitions"):
            self.number = total

    def recreate(self, _topic: str) -> None:
        self.identity += self._acts("recreate")

    def topic_id(self, _topic: str) -> str:
        return f"id {self.identity}"

    def delete_records(self, _topic: str, _partition: int, before: int) -> None:
        if self._acts("delete_records"):
            self.first = before

    def topic_config(self, _topic: str) -> Mapping[str, str]:
        return dict(self.topic_settings)

    def configure_topic(self, _topic: str, settings: Mapping[str, str | None]) -> None:
        if self._acts("configure_topic"):
            _configure(self.topic_settings, settings)

    def broker_config(self, node: int) -> Mapping[str, str]:
        return dict(self.broker_settings.get(node, {}))

    def configure_broker(self, node: int, settings: Mapping[str, str | None]) -> None:
        if self._acts("configure_broker"):
            _configure(self.broker_settings.setdefault(node, {}), settings)

    def group(self, group: str) -> tuple[str, int]:
        return self.groups[group]

    def rebalance(self, group: str) -> int:
        state, _ = self.groups[group]
        if state != "Stable":
            raise ValueError(f"group {group} is {state}")
        return 2 if self._acts("rebalance") else 1

    def transaction(self, name: str) -> tuple[str, int]:
        return self.transactions.get(name, ("Empty", -1))

    def fence(self, name: str) -> int:
        state, epoch = self.transaction(name)
        self.transactions[name] = state, epoch + self._acts("fence")
        return self.transactions[name][1]

    def delete_controller(self) -> None:
        self.controller_epochs += self._acts("delete_controller")

    def controller_epoch(self) -> int:
        return self.controller_epochs

    def add_broker(self) -> int:
        number = max(self.cluster.nodes) + 1
        node = FakeNode(number, self.cluster)
        if not self._acts("add_broker"):
            node.die(1)
        self.cluster.nodes_by_id[number] = node
        self.cluster.brokers = (*self.cluster.brokers, number)
        return number

    def remove_broker(self, node: int) -> None:
        if self._acts("remove_broker"):
            del self.cluster.nodes_by_id[node]
            self.cluster.brokers = tuple(each for each in self.cluster.brokers if each != node)

    def change_release(self, node: int, version: str) -> None:
        assert self.cluster.nodes[node].state() == "stopped", "given another release while it runs"
        if self._acts("change_release"):
            self.cluster.nodes[node].release = version

    def registration(self, node: int) -> Registration:
        if node not in self.cluster.nodes or "registration" in self.ignores:
            return "unregistered"
        return "active" if self.cluster.nodes[node].state() == "running" else "fenced"


def _configure(known: dict[str, str], settings: Mapping[str, str | None]) -> None:
    for name, value in settings.items():
        known.pop(name, None)
        if value is not None:
            known[name] = value
