"""What is known about a cluster and its workload before they start: enough to refuse impossible events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

APP = "app"
"""The role of the instances of a user's application, and the kind of the targets that mean them."""


@dataclass(frozen=True, kw_only=True)
class Topology:
    """brokers      ids of the nodes that serve clients.
    controllers  ids of the KRaft voters, combined ones included; none in ZooKeeper mode.
    zookeepers   ids of the ZooKeeper nodes.
    topics       name to number of partitions; the first is the workload's main topic.
    internal     the same of the internal topics that the clients use, such as {"__consumer_offsets": 1}.
    any_topic    whether there may be other topics, of which nothing is known.
    replicas     replication factor of these topics; with any_topic, the highest that one can have.
    clients      role to number of client processes, such as {"producer": 2}; they have the numbers from 0 on.
    commands     those of these roles whose processes run a command of the user.
    unseen_instances  why nobody can see from outside what an instance of the application does; None where one can.
    members      consumer group, by its short name, to number of client processes that are its members; 0 for that of
                 a user's application.
    has_classic_groups  whether their members may speak the classic protocol of groups: with others, the coordinator
                 admits no member that does.
    transactions  transactional ids, by their short names.
    release      (major, minor) of Kafka.
    next_release  the release to which its nodes can move that is of the next line; None where there is none.
    disks        whether each node has a file system of its own for its data.
    """

    brokers: tuple[int, ...]
    controllers: tuple[int, ...] = ()
    zookeepers: tuple[int, ...] = ()
    topics: Mapping[str, int] = field(default_factory=dict)
    internal: Mapping[str, int] = field(default_factory=dict)
    any_topic: bool = False
    replicas: int = 1
    clients: Mapping[str, int] = field(default_factory=dict)
    commands: frozenset[str] = frozenset()
    unseen_instances: str | None = None
    members: Mapping[str, int] = field(default_factory=dict)
    has_classic_groups: bool = True
    transactions: tuple[str, ...] = ()
    release: tuple[int, int] = (4, 1)
    next_release: str | None = None
    disks: bool = False

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({*self.brokers, *self.controllers, *self.zookeepers}))

    @property
    def coordination(self) -> Literal["KRaft", "ZooKeeper"]:
        return "ZooKeeper" if self.zookeepers else "KRaft"


@dataclass(frozen=True, kw_only=True)
class Aliases:
    """Short names, to which schedules refer because the real ones contain the run, with those that brokers know.

    names   of groups and transactional ids.
    topics  of topics.
    A name that is not in here stands for itself.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)

    def name(self, short: str | None) -> str | None:
        """Of a group or a transactional id, as the brokers know it."""
        return short if short is None else self.names.get(short, short)

    def topic(self, short: str | None) -> str | None:
        """As the brokers know it."""
        return short if short is None else self.topics.get(short, short)

    def short_topic(self, topic: str) -> str:
        """As schedules have it."""
        return next((short for short, name in self.topics.items() if name == topic), topic)
