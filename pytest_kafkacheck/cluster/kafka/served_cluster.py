"""Brokers that somebody else runs, reached by their addresses alone: a workload can use them, faults cannot.

What they lack is known only from what they report themselves: their release, and whether clients may read from
followers (KIP-392).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import ApiVersionsRequest

from pytest_kafkacheck.cluster.kafka.metadata_views import TIMEOUT
from pytest_kafkacheck.cluster.kafka.topics import Report
from pytest_kafkacheck.cluster.spec.release import METADATA, METADATA_LEVELS
from pytest_kafkacheck.cluster.spec.settings import RACK_AWARE, SELECTOR
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients import requests
from workloads.clients.connection import Address, Ensemble, ask
from workloads.clients.security import Security


class TopicReports:
    """In place of requests to Kafka: the run itself creates and deletes its topics.

    report  takes each deletion and creation of a topic.
    """

    report: Report | None = None


@dataclass(frozen=True)
class ServedCluster:
    """run: how environment.json names it."""

    brokers: Mapping[int, Address]
    run: str = "served"
    nodes: Mapping[int, object] = field(default_factory=dict)
    ensemble: Ensemble = field(default_factory=Ensemble)
    kafka: TopicReports = field(default_factory=TopicReports)

    @property
    def registered_as(self) -> str:
        return self.run


def find(bootstrap: Iterable[Address]) -> ServedCluster:
    """The cluster of the first broker that answers, with the addresses that it advertises.

    Raises InfrastructureError when none answers.
    """
    problems = []
    request = DescribeClusterRequest(version=0, include_cluster_authorized_operations=False)
    for address in bootstrap:
        try:
            brokers = ask(address, request, timeout=TIMEOUT).brokers
        except OSError as problem:
            problems.append(f"{address}: {problem or type(problem).__name__}")
            continue
        return ServedCluster(
            {each.broker_id: Address(each.host, each.port, address.security) for each in brokers}
        )
    raise InfrastructureError(
        f"No broker answers within {TIMEOUT:g} s: {'; '.join(problems)}. Check the addresses, and whether they "
        f"expect TLS or SASL: --command-config FILE names the clients' settings."
    )


def parse_bootstrap(text: str, security: Security | None = None) -> list[Address]:
    """Addresses such as "localhost:9092,localhost:9093", to which clients connect as `security` says.

    Raises UsageError.
    """
    found = []
    for part in text.split(","):
        host, colon, port = part.strip().rpartition(":")
        if not (colon and host and port.isdigit() and 0 < int(port) < 65536):
            raise UsageError(
                f"--bootstrap {text}: {part!r} is no address; expected HOST:PORT, such as localhost:9092"
            )
        found.append(Address(host.strip("[]"), int(port), security))
    return found


Number = tuple[int, int]
"""Such as (4, 1) for 4.1.1."""

UNKNOWN: Number = (0, 0)
"""Of a broker that reports no metadata.version: all brokers since 4.0 do, and of the earlier ones some."""


def broker_release(address: Address) -> Number:
    """The newest release of which the broker has the metadata.version, or `UNKNOWN`.

    Raises OSError without an answer. A broker has no request for its release. Every release since 3.0 has added a
    metadata.version to those that it supports, also where the cluster does not use it yet.
    """
    request = ApiVersionsRequest(version=3, client_software_name="kafkacheck", client_software_version="1")
    supported = ask(address, request, timeout=TIMEOUT).supported_features or ()
    level = max((each.max_version for each in supported if each.name == METADATA), default=0)
    names = [name for name, least in METADATA_LEVELS.items() if least <= level]
    if not names:
        return UNKNOWN
    major, minor = names[-1].partition("-")[0].split(".")
    return int(major), int(minor)


def check_release(brokers: Mapping[int, Address], least: Number, *, what: str) -> None:
    """Raises UsageError that names the release of each broker if one is below `least`.

    what  needs that release, for the message.
    Raises InfrastructureError when one of them does not answer.
    """
    if least <= UNKNOWN:
        return
    try:
        found = {node: broker_release(address) for node, address in sorted(brokers.items())}
    except OSError as error:
        raise InfrastructureError(f"the brokers' releases could not be read: {error!r}") from error
    if min(found.values()) < least:
        releases = ", ".join(f"{node}: {_text(number)}" for node, number in found.items())
        raise UsageError(
            f"{what} needs Kafka {_text(least)} or later for what it asks for, and the brokers have these releases: "
            f"{releases}; choose other brokers, or other values of the workload"
        )


def _text(number: Number) -> str:
    return "before 4.0" if number == UNKNOWN else f"{number[0]}.{number[1]}"


SETTINGS_TIMEOUT = 5.0
"""Seconds for the answer of one broker."""


def check_follower_reads(brokers: Mapping[int, Address]) -> None:
    """Raises UsageError that names what the brokers lack, InfrastructureError when one of them does not answer."""
    try:
        racks = requests.racks(partial(ask, next(iter(brokers.values())), timeout=SETTINGS_TIMEOUT))
        selectors = {node: _selector(node, address) for node, address in brokers.items()}
    except OSError as error:
        raise InfrastructureError(f"the brokers' racks and settings could not be read: {error}") from error
    found = ", ".join(f"{node}: {racks.get(node) or 'none'}" for node in sorted(brokers))
    if len({racks.get(node) for node in brokers}) < 2:
        raise UsageError(
            f"the workload reads from followers in another rack than the leader's, and the brokers have these racks: "
            f"{found}; set broker.rack so that there are at least 2"
        )
    if without := sorted(node for node, selector in selectors.items() if not selector):
        raise UsageError(
            f"the workload reads from followers, and {SELECTOR} is not set on brokers "
            f"{', '.join(map(str, without))}, so clients read from leaders only; set it to {RACK_AWARE}"
        )


def _selector(node: int, address: Address) -> str:
    """The broker's class that chooses replicas; empty if none is set."""
    request = requests.settings_request(requests.BROKER, [str(node)], [SELECTOR])
    (result,) = ask(address, request, timeout=SETTINGS_TIMEOUT).results
    if result.error_code:
        raise OSError(f"broker {node} did not describe its settings: {result.error_message}")
    return next((each.value or "" for each in result.configs if each.name == SELECTOR), "")
