"""Which release of Kafka brokers have that kafkacheck did not start, by what they report themselves."""

from __future__ import annotations

from collections.abc import Mapping

from kafka.protocol.metadata import ApiVersionsRequest

from pytest_kafkacheck.cluster.kafka.metadata_views import TIMEOUT
from pytest_kafkacheck.cluster.spec.release import METADATA, METADATA_LEVELS
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.connection import Address, ask

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
