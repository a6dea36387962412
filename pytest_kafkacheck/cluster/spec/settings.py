"""Checks settings against those that Kafka knows, so that a misspelt one is refused before anything starts.

Kafka itself ignores unknown names: a test with ``unclean.leader.election.enabled`` would silently test the default.
The definitions of each release (KafkaConfig and LogConfig in its jars) are in ``releases.json``, see `release.FACTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Literal

from pytest_kafkacheck.cluster.spec.release import NEWEST, facts, lines_of, release_of
from pytest_kafkacheck.errors import UsageError

SELECTOR = "replica.selector.class"
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The setting with which brokers let clients read from followers (KIP-392)."""

Kind = Literal["broker", "topic"]

RESERVED = {
    "advertised.listeners", "broker.id", "cluster.id", "controller.listener.names",
    "controller.quorum.bootstrap.servers", "controller.quorum.voters", "inter.broker.listener.name",
    "listener.security.protocol.map", "listeners", "log.dir", "log.dirs", "metadata.log.dir", "node.id",
    "process.roles", "control.plane.listener.name", "zookeeper.connect",
}  # fmt: skip
"""Settings that kafkacheck derives for each node from the cluster's shape; a test cannot set them."""

DYNAMIC = {
    "follower.replication.throttled.rate": "LONG",
    "leader.replication.throttled.rate": "LONG",
    "replica.alter.log.dirs.io.max.bytes.per.second": "LONG",
}
"""Broker settings, type by name, that are dynamic only: Kafka ignores them in a broker's configuration file."""


@cache
def known(kind: Kind, line: str) -> Mapping[str, str]:
    """Types of the settings of a release line, by name, such as ``{"min.insync.replicas": "INT"}``."""
    return {name: type for name, (type, spans) in facts()[kind].items() if lines_of(spans, [line])}


def check_settings(
    settings: Mapping[str, str], *, kind: Kind, where: str, version: str, dynamic: bool = False
) -> None:
    """Raise UsageError for the first setting that Kafka would ignore or refuse, or that is reserved.

    dynamic  whether the settings are for running brokers.
    """
    line = release_of(version).line
    types = {**known(kind, line), **(DYNAMIC if dynamic else {})}
    for name, value in settings.items():
        if kind == "broker" and name in RESERVED:
            raise UsageError(
                f"{where}[{name!r}]={value!r}: kafkacheck sets this itself, for each node differently"
            )
        if name not in types:
            raise UsageError(f"{where}[{name!r}]={value!r}: {_why_not(name, kind, line)}")
        if (problem := _problem(types[name], value)) is not None:
            raise UsageError(f"{where}[{name!r}]={value!r}: expected {problem}")


def _why_not(name: str, kind: Kind, line: str) -> str:
    if kind == "broker" and name in DYNAMIC:
        return "Kafka accepts it only on a running broker; set it there with configure()"
    if name in facts()[kind]:
        spans = [each.partition("-") for each in facts()[kind][name][1].split()]
        there = " and ".join(
            f"{first} to {last or NEWEST.line}" if dash else first for first, dash, last in spans
        )
        return f"Kafka {line} has no such {kind} setting; it is known in {there}"
    other: Kind = "topic" if kind == "broker" else "broker"
    if name in known(other, line):
        return f"Kafka knows no {kind} setting of that name; that is a {other} setting"
    near = get_close_matches(name, known(kind, line), n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"Kafka knows no {kind} setting of that name{hint}"


def _problem(kind: str, value: str) -> str | None:
    if kind == "BOOLEAN" and value not in ("true", "false"):
        return "true or false"
    if kind in ("INT", "LONG", "SHORT"):
        try:
            int(value)
        except ValueError:
            return "a whole number"
    if kind == "DOUBLE":
        try:
            float(value)
        except ValueError:
            return "a number"
    return None
