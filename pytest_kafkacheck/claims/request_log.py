"""What a broker was asked, as it writes it down itself.

Claims that say which broker served a client, or how often a client has sent, need more than the client's word.
Brokers have a logger of requests that can be switched on while they run: a line of JSON for each answered request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

LOGGER = "kafka.request.logger"
BROKER_LOGGER = 8
SET, DELETE = 0, 1
MARK = "Completed request:"

PRODUCE, FETCH = 0, 1
"""Keys of requests."""


@dataclass(frozen=True)
class Request:
    """A request that a broker has answered, and its answer as the broker writes it."""

    key: int
    client: str
    answer: Mapping[str, Any]


@contextmanager
def logging_requests(
    context: ScenarioContext, *nodes: int
) -> Iterator[Mapping[int, Callable[[], list[Request]]]]:
    """Let these brokers write down requests. Yields for each a function that returns those since then."""
    with ExitStack() as stack:
        readers = {}
        for node in nodes:
            _set_level(context, node, SET, "DEBUG")
            stack.callback(_set_level, context, node, DELETE, None)
            readers[node] = _reader(context, node, len(context.cluster.nodes[node].logs()))
        yield readers


def _reader(context: ScenarioContext, node: int, printed: int) -> Callable[[], list[Request]]:
    def read() -> list[Request]:
        text = context.cluster.nodes[node].logs()[printed:].decode(errors="replace")
        *lines, _ = text.split("\n")  # what follows the last line break is not complete yet
        return [_parsed(line.partition(MARK)[2]) for line in lines if MARK in line]

    return read


def _parsed(text: str) -> Request:
    """Layouts may append to the message."""
    found, _ = json.JSONDecoder().raw_decode(text)
    header = found["requestHeader"]
    return Request(
        key=header["requestApiKey"],
        client=header.get("clientId") or "",
        answer=found.get("response", {}),
    )


def _set_level(context: ScenarioContext, node: int, operation: int, level: str | None) -> None:
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = Resource.AlterableConfig(name=LOGGER, config_operation=operation, value=level)
    resource = Resource(resource_type=BROKER_LOGGER, resource_name=str(node), configs=[config])
    request = IncrementalAlterConfigsRequest(version=0, resources=[resource], validate_only=False)
    answer = context.ask(node)(request).responses[0]
    exercised(answer.error_code == 0, f"broker {node} refused to log requests: {answer.error_message}")
