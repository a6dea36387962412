"""Brokers that somebody else runs, reached by their addresses alone: a workload can use them, faults cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kafka.protocol.admin import DescribeClusterRequest

from pytest_kafkacheck.cluster.kafka.metadata_views import TIMEOUT
from pytest_kafkacheck.cluster.kafka.topic_state import Report
from pytest_kafkacheck.errors import InfrastructureError, UsageError
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
