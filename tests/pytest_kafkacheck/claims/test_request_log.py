"""What a broker writes down of requests, read from its log."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kafkacheck.claims.exercising import NotExercised
from pytest_kafkacheck.claims.request_log import DELETE, FETCH, PRODUCE, SET, logging_requests


def line(key: int, client: str | None) -> str:
    header = {"requestApiKey": key, "clientId": client}
    found = {"requestHeader": header, "request": {"acks": -1}, "response": {"responses": []}}
    return f"[2026-01-01 00:00:00,000] DEBUG Completed request:{json.dumps(found)} (kafka.request.logger)"


class Broker:
    """A context with one broker, which refuses with `code`."""

    def __init__(self, code: int = 0) -> None:
        self.printed = ""
        self.set: list[tuple[int, str | None]] = []
        self.code = code
        self.cluster = SimpleNamespace(nodes={1: self})

    def logs(self) -> bytes:
        return self.printed.encode()

    def ask(self, _: int) -> Any:
        def answer(request: Any) -> Any:
            (config,) = request.resources[0].configs
            self.set.append((config.config_operation, config.value))
            return SimpleNamespace(responses=[SimpleNamespace(error_code=self.code, error_message="no")])

        return answer


def test_only_requests_of_the_time_are_returned() -> None:
    broker: Any = Broker()
    broker.printed = line(PRODUCE, "before") + "\n"
    with logging_requests(broker, 1) as logged:
        broker.printed += (
            f"INFO something else\n{line(FETCH, None)}\n{line(PRODUCE, 'one')}\n{line(PRODUCE, 'one')[:90]}"
        )
        found = logged[1]()
        assert broker.set == [(SET, "DEBUG")]
    assert [(each.key, each.client) for each in found] == [(FETCH, ""), (PRODUCE, "one")]
    assert found[1].answer == {"responses": []}
    assert broker.set[1:] == [(DELETE, None)]


def test_a_broker_that_refuses_says_nothing_about_a_claim() -> None:
    broker: Any = Broker(code=31)
    with (
        pytest.raises(NotExercised, match="broker 1 refused to log requests: no"),
        logging_requests(broker, 1),
    ):
        pass
