"""The settings Kafka knows, so that a misspelt one is refused before anything starts.

Kafka itself ignores unknown names: a test of ``unclean.leader.election.enabled`` would silently test
the default. ``settings.json`` was read off a 4.1.1 broker (DescribeConfigs).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Literal

from pytest_kafkacheck.errors import UsageError

Kind = Literal["broker", "topic"]

OURS = {
    "advertised.listeners", "broker.id", "cluster.id", "controller.listener.names",
    "controller.quorum.bootstrap.servers", "controller.quorum.voters", "inter.broker.listener.name",
    "listener.security.protocol.map", "listeners", "log.dir", "log.dirs", "metadata.log.dir", "node.id",
    "process.roles",
}  # fmt: skip
"""Settings that tie a node to its place in the cluster; a test cannot set them."""


@cache
def known(kind: Kind) -> Mapping[str, str]:
    """Type by name, such as ``{"min.insync.replicas": "INT"}``."""
    data: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("settings.json").read_text())
    return data[kind]


def check_settings(settings: Mapping[str, str], *, kind: Kind, where: str, version: str = "4.1.1") -> None:  # noqa: ARG001
    """Raise UsageError for the first setting that Kafka would ignore, refuse, or that is ours to set."""
    types = known(kind)
    for name, value in settings.items():
        if kind == "broker" and name in OURS:
            raise UsageError(
                f"{where}[{name!r}]={value!r}: kafkacheck sets this itself, for each node its own"
            )
        if name not in types:
            near = get_close_matches(name, types, n=3, cutoff=0.6)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            other: Kind = "topic" if kind == "broker" else "broker"
            if name in known(other):
                hint = f"; that is a {other} setting"
            raise UsageError(f"{where}[{name!r}]={value!r}: Kafka knows no {kind} setting of that name{hint}")
        if (problem := _problem(types[name], value)) is not None:
            raise UsageError(f"{where}[{name!r}]={value!r}: expected {problem}")


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
