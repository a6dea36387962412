"""Whether nodes serve, what faults have left at them, and what is saved of a cluster while an error is handled.

A session that lives knows what it changed. The next experiment must not meet what a killed session, or a heal that
failed, has left, so this looks at the nodes and at Kafka themselves. On a real cluster whose session was killed, only
cuts end by themselves, with their agents; a clock stayed an hour wrong, limits of processor and memory stayed, and so
did settings of running brokers. What is saved while an error is handled raises nothing, which would hide that error.

The lines of a node's log that tell why it ended.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from nemesis.tasks import in_thread, run_with_deadline, side_by_side
from pytest_kafkacheck.cluster.kafka import metadata_views, zookeeper
from pytest_kafkacheck.cluster.kafka.dynamic import pending_changes, undo
from pytest_kafkacheck.cluster.kafka.former_values import FormerValues, differences, restore
from pytest_kafkacheck.cluster.nodes.agent import END_OTHERS, HEAL
from pytest_kafkacheck.cluster.nodes.node import CLOCK_MARK, DISK_MARK, WRITE_LIMIT_MARK, ClusterNode
from pytest_kafkacheck.cluster.spec.member import ZOOKEEPER
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.connection import Address, Ensemble

log = logging.getLogger(__name__)

SESSION_LIMIT = 30.0
"""Seconds for the session of a killed broker to expire in ZooKeeper; it is 3 s with the settings of properties.py."""


def answers(address: Address) -> bool:
    """Whether a broker answers clients."""
    try:
        metadata_views.unfenced(address)
    except OSError:
        return False
    return True


def serves(cluster: ExaminedCluster, node: int) -> bool:
    """Whether a node serves clients or its peers."""
    served = cluster.nodes[node]
    try:
        if served.member.role == "zookeeper":
            return bool(zookeeper.mode(served.address(ZOOKEEPER)))
        if served.member.role == "controller":
            return _follows(cluster.brokers, node)
    except OSError:
        return False
    # The node itself must answer, but it learns last that it was fenced. So ask all others as well.
    views: list[set[int]] = []
    for asked, address in cluster.brokers.items():
        try:
            views.append(metadata_views.unfenced(address))
        except OSError:
            if asked == node:
                return False
    return all(node in unfenced for unfenced in views)


def is_healthy(cluster: ExaminedCluster) -> bool:
    """Whether every node runs and serves, every broker reports all brokers as unfenced, and no fault has left
    anything."""
    try:
        serving = _all_serve(cluster, set(cluster.brokers))
        found = leftovers(cluster) if serving else []
    except (OSError, InfrastructureError) as error:
        log.warning("cluster %s is not healthy: %r", cluster.run, error)
        return False
    if found:
        log.warning("cluster %s is not as it was started: %s", cluster.run, "; ".join(found))
    return serving and not found


def wait_session_expired(broker: int, ensemble: Ensemble) -> None:
    """Wait until a broker's old session in ZooKeeper has expired: one that finds itself registered ends at its
    start."""
    try:
        Retrying(stop=stop_after_delay(SESSION_LIMIT), wait=wait_fixed(0.1), retry=retry_if_result(bool))(
            lambda: broker in zookeeper.registered(ensemble)
        )
    except (RetryError, OSError):
        # Without ZooKeeper there is nothing to check, and the broker itself waits for ZooKeeper.
        text = "broker %d is started although its old session in ZooKeeper may not have expired"
        log.warning(text, broker)


def _all_serve(cluster: ExaminedCluster, brokers: Collection[int]) -> bool:
    return (
        all(node.state() == "running" for node in cluster.nodes.values())
        and all(metadata_views.unfenced(address) == brokers for address in cluster.brokers.values())
        and all(serves(cluster, node) for node in cluster.nodes if node not in brokers)
    )


def _follows(brokers: Mapping[int, Address], controller: int) -> bool:
    """Whether a separate controller has all committed records of the quorum's log."""
    quorum = metadata_views.quorum(brokers)
    return quorum is not None and quorum.ends.get(controller, -1) >= quorum.high_watermark


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


class ExaminedCluster(Protocol):
    """What the functions here ask of a cluster; `cluster.DockerCluster` is one."""

    @property
    def run(self) -> str: ...

    @property
    def nodes(self) -> Mapping[int, ClusterNode]: ...

    @property
    def brokers(self) -> Mapping[int, Address]: ...

    @property
    def spec(self) -> ClusterSpec: ...

    @property
    def former_values(self) -> FormerValues | None: ...


def leftovers(cluster: ExaminedCluster) -> list[str]:
    """A line for each, without those that only a look at processes shows. Its brokers must answer.

    On an attached cluster only packet filters and queues are ours: limits and settings may be its owner's.
    Raises OSError and InfrastructureError where a look fails.
    """
    with ThreadPoolExecutor(max_workers=len(cluster.nodes) + 2) as pool:
        kafka = None if cluster.spec.attached else pool.submit(pending_changes, cluster.brokers)
        topics = pool.submit(_of_topics, cluster)
        per_node = list(pool.map(lambda node: of_node(cluster, node), cluster.nodes.values()))
    found = [line for lines in per_node for line in lines] + (kafka.result().describe() if kafka else [])
    return found + topics.result() + ([] if cluster.spec.attached else _of_members(cluster))


def end_network_faults(node: ClusterNode) -> None:
    """End all agents of a node, of this session and of others, and remove their rules. Raises InfrastructureError.

    An agent that is busy heals only afterwards, which would undo faults of this session. So this waits for its end.
    """
    node.agent.end()  # otherwise its next command would find out that it has ended
    node.look(f"{END_OTHERS}\n{HEAL}\ntrue", timeout=LIMIT)


def lift_limits(node: ClusterNode) -> None:
    """Of processor, memory and writes to the disk. Raises InfrastructureError."""
    if node.limits():
        node.limit_cpu(None)
        node.limit_memory(None)
    if WRITE_LIMIT_MARK in node.look(LOOK)[1]:
        node.disk.throttle(None)


def restore_clock(node: ClusterNode) -> bool:
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


def restore_settings(cluster: ExaminedCluster) -> None:
    """Undo what was changed in Kafka while it ran. Raises OSError, and errors of `undo` and `restore`."""
    undo(cluster.brokers, pending_changes(cluster.brokers))
    if cluster.former_values is not None:
        restore(cluster.brokers, cluster.former_values)


def of_node(cluster: ExaminedCluster, node: ClusterNode) -> list[str]:
    """What faults have left at one node. Whether Kafka answers does not matter."""
    lines = node.look(LOOK)[1].splitlines()
    if not cluster.spec.attached:
        lines += node.limits()
        if node.release != cluster.spec.version:
            lines.append(f"it runs Kafka {node.release}")
    for mark, remains in MARKED.items():
        if mark not in lines:
            continue
        lines.remove(mark)
        if found := remains(node):
            lines += found
        else:
            node.look(f"rm -f {mark}")
    return [f"{node.host}: {line}" for line in lines]


def wrong_clock(node: ClusterNode) -> str | None:
    """How far its clock is off; None for a right one, and for a node that does not run.

    Takes a container. Raises InfrastructureError where the host does not allow it.
    """
    with contextlib.suppress(OSError):  # it does not run; a process that starts has the right time
        offset, ppm = node.clock.get()
        if offset or ppm:
            return f"its clock is {offset:g} s off, {ppm:g} ppm"
    return None


def _limited_writes(node: ClusterNode) -> list[str]:
    rate = node.disk.throttled()
    return [] if rate is None else [f"what it writes to its disk is limited to {rate} bytes per second"]


MARKED: Mapping[str, Callable[[ClusterNode], list[str]]] = {
    CLOCK_MARK: lambda node: [] if (text := wrong_clock(node)) is None else [text],
    DISK_MARK: lambda node: node.disk.remains(),
    WRITE_LIMIT_MARK: _limited_writes,
}
"""What is looked at where a mark in the node's pod shows that a fault was there."""


def _of_topics(cluster: ExaminedCluster) -> list[str]:
    if cluster.former_values is None:
        return []
    found = differences(cluster.brokers, cluster.former_values)
    return [value.describe(now) for value, now in found.items()]


def _of_members(cluster: ExaminedCluster) -> list[str]:
    have, wanted = set(cluster.nodes), {member.id for member in cluster.spec.members}
    return [f"node {node} was added" for node in sorted(have - wanted)] + [
        f"node {node} was removed" for node in sorted(wanted - have)
    ]


LOGS_LIMIT = 30.0
"""Seconds for saving the logs of all nodes."""


def save_logs(cluster: ExaminedCluster, directory: Path) -> None:
    """Write each node's log to ``<directory>/<host>.log``."""

    def save() -> None:
        directory.mkdir(parents=True, exist_ok=True)
        side_by_side(in_thread, [partial(save_one, node) for node in cluster.nodes.values()], "node-logs")

    def save_one(node: ClusterNode) -> None:
        try:
            (directory / f"{node.member.host}.log").write_bytes(node.logs())
        except OSError as error:
            log.warning("log of %s not saved: %s", node.member.host, error)

    try:
        run_with_deadline(LOGS_LIMIT, save, name=f"logs of {cluster.run}")
    except OSError as error:
        log.warning("not all logs of %s saved in %s: %s", cluster.run, directory, error)


def save_topics(cluster: ExaminedCluster, file: Path) -> None:
    """Write each broker's view of all partitions, as JSON."""
    views: dict[str, Any] = {}
    for broker, address in cluster.brokers.items():
        try:
            view = metadata_views.metadata(address, None)
        except OSError as error:
            views[str(broker)] = f"no answer: {error}"
        else:
            views[str(broker)] = {
                f"{topic}-{number}": seen._asdict() for (topic, number), seen in view.items()
            }
    with contextlib.suppress(OSError):
        file.write_text(json.dumps(views, indent=1))


LAST = 15
"""Lines at the end of a log that are shown."""

ERRORS = 5
"""Errors before the last lines that are shown: the last ones, because the end of the process follows from them."""

_ERROR = re.compile(r"^\S+ (ERROR|FATAL) ")
_CAUSE = re.compile(r"^(Caused by: |[\w.$]+(Exception|Error)(: |$))")


def excerpt(log: bytes) -> str:
    """The last errors with their exceptions, and the last lines. A node that shuts down in order writes many lines
    after the error for which it does so."""
    lines = log.decode(errors="replace").splitlines()
    errors = _errors(lines[:-LAST])
    last = "\n".join(lines[-LAST:])
    if not errors:
        return f"its last lines:\n{last}"
    return "\n".join(["its last errors:", *errors, "its last lines:", last])


def _errors(lines: Sequence[str]) -> list[str]:
    found: list[list[str]] = []
    is_open = False
    for line in lines:
        if _ERROR.match(line):
            found.append([line])
            is_open = True
        elif is_open and _CAUSE.match(line):
            found[-1].append(line)
        elif not line.startswith(("\t", " ")):
            is_open = False
    return [line for each in found[-ERRORS:] for line in each]
