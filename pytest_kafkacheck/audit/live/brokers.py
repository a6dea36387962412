"""What holds for a whole cluster (release, mode, features, controllers, racks), and what brokers say when asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import kafka.errors
from kafka.protocol.metadata import ApiVersionsRequest

from pytest_kafkacheck.audit.keys import KINDS, SHARED
from pytest_kafkacheck.audit.report import Problem
from pytest_kafkacheck.cluster.spec.release import ELR, METADATA, METADATA_LEVELS
from workloads.clients import requests
from workloads.clients.connection import Address, ask

DESCRIBE_QUORUM = 55
"""The request's number. In ZooKeeper mode brokers do not have it."""

PROTOCOL = "inter.broker.protocol.version"


OF_BROKERS = ("flush_check_ms", "controlled_shutdown", "cleaner", "offsets_retention_minutes")
"""Fields of which topics have no setting of their own."""


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
    described: dict[int, Described] = field(default_factory=dict)
    """Settings of each broker, as it reports them."""

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
    _read_brokers(cluster, send)
    return cluster


def _read_brokers(cluster: Cluster, send: AskNode) -> None:
    """The settings that hold for all topics. Where brokers differ, all values count."""
    names = {key.name: (name, key) for name, key in SHARED.items() if name in OF_BROKERS}
    wanted = [*names, *(key.name for keys in KINDS.values() for key in keys.values())]
    refused: list[Problem] = []
    for node in cluster.nodes:
        found, problems = describe_broker(node, send, wanted)
        refused += problems
        if found:
            cluster.described[node] = found
    # Rights are those of a user: what one broker refuses, all refuse.
    cluster.problems += refused[:1]
    for name, (field_name, key) in names.items():
        values = {
            key.convert(found[name].value): (node, found[name].origin)
            for node, found in cluster.described.items()
            if name in found
        }
        if len(values) == 1:
            ((value, (_, origin)),) = values.items()
            if value is not None:
                cluster.put(field_name, value, origin)
        elif values:
            cluster.unknown[field_name] = tuple(values)
            shown = "; ".join(f"{value} on broker {node}" for value, (node, _) in values.items())
            cluster.problems.append(Problem(tried=name, missing=f"brokers have different values: {shown}"))


def _read_kraft(
    cluster: Cluster, send: AskNode, supported: Mapping[str, int], finalized: Mapping[str, int]
) -> None:
    level = supported.get(METADATA, 0)
    names = [name for name, least in METADATA_LEVELS.items() if least <= level]
    if names:
        line = names[-1].partition("-")[0]
        cluster.put("version", line, f"the brokers' {METADATA}; which patch release is not known")
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
        cluster.put("roles", "combined" if set(found.ends) & set(cluster.nodes) else "separate", "quorum")
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


SOURCES = {
    1: "topic",
    2: "broker, dynamic",
    3: "all brokers, dynamic",
    4: "broker's file",
    5: "default",
}
DYNAMIC_FOR_CLUSTER, FILE, DEFAULT = 3, 4, 5

BATCH = 500
"""Topics in one request."""


class Setting(NamedTuple):
    value: str
    source: int

    @property
    def origin(self) -> str:
        return SOURCES.get(self.source, "cluster")


Described = dict[str, Setting]
"""By name."""


def describe_topics(
    nodes: list[int], send: AskNode, topics: Sequence[str], names: Sequence[str]
) -> tuple[dict[str, Described], list[Problem]]:
    """Those settings of topics, by topic, and what could not be read."""
    found: dict[str, Described] = {}
    problems: list[Problem] = []
    missing = f"{', '.join(names)} are not known"
    for start in range(0, len(topics), BATCH):
        batch = topics[start : start + BATCH]
        try:
            answer = any_of(nodes, send, requests.settings_request(requests.TOPIC, batch, names))
        except OSError as error:
            tried = f"DescribeConfigs of {len(batch)} topics"
            problems.append(no_answer(error, tried=tried, missing=missing))
            continue
        for each in answer.results:
            tried = f"DescribeConfigs of topic {each.resource_name}"
            if each.error_code:
                problems.append(refusal(each.error_code, "DescribeConfigs", tried=tried, missing=missing))
            else:
                found[each.resource_name] = _settings(each)
    return found, problems


def describe_broker(node: int, send: AskNode, names: Sequence[str]) -> tuple[Described, list[Problem]]:
    """Those settings of a broker, as it reports them itself."""
    tried, missing = f"DescribeConfigs of broker {node}", f"{', '.join(names)} are not known"
    try:
        (answer,) = send(node, requests.settings_request(requests.BROKER, [str(node)], names)).results
    except OSError as error:
        return {}, [no_answer(error, tried=tried, missing=missing)]
    if answer.error_code:
        return {}, [refusal(answer.error_code, "DescribeConfigs", tried=tried, missing=missing)]
    return _settings(answer), []


def _settings(result: Any) -> Described:
    return {
        each.name: Setting(each.value, each.config_source)
        for each in result.configs
        if each.value is not None
    }


TIMEOUT = 10.0
"""Seconds for each request: the settings of a thousand topics take some."""

DENIED = {29: "Topic", 30: "Group", 31: "Cluster"}
"""Error codes of requests that this user may not make, with the kind of resource on which it lacks a right."""

AskNode = Callable[[int, Any], Any]
"""Sends a request to the broker with that id. Raises OSError without an answer."""


def asking(brokers: Mapping[int, Address]) -> AskNode:
    return lambda node, request: ask(brokers[node], request, timeout=TIMEOUT)


def any_of(nodes: list[int], send: AskNode, request: Any) -> Any:
    """The answer of the first broker that gives one. Raises the last OSError where none does."""
    problem: OSError = ConnectionError("there is no broker to ask")
    for node in nodes:
        try:
            return send(node, request)
        except OSError as error:
            problem = error
    raise problem


def refusal(code: int, right: str, *, tried: str, missing: str) -> Problem:
    """The problem that an error code stands for. right: such as "DescribeConfigs"."""
    name = kafka.errors.for_code(code).__name__
    remedy = f"allow {right} on {DENIED[code]} to this user" if code in DENIED else ""
    return Problem(tried=tried, missing=f"{missing}: {name}", remedy=remedy)


def no_answer(error: OSError, *, tried: str, missing: str) -> Problem:
    return Problem(tried=tried, missing=f"{missing}: {error or type(error).__name__}")
