"""Whether nodes serve, and whether a cluster is as it was started."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Protocol

from docker.errors import APIError
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from pytest_kafkacheck.cluster.docker.leftovers import NodesAndBrokers, leftovers
from pytest_kafkacheck.cluster.kafka import metadata_views, zookeeper
from pytest_kafkacheck.cluster.spec.member import ZOOKEEPER
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.connection import Address, Ensemble

log = logging.getLogger(__name__)

SESSION_LIMIT = 30.0
"""Seconds for the session of a killed broker to expire in ZooKeeper; it is 3 s with the settings of properties.py."""


class Served(NodesAndBrokers, Protocol):
    @property
    def run(self) -> str: ...


def answers(address: Address) -> bool:
    """Whether a broker answers clients."""
    try:
        metadata_views.unfenced(address)
    except OSError:
        return False
    return True


def serves(cluster: NodesAndBrokers, node: int) -> bool:
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


def is_healthy(cluster: Served) -> bool:
    """Whether every node runs and serves, every broker reports all brokers as unfenced, and no fault has left
    anything."""
    try:
        serving = _all_serve(cluster, set(cluster.brokers))
        found = leftovers(cluster) if serving else []
    except (OSError, APIError, InfrastructureError) as error:
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


def _all_serve(cluster: Served, brokers: Collection[int]) -> bool:
    return (
        all(node.state() == "running" for node in cluster.nodes.values())
        and all(metadata_views.unfenced(address) == brokers for address in cluster.brokers.values())
        and all(serves(cluster, node) for node in cluster.nodes if node not in brokers)
    )


def _follows(brokers: Mapping[int, Address], controller: int) -> bool:
    """Whether a separate controller has all committed records of the quorum's log."""
    quorum = metadata_views.quorum(brokers)
    return quorum is not None and quorum.ends.get(controller, -1) >= quorum.high_watermark
