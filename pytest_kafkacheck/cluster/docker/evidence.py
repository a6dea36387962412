"""What is saved of a cluster while an error is handled. Nothing here raises, which would hide that error."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from docker.errors import APIError

from nemesis.tasks import in_thread, side_by_side
from pytest_kafkacheck.cluster.docker.deadline import run_with_deadline
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.kafka import metadata_views
from workloads.clients.connection import Address

log = logging.getLogger(__name__)

LOGS_LIMIT = 30.0
"""Seconds for saving the logs of all nodes."""


class NodesAndBrokers(Protocol):
    """What is saved of; `cluster.DockerCluster` is one."""

    @property
    def run(self) -> str: ...

    @property
    def nodes(self) -> Mapping[int, DockerNode]: ...

    @property
    def brokers(self) -> Mapping[int, Address]: ...


def save_logs(cluster: NodesAndBrokers, directory: Path) -> None:
    """Write each node's log to ``<directory>/<host>.log``."""

    def save() -> None:
        directory.mkdir(parents=True, exist_ok=True)
        side_by_side(in_thread, [partial(save_one, node) for node in cluster.nodes.values()], "node-logs")

    def save_one(node: DockerNode) -> None:
        try:
            (directory / f"{node.member.host}.log").write_bytes(node.logs())
        except (APIError, OSError) as error:
            log.warning("log of %s not saved: %s", node.member.host, error)

    try:
        run_with_deadline(LOGS_LIMIT, save, name=f"logs of {cluster.run}")
    except OSError as error:
        log.warning("not all logs of %s saved in %s: %s", cluster.run, directory, error)


def save_topics(cluster: NodesAndBrokers, file: Path) -> None:
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
