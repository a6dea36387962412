"""Requests to the brokers of one cluster, and what their refusals mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import kafka.errors

from pytest_kafkacheck.audit.report import Problem
from workloads.clients.connection import Address, ask

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
