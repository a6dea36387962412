"""Changes broker settings while brokers run. Kafka refuses those that need a restart."""

from __future__ import annotations

from collections.abc import Mapping

import kafka.errors
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from pytest_kafkacheck.cluster.kafka.change import LIMIT, REFUSED, ask_any
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.connection import Address

BROKER = 4
SET = 0


def set_broker(brokers: Mapping[int, Address], name: str, settings: Mapping[str, str]) -> None:
    """Set the dynamic configuration of a broker, given by its id as text, or of all brokers with "".

    brokers  brokers that may be asked: for one broker's settings that broker, because it checks them itself.
    Raises UsageError when Kafka refuses, InfrastructureError when no broker accepts the request.
    """
    # kafka-python's admin client refuses the empty name that stands for all brokers.
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    resource = Resource(
        resource_type=BROKER,
        resource_name=name,
        configs=[
            Resource.AlterableConfig(name=key, config_operation=SET, value=value)
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
