"""What holds for a whole cluster: release, mode, features, controllers, racks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.metadata import ApiVersionsRequest

from pytest_kafkacheck.audit.live.asking import AskNode, any_of, no_answer
from pytest_kafkacheck.audit.live.described import DEFAULT, describe_broker
from pytest_kafkacheck.audit.report import Problem
from pytest_kafkacheck.cluster.spec.release import ELR, METADATA, METADATA_LEVELS
from workloads.clients import requests

DESCRIBE_QUORUM = 55
"""The request's number. In ZooKeeper mode brokers do not have it."""

PROTOCOL = "inter.broker.protocol.version"


@dataclass
class Cluster:
    """settings, origins, unknown: as `Subject` has them, for every topic of the cluster."""

    nodes: list[int]
    racks: Mapping[int, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    separate_controllers: bool = False

    def put(self, name: str, value: object, origin: str) -> None:
        self.settings[name], self.origins[name] = value, origin


def read_cluster(nodes: list[int], send: AskNode) -> Cluster:
    """Raises OSError when no broker answers."""
    cluster = Cluster(nodes)
    cluster.racks = requests.racks(lambda request: any_of(nodes, send, request))
    api = any_of(nodes, send, ApiVersionsRequest(
        version=3, client_software_name="kafkacheck", client_software_version="1"
    ))  # fmt: skip
    is_kraft = any(each.api_key == DESCRIBE_QUORUM for each in api.api_keys)
    cluster.put("mode", "kraft" if is_kraft else "zookeeper", "requests that brokers know")
    supported = {each.name: each.max_version for each in api.supported_features or ()}
    finalized = {each.name: each.max_version_level for each in api.finalized_features or ()}
    if is_kraft:
        _read_kraft(cluster, send, supported, finalized)
    else:
        _read_zookeeper(cluster, send)
    return cluster


def _read_kraft(
    cluster: Cluster, send: AskNode, supported: Mapping[str, int], finalized: Mapping[str, int]
) -> None:
    level = supported.get(METADATA, 0)
    names = [name for name, least in METADATA_LEVELS.items() if least <= level]
    if names:
        line = names[-1].partition("-")[0]
        cluster.put("version", f"{line}.0", f"the brokers' {METADATA}; which patch release is not known")
    else:
        cluster.unknown["version"] = ("3.3.2", "3.9.2")
    if cluster.settings.get("version", "0") >= "4":
        cluster.put("elr", finalized.get(ELR, 0) > 0, "feature")
    tried, missing = "DescribeQuorum", "the number of controllers is not known"
    try:
        found = requests.quorum(lambda request: any_of(cluster.nodes, send, request))
    except OSError as error:
        found = None
        cluster.problems.append(no_answer(error, tried=tried, missing=missing))
    else:
        if found is None:
            remedy = "allow Describe on Cluster to this user, or wait until the quorum has a leader"
            cluster.problems.append(Problem(tried=tried, missing=missing, remedy=remedy))
    if found is None:
        cluster.unknown["controllers"] = (1, 3)
    else:
        cluster.put("controllers", len(found.ends), "quorum")
        cluster.separate_controllers = not set(found.ends) & set(cluster.nodes)


def _read_zookeeper(cluster: Cluster, send: AskNode) -> None:
    """The release is that of the protocol, unless somebody has set an older one."""
    settings, problems = describe_broker(cluster.nodes[0], send, [PROTOCOL])
    cluster.problems += problems
    if PROTOCOL not in settings:
        cluster.unknown["version"] = ("2.8.2", "3.9.2")
        return
    protocol = settings[PROTOCOL]
    number = protocol.value.partition("-")[0]
    if protocol.source == DEFAULT:
        cluster.put("version", number, f"the brokers' {PROTOCOL}; which patch release is not known")
        return
    cluster.put("protocol", number, protocol.origin)
    cluster.unknown["version"] = ("2.8.2", "3.9.2")
    cluster.problems.append(
        Problem(
            tried=f"DescribeConfigs of broker {cluster.nodes[0]}",
            missing=f"{PROTOCOL}={protocol.value} is set, so the brokers' release is not known",
            remedy="state it with --version",
        )
    )
