"""The settings of brokers and topics, as DescribeConfigs reports them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kafka.protocol.admin import DescribeConfigsRequest

from pytest_kafkacheck.audit.live.asking import AskNode, any_of, no_answer, refusal
from pytest_kafkacheck.audit.report import Problem

TOPIC, BROKER = 2, 4
"""Kinds of resources."""

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
            answer = any_of(nodes, send, _request(TOPIC, batch, names))
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
        (answer,) = send(node, _request(BROKER, [str(node)], names)).results
    except OSError as error:
        return {}, [no_answer(error, tried=tried, missing=missing)]
    if answer.error_code:
        return {}, [refusal(answer.error_code, "DescribeConfigs", tried=tried, missing=missing)]
    return _settings(answer), []


def _request(kind: int, resources: Sequence[str], names: Sequence[str]) -> Any:
    Resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        version=1,
        resources=[
            Resource(resource_type=kind, resource_name=name, configuration_keys=list(names))
            for name in resources
        ],
        include_synonyms=False,
    )


def _settings(result: Any) -> Described:
    return {
        each.name: Setting(each.value, each.config_source)
        for each in result.configs
        if each.value is not None
    }
