"""Which of the user's containers run a Kafka node, and which node that is, as the containers themselves show.

A published port is no proof: a proxy may publish the ports of all brokers, and a fault at the proxy would be a fault
of no broker. So a container is a node only where its list of processes has Kafka's main class, and where the log
directory of that process names its node id and its cluster.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from docker.errors import APIError

from pytest_kafkacheck.cluster.docker.containers import (
    SERVICE,
    Container,
    execute,
    published_ports,
    read_file,
)
from pytest_kafkacheck.cluster.docker.podman import processes
from pytest_kafkacheck.errors import UsageError

LOG_DIR = "/tmp/kafka-logs"
"""Kafka's default of log.dirs."""

READ_LIMIT = 10.0
"""Seconds for a command in a container that prints a file."""

MAIN = re.compile(r"(?:^|[\s/.])(?:kafka\.Kafka|SupportedKafka)\s+(.*)")
"""Kafka's main class, its native program, or the main class of Confluent's server, and the arguments."""

ZOOKEEPER_MAIN = re.compile(r"org\.apache\.zookeeper\.server\.(quorum\.QuorumPeerMain|ZooKeeperServerMain)")

PROGRAMS = ("java", "kafka.Kafka")
"""Names of the programs that run Kafka. A shell that is about to start it has the same arguments."""

STATES_NODE = re.compile(r"KAFKA_(CFG_)?(NODE_ID|BROKER_ID|PROCESS_ROLES|ADVERTISED_LISTENERS)=")
"""Variables of the environment from which the images of Kafka make a node."""


@dataclass(frozen=True)
class KafkaNode:
    """A container in which a Kafka process runs.

    container  as the engine describes it.
    node       node id in its log directory; None while it has none.
    cluster    cluster id in its log directory; "" while it has none.
    settings   of its server.properties and its command line; empty where that file cannot be read.
    """

    container: Container
    node: int | None = None
    cluster: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def roles(self) -> frozenset[str]:
        """``broker``, ``controller``. In ZooKeeper mode there are brokers only."""
        found = re.findall(r"broker|controller", self.settings.get("process.roles", ""))
        return frozenset(found) or frozenset({"broker"})

    @property
    def advertised(self) -> str:
        """``NAME://host:port,...`` of its listeners, as far as its settings say so."""
        return self.settings.get("advertised.listeners") or self.settings.get("listeners") or ""


def label(container: Container) -> str:
    """What its owner calls it: its name, and its service where that differs."""
    name = str(container["Name"]).lstrip("/")
    service = (container["Config"]["Labels"] or {}).get(SERVICE)
    return name if service in (None, name) else f"{service} ({name})"


def labels(containers: Collection[Container]) -> str:
    return ", ".join(sorted(map(label, containers)))


def require_running(api: Any, what: str, containers: Sequence[Container], nodes: Sequence[KafkaNode]) -> None:
    """Raises UsageError for containers that are to run a node and have ended, or were never started.

    A container that has ended with status 0 has done its work, such as creating topics.
    """
    images = {each.container["Image"] for each in nodes}
    problems = []
    for each in containers:
        state = each["State"]
        is_up = state["Running"] and not state.get("Restarting")
        if is_up or (nodes and not _is_like_node(each, images, nodes)):
            continue
        if state["Status"] == "created":
            problems.append(f"{label(each)} was created and never started")
        elif state["ExitCode"] or state.get("Restarting"):
            again = ", and the engine starts it again and again" if state.get("Restarting") else ""
            problems.append(
                f"{label(each)} exited with status {state['ExitCode']}{again}: {_last_line(api, each)}"
            )
    if problems:
        raise UsageError(
            f"attach {what!r}: {'; '.join(sorted(problems))}. Start every node first, or attach the containers of "
            f"the cluster by name"
        )


def _is_like_node(container: Container, images: Collection[str], nodes: Sequence[KafkaNode]) -> bool:
    """Whether a container has a node's image and is started as a node is."""
    if container["Image"] not in images:
        return False
    commands = [_command(each.container) for each in nodes]
    stated = any(STATES_NODE.match(each) for each in container["Config"]["Env"] or ())
    return _command(container) in commands or (
        stated
        and container["Config"]["Entrypoint"] in [each.container["Config"]["Entrypoint"] for each in nodes]
    )


def _states_node(container: Container) -> bool:
    return any(STATES_NODE.match(each) for each in container["Config"]["Env"] or ())


def _command(container: Container) -> tuple[Any, Any]:
    return container["Config"]["Entrypoint"], container["Config"]["Cmd"]


def _last_line(api: Any, container: Container) -> str:
    try:
        text = api.logs(container["Id"], tail=20).decode(errors="replace")
    except APIError:
        return "it has no log"
    # Of an exception, the line before its stack says why.
    lines = [each.strip() for each in text.splitlines() if each.strip() and not each.startswith(("\t", " "))]
    return f"its last line is {lines[-1][:300]!r}" if lines else "it has written nothing"


def starting(containers: Sequence[Container], nodes: Sequence[KafkaNode]) -> list[str]:
    """Names of running containers that are no node yet and may become one."""
    images, ids = {each.container["Image"] for each in nodes}, {each.container["Id"] for each in nodes}
    others = [each for each in containers if each["State"]["Running"] and each["Id"] not in ids]
    if not nodes:
        return [label(each) for each in others if _states_node(each)]
    return [
        label(each)
        for each in others
        if _is_like_node(each, images, nodes) or (each["Image"] in images and published_ports(each))
    ]


def kafka_nodes(api: Any, containers: Sequence[Container], *, dirs: Collection[str] = ()) -> list[KafkaNode]:
    """The containers that run Kafka. `dirs`: log directories that brokers report, for those without a readable file.

    Raises UsageError for a container in which several Kafka processes run: a fault would hit all of them.
    """
    found = []
    for container in containers:
        if not container["State"]["Running"]:
            continue
        commands = [match[1] for each in _processes(api, container) if (match := MAIN.search(each))]
        if len(commands) > 1:
            raise UsageError(
                f"{label(container)} runs {len(commands)} Kafka processes, and a fault would hit all of them; "
                f"give each node a container of its own"
            )
        if commands:
            found.append(_identified(api, container, commands[0], dirs))
    return found


def runs_zookeeper(api: Any, container: Container) -> bool:
    return any(ZOOKEEPER_MAIN.search(each) for each in _processes(api, container))


def _processes(api: Any, container: Container) -> list[str]:
    """Command lines of the programs that may be Kafka."""
    try:
        lines = processes(api, container["Id"], "args")
    except APIError:
        return []  # it has ended
    return [line for line in lines if posixpath.basename(line.partition(" ")[0]) in PROGRAMS]


def _identified(api: Any, container: Container, arguments: str, dirs: Collection[str]) -> KafkaNode:
    settings: dict[str, str] = {}
    words = arguments.split()
    named = re.search(r"--config[= ](\S+)", arguments)
    file = named[1] if named else next((each for each in words if not each.startswith("-")), "")
    read = _reader(api, container)
    if file:
        settings |= properties(read(posixpath.join(container["Config"]["WorkingDir"] or "/", file)))
    settings |= dict(re.findall(r"--override (\S+?)=(\S*)", arguments))
    stated = (
        settings.get("log.dirs") or settings.get("log.dir") or ("" if settings else ",".join(dirs)) or LOG_DIR
    )
    if "$" in stated:  # a config provider's variable
        stated = ",".join(dirs) or stated
    for folder in filter(None, map(str.strip, stated.split(","))):
        marks = properties(read(posixpath.join(folder, "meta.properties")))
        node = marks.get("node.id") or marks.get("broker.id") or ""
        if node.isdigit():
            return KafkaNode(container, int(node), marks.get("cluster.id", ""), settings)
    return KafkaNode(container, settings=settings)


def _reader(api: Any, container: Container) -> Callable[[str], str]:
    """Reads a file of the container; "" where it cannot be read."""

    def read(path: str) -> str:
        try:
            return read_file(api, container["Id"], path).decode(errors="replace")
        except (OSError, APIError):
            pass  # the engine does not see what is mounted as tmpfs
        try:
            status, text = execute(api, container["Id"], ["cat", path], timeout=READ_LIMIT)
        except (OSError, APIError):
            return ""
        return "" if status else text

    return read


def properties(text: str) -> dict[str, str]:
    """The settings of a properties file. Escapes are not resolved: node ids, ports and names have none."""
    joined = re.sub(r"\\\r?\n\s*", "", text)
    lines = (each.strip() for each in joined.splitlines())
    pairs = (re.split(r"\s*[=:]\s*", each, maxsplit=1) for each in lines if each and each[0] not in "#!")
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def require_own_network(what: str, containers: Sequence[Container]) -> None:
    """Raises UsageError for nodes whose network namespace is not theirs alone, or that are in several networks."""
    hosts = [each for each in containers if each["HostConfig"]["NetworkMode"] == "host"]
    if hosts:
        raise UsageError(
            f"attach {what!r}: {labels(hosts)} use the network of the host (network_mode: host), where a fault would "
            f"hit every program of this machine; give each node a network of its own and publish its port"
        )
    shared = [each for each in containers if str(each["HostConfig"]["NetworkMode"]).startswith("container:")]
    if shared:
        raise UsageError(
            f"attach {what!r}: {labels(shared)} use the network of another container, which a fault would hit as "
            f"well; give each node a network of its own"
        )
    several = [each for each in containers if len(each["NetworkSettings"]["Networks"]) != 1]
    if several:
        named = "; ".join(
            f"{label(each)}: {', '.join(sorted(each['NetworkSettings']['Networks']))}" for each in several
        )
        raise UsageError(
            f"attach {what!r}: a node has to be in one network, and these are in several: {named}; peers could reach "
            f"each other past a cut"
        )
