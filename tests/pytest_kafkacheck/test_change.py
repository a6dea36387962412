"""A change of the cluster does not depend on one broker: one that is down, or that takes another one for the
controller, is passed over. kafka-python's admin client would ask the controller that it knows for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from pytest_kafkacheck.cluster.kafka import metadata_views
from workloads.clients.connection import Address

NOT_CONTROLLER, INVALID_TOPIC, ALREADY_EXISTS = 41, 17, 36

BROKERS = {node: Address("127.0.0.1", node) for node in (1, 2, 3)}


class Answer(NamedTuple):
    error_code: int
    error_message: str = "text"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[int | Exception]]:
    """By broker: its answers in turn, of which the last one stays."""
    found: dict[int, list[int | Exception]] = {}

    def ask(address: Address, request: object, *, timeout: float) -> Answer:
        assert (request, timeout > 0) == ("request", True)
        mine = found[address.port]
        answer = mine.pop(0) if len(mine) > 1 else mine[0]
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer)

    monkeypatch.setattr(metadata_views, "ask", ask)
    return found


def ask_any() -> tuple[int, str]:
    pick: Callable[[Any], Any] = lambda answer: answer  # noqa: E731
    return metadata_views.ask_any(BROKERS, "request", pick, done={0, ALREADY_EXISTS})


def test_brokers_that_are_down_or_refer_to_another_controller_are_passed_over(
    answers: dict[int, list[int | Exception]],
) -> None:
    answers.update({1: [ConnectionRefusedError()], 2: [NOT_CONTROLLER], 3: [0]})
    assert ask_any() == (0, "text")


def test_all_brokers_are_asked_again_until_one_has_a_controller(
    answers: dict[int, list[int | Exception]],
) -> None:
    answers.update(
        {1: [ConnectionRefusedError()], 2: [NOT_CONTROLLER, TimeoutError(), 0], 3: [NOT_CONTROLLER]}
    )
    assert ask_any() == (0, "text")


@pytest.mark.parametrize("code", [INVALID_TOPIC, ALREADY_EXISTS])
def test_a_final_answer_is_not_asked_for_again(answers: dict[int, list[int | Exception]], code: int) -> None:
    answers.update({1: [code], 2: [AssertionError("asked again")], 3: [AssertionError("asked again")]})
    assert ask_any() == (code, "text")


def test_without_an_answer_the_last_problem_is_named(
    answers: dict[int, list[int | Exception]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata_views, "LIMIT", 0.5)
    answers.update({1: [NOT_CONTROLLER], 2: [NOT_CONTROLLER], 3: [ConnectionRefusedError("down")]})
    code, text = ask_any()
    assert code == -1
    assert "ConnectionRefusedError('down')" in text
