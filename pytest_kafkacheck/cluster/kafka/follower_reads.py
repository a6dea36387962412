"""Whether brokers let clients read from followers (KIP-392)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kafka.protocol.admin import DescribeConfigsRequest

from pytest_kafkacheck.cluster.spec.replica_selector import RACK_AWARE, SELECTOR
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients import requests
from workloads.clients.connection import Address, ask

TIMEOUT = 5.0
"""Seconds for the answer of one broker."""

BROKER = 4
"""Resource type of DescribeConfigs."""


def check_follower_reads(brokers: Mapping[int, Address]) -> None:
    """Raises UsageError that names what the brokers lack, InfrastructureError when one of them does not answer."""
    try:
        racks = requests.racks(partial(ask, next(iter(brokers.values())), timeout=TIMEOUT))
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
    Resource = DescribeConfigsRequest.DescribeConfigsResource
    resource = Resource(resource_type=BROKER, resource_name=str(node), configuration_keys=[SELECTOR])
    request = DescribeConfigsRequest(
        version=1, resources=[resource], include_synonyms=False, include_documentation=False
    )
    (result,) = ask(address, request, timeout=TIMEOUT).results
    if result.error_code:
        raise OSError(f"broker {node} did not describe its settings: {result.error_message}")
    return next((each.value or "" for each in result.configs if each.name == SELECTOR), "")
