"""Clusters, nodes, topics and clients as files declare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_kafkacheck.audit.configuration import Storage
from pytest_kafkacheck.audit.files.text import Place
from pytest_kafkacheck.audit.report import Problem

Form = Literal["properties", "config", "apache", "bitnami"]
"""How a node's settings are written: as lines, as a mapping of Kafka's names, or as environment variables."""


@dataclass(frozen=True)
class Value:
    """text: as it is written. is_open: it is known only to the environment in which the file is used."""

    text: str
    place: Place
    is_open: bool = False


@dataclass
class Node:
    """Nodes with the same settings.

    name      such as "broker 1", or the name of a service or pool.
    roles     of "broker", "controller".
    settings  by Kafka's name.
    brought   what the file of the image sets where the user does not.
    count     how many there are.
    release   such as "4.1.1"; None: not known.
    storage   whether the disks go with the container or pod, and why.
    form, new_at  how settings are written, and where another one can be put.
    """

    name: str
    roles: frozenset[str]
    settings: dict[str, Value]
    brought: Mapping[str, str] = field(default_factory=dict)
    count: int = 1
    release: str | None = None
    storage: Storage = "kept"
    why: str = ""
    form: Form = "properties"
    new_at: Place | None = None

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles


@dataclass
class DeclaredTopic:
    """replicas: None where the broker's default counts."""

    name: str
    replicas: Value | None
    settings: dict[str, Value]
    new_at: Place | None = None


@dataclass
class DeclaredClient:
    """kind: "producer" or "consumer"."""

    kind: Literal["producer", "consumer"]
    settings: dict[str, Value]
    new_at: Place

    def where(self, name: str) -> str:
        """The place of a setting."""
        return str(self.settings[name].place)


@dataclass
class DeclaredCluster:
    """name       to tell it from others; "" where there is one only.
    complete   whether the file has all nodes.
    zookeepers, zookeeper_storage  nodes of ZooKeeper that files declare, 0 for none, and their disks.
    remarks    sentences about it, and problems: what could not be resolved.
    """

    name: str = ""
    nodes: list[Node] = field(default_factory=list)
    topics: list[DeclaredTopic] = field(default_factory=list)
    zookeepers: int = 0
    zookeeper_storage: Storage = "kept"
    complete: bool = False
    remarks: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def brokers(self) -> list[Node]:
        return [node for node in self.nodes if node.is_broker]

    @property
    def controllers(self) -> list[Node]:
        return [node for node in self.nodes if node.is_controller]


QUICK_START = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
"""What config/server.properties of Kafka's distribution sets besides addresses and directories. Images that
change this file setting by setting leave these in it: those of Bitnami, and those of Apache as long as no setting is
given."""

CONFLUENT = {4: (1, 0), 5: (2, 0), 6: (2, 6), 7: (3, 0), 8: (4, 0)}
"""Kafka's line for Confluent's line X.0: 7.4 is 3.4."""


def release_of_image(image: str) -> str | None:
    """Such as "3.9.0" of "bitnami/kafka:3.9.0-debian-12-r1", or "3.4" of "confluentinc/cp-kafka:7.4.1"."""
    name, _, tag = image.partition("@")[0].rpartition(":")
    if not name or "/" in tag:
        return None
    # Images that name both their own version and Kafka's put Kafka's last: 2.13-2.8.1, 0.45.0-kafka-3.9.0.
    last = tag.rpartition("kafka-")[2].removeprefix("2.13-").removeprefix("2.12-").removeprefix("v")
    numbers = last.partition("-")[0].split(".")
    if len(numbers) < 2 or not all(each.isdigit() and len(each) < 4 for each in numbers):
        return None
    if "confluentinc/" in image:
        first, second = int(numbers[0]), int(numbers[1])
        if first not in CONFLUENT:
            return None
        major, minor = CONFLUENT[first]
        return f"{major}.{minor + second}"
    return ".".join(numbers[:3])


def listed(names: Iterable[str]) -> str:
    """Such as "b1, b2 and b3"."""
    *first, last = list(names) or [""]
    return f"{', '.join(first)} and {last}" if first else last
