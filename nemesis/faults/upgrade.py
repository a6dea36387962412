"""Upgrade: nodes move to another release of Kafka, one after another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from nemesis.event import Event
from nemesis.fault import Draw, FaultContext
from nemesis.steps.rolling import OneByOne
from nemesis.steps.serving import LIMIT
from nemesis.targets import Groups, Target
from nemesis.topology import Topology

JARS = "ls /opt/kafka/libs"

SERVER_JAR = re.compile(r"^kafka_2\.\d+-(\d+\.\d+\.\d+)\.jar$", re.MULTILINE)
"""The jar of the broker and the controller, with its release."""


@dataclass(frozen=True, kw_only=True)
class Upgrade(OneByOne):
    """to: a release, newer or older, such as "4.2.2"; None for the next line after the cluster's own.

    Each node is stopped in a controlled way and started with the files of that release and its own data. The next one
    follows when it serves clients and all replicas of the workload's topic are in sync, as operators do it. The nodes
    stay with that release. Feature levels are kept, so nodes can be moved back.
    """

    to: str | None = None

    name = "upgrade"
    proved_by = "as for `rolling-restart`, and each node has the files of that release"
    requires = "a release that knows the cluster's feature levels"
    draw = Draw(targets=("all", "one"))
    needs_all_nodes = True
    changes_cluster = True

    def __post_init__(self) -> None:
        if self.to is not None and not (isinstance(self.to, str) and re.fullmatch(r"\d+\.\d+\.\d+", self.to)):
            raise ValueError(f"upgrade to={self.to!r}: expected a release such as '4.2.2'")

    @property
    def moves_to(self) -> str | None:
        return self.to

    def on(self, topology: Topology) -> Upgrade:
        return replace(self, to=self.to or topology.next_release)

    def check(self, topology: Topology, target: Target | Groups) -> None:
        if self.to is None and topology.next_release is None:
            raise ValueError(
                "upgrade: no later line of releases is known that can run this cluster; name a release, such as "
                "upgrade(to='4.2.2')"
            )
        if set(target.nodes) & set(topology.zookeepers):
            raise ValueError("upgrade: it moves brokers and controllers, and no ZooKeeper node")

    def change(self, context: FaultContext, number: int) -> None:
        assert self.to is not None, "an experiment names the release"
        context.cluster.kafka.change_release(number, self.to)

    def seen(self, context: FaultContext, number: int) -> Mapping[str, object]:
        node = context.cluster.nodes[number]
        found = SERVER_JAR.search(node.execute(JARS)[1]) if node.state() == "running" else None
        release = found[1] if found else None
        return {"release": release, "is_moved": release == self.to}

    def may_go_on(self, context: FaultContext) -> bool:
        return context.wait_until(lambda: _is_in_sync(context), LIMIT)


def _is_in_sync(context: FaultContext) -> bool:
    cluster, topic = context.cluster, context.topic
    return all(
        set(cluster.isr(topic, partition)) == set(cluster.replicas(topic, partition))
        for partition in range(cluster.kafka.partitions(topic))
    )


def upgrade(
    target: str | int = "all", *, to: str | None = None, at: float = 0, after: str | None = None
) -> Event:
    """Nodes move to another release, one after another, and stay there. ``to``: newer or older; default: the next
    line."""
    return Event.of(Upgrade(to=to), target, at=at, after=after)
