"""Changes broker settings while brokers run, and restores them. Kafka refuses those that need a restart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import kafka.errors
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from pytest_kafkacheck.cluster.kafka.change import LIMIT, REFUSED, ask_any
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.connection import Address

BROKER = 4
SET, DELETE = 0, 1


def set_broker(brokers: Mapping[int, Address], name: str, settings: Mapping[str, str]) -> None:
    """Set the dynamic configuration of a broker, given by its id as text, or of all brokers with "".

    brokers  brokers that may be asked: for one broker's settings that broker, because it checks them itself.
    Raises UsageError when Kafka refuses, InfrastructureError when no broker accepts the request.
    """
    _alter(brokers, name, SET, settings)


def reset_broker(brokers: Mapping[int, Address], name: str, settings: Iterable[str]) -> None:
    """Remove settings from the dynamic configuration, so that those of the broker's file hold again.

    Arguments and errors are those of `set_broker`.
    """
    _alter(brokers, name, DELETE, dict.fromkeys(settings))


def _alter(
    brokers: Mapping[int, Address], name: str, operation: int, settings: Mapping[str, str | None]
) -> None:
    # kafka-python's admin client refuses the empty name that stands for all brokers.
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    resource = Resource(
        resource_type=BROKER,
        resource_name=name,
        configs=[
            Resource.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, value in settings.items()
        ],
    )
    request = IncrementalAlterConfigsRequest(version=0, resources=[resource], validate_only=False)
    code, message = ask_any(brokers, request, lambda answer: answer.responses[0], done={0})
    whom = f"broker {name}" if name else "all brokers"
    if code in REFUSED:
        raise UsageError(
            f"Kafka refused {dict(settings)} for {whom} ({kafka.errors.for_code(code).__name__}): {message}. "
            f"Settings that need a restart are changed by reconfigure()."
        )
    if code:
        raise InfrastructureError(
            f"{dict(settings)} could not be set for {whom} within {LIMIT:.0f} s: error {code}: {message}"
        )
