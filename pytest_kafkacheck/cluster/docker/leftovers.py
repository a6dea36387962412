"""What faults have left at a cluster whose session died, or whose heal failed. The next experiment must not meet it.

A session that lives knows what it changed. One that was killed does not tell, so this looks at the nodes and at Kafka
themselves. On a real cluster whose session was killed, only cuts end by themselves, with their agents; a clock stayed
an hour wrong, limits of processor and memory stayed, and so did settings of running brokers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from pytest_kafkacheck.cluster.docker.agent import END_OTHERS, HEAL
from pytest_kafkacheck.cluster.docker.node import CLOCK_MARK, DISK_MARK, WRITE_LIMIT_MARK, DockerNode
from pytest_kafkacheck.cluster.kafka.former_values import FormerValues, differences, restore
from pytest_kafkacheck.cluster.kafka.pending_changes import pending_changes, undo
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from workloads.clients.connection import Address

LOOK = f"""
nft list tables inet 2>/dev/null | while read -r _ _ table; do
  case $table in kafkacheck*) echo "its packet filter has the table $table" ;; esac
done
for kind in $(tc qdisc show dev eth0 2>/dev/null | grep -oE 'tbf|netem'); do echo "its interface has $kind"; done
for mark in {CLOCK_MARK} {DISK_MARK} {WRITE_LIMIT_MARK}; do [ ! -e $mark ] || echo $mark; done
"""
"""Shell command for a node's pod: a line for each trace of a fault. Where a host has no nft or tc, there is none."""

LIMIT = 30.0
"""Seconds for one node. Agents of a session that died end after the command that they are carrying out."""


class NodesAndBrokers(Protocol):
    """What is asked of a cluster here; `cluster.DockerCluster` is one."""

    @property
    def nodes(self) -> Mapping[int, DockerNode]: ...

    @property
    def brokers(self) -> Mapping[int, Address]: ...

    @property
    def spec(self) -> ClusterSpec: ...

    @property
    def former_values(self) -> FormerValues | None: ...


def leftovers(cluster: NodesAndBrokers) -> list[str]:
    """A line for each, without those that only a look at processes shows. Its brokers must answer.

    On an attached cluster only packet filters and queues are ours: limits and settings may be its owner's.
    Raises OSError, APIError and InfrastructureError where a look fails.
    """
    with ThreadPoolExecutor(max_workers=len(cluster.nodes) + 2) as pool:
        kafka = None if cluster.spec.attached else pool.submit(pending_changes, cluster.brokers)
        topics = pool.submit(_of_topics, cluster)
        per_node = list(pool.map(lambda node: of_node(cluster, node), cluster.nodes.values()))
    found = [line for lines in per_node for line in lines] + (kafka.result().describe() if kafka else [])
    return found + topics.result() + ([] if cluster.spec.attached else _of_members(cluster))


def end_network_faults(node: DockerNode) -> None:
    """End agents of other sessions and remove their rules. Raises InfrastructureError.

    An agent that is busy heals only afterwards, which would undo faults of this session. So this waits for its end.
    """
    node.look(f"{END_OTHERS}\n{HEAL}\ntrue", timeout=LIMIT)


def lift_limits(node: DockerNode) -> None:
    """Of processor, memory and writes to the disk. Raises InfrastructureError."""
    if node.limits():
        node.limit_cpu(None)
        node.limit_memory(None)
    if WRITE_LIMIT_MARK in node.look(LOOK)[1]:
        node.disk.throttle(None)


def restore_clock(node: DockerNode) -> bool:
    """Make the clock of a node right that runs. Returns whether it was wrong: then the node must be restarted.

    Kafka computes from the wall clock when it may connect to a peer again, and a clock that was ahead leaves it
    waiting.
    """
    if CLOCK_MARK not in node.look(LOOK)[1]:
        return False
    was_wrong = wrong_clock(node) is not None
    if was_wrong:
        node.clock.clear()
    node.look(f"rm -f {CLOCK_MARK}")
    return was_wrong


def restore_settings(cluster: NodesAndBrokers) -> None:
    """Undo what was changed in Kafka while it ran. Raises OSError, and errors of `undo` and `restore`."""
    undo(cluster.brokers, pending_changes(cluster.brokers))
    if cluster.former_values is not None:
        restore(cluster.brokers, cluster.former_values)


def of_node(cluster: NodesAndBrokers, node: DockerNode) -> list[str]:
    """What faults have left at one node. Whether Kafka answers does not matter."""
    lines = node.look(LOOK)[1].splitlines()
    if not cluster.spec.attached:
        lines += node.limits()
    for mark, remains in MARKED.items():
        if mark not in lines:
            continue
        lines.remove(mark)
        if found := remains(node):
            lines += found
        else:
            node.look(f"rm -f {mark}")
    return [f"{node.host}: {line}" for line in lines]


def wrong_clock(node: DockerNode) -> str | None:
    """How far its clock is off; None for a right one, and for a node that does not run.

    Takes a container. Raises InfrastructureError where the host does not allow it.
    """
    with contextlib.suppress(OSError):  # it does not run; a process that starts has the right time
        offset, ppm = node.clock.get()
        if offset or ppm:
            return f"its clock is {offset:g} s off, {ppm:g} ppm"
    return None


def _limited_writes(node: DockerNode) -> list[str]:
    rate = node.disk.throttled()
    return [] if rate is None else [f"what it writes to its disk is limited to {rate} bytes per second"]


MARKED: Mapping[str, Callable[[DockerNode], list[str]]] = {
    CLOCK_MARK: lambda node: [] if (text := wrong_clock(node)) is None else [text],
    DISK_MARK: lambda node: node.disk.remains(),
    WRITE_LIMIT_MARK: _limited_writes,
}
"""What is looked at where a mark in the node's pod shows that a fault was there."""


def _of_topics(cluster: NodesAndBrokers) -> list[str]:
    if cluster.former_values is None:
        return []
    found = differences(cluster.brokers, cluster.former_values)
    return [value.describe(now) for value, now in found.items()]


def _of_members(cluster: NodesAndBrokers) -> list[str]:
    have, wanted = set(cluster.nodes), {member.id for member in cluster.spec.members}
    return [f"node {node} was added" for node in sorted(have - wanted)] + [
        f"node {node} was removed" for node in sorted(wanted - have)
    ]
