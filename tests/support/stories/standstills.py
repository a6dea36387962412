"""Histories of an application that writes nothing for a while, and near misses: the bound is 1 s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.pipelines import ONE, application, output, watched

S = 1_000_000_000


def fed_at(s: Any, *times: int, partition: int = 0) -> Any:
    """Inputs, acknowledged at these times."""
    values = {offset: ONE + 1000 * partition + offset for offset in range(len(times))}
    for (offset, value), time in zip(values.items(), times, strict=True):
        s.send(value, offset, at=(time - 10, time), partition=partition)
    return s.final(values, end=len(times), partition=partition)


def answered_at(s: Any, *times: int, position: int) -> Any:
    """The outputs of the first inputs; at 20 s all are read."""
    for offset, time in enumerate(times):
        output(s, offset, offset, written=time)
    s.now = 20 * S
    return application(s, position=position)


def application_stood_still(s: Any) -> Any:
    """The second input waits from 1 s on."""
    return answered_at(fed_at(s, S // 2, S), S // 2 + 10, 2 * S + 1, position=2)


def went_on_after_a_second(s: Any) -> Any:
    return answered_at(fed_at(s, S // 2, S), S // 2 + 10, 2 * S, position=2)


def stood_still_since_the_output_before(s: Any) -> Any:
    """Not since the input was fed."""
    return answered_at(fed_at(s, S, S), 5 * S, 6 * S + 1, position=2)


def had_nothing_to_do(s: Any) -> Any:
    return answered_at(fed_at(s, S // 2, 9 * S), S // 2 + 10, 9 * S + 10, position=2)


def a_later_input_overtakes(s: Any) -> Any:
    """The first one waits, and the application writes other outputs meanwhile."""
    return answered_at(fed_at(s, S, S, S), 3 * S, 2 * S, S + 10, position=3)


def never_answered(s: Any) -> Any:
    return answered_at(fed_at(s, S, 10 * S), S + 10, position=1)


def passed_without_an_answer(s: Any) -> Any:
    return answered_at(fed_at(s, S, 10 * S), S + 10, position=2)


def one_partition_stood_still(s: Any) -> Any:
    """The outputs of the other one are no outputs of this one."""
    fed_at(fed_at(s, S, S), 2 * S, partition=1)
    for at, (value, written) in enumerate(((ONE, S + 10), (ONE + 1000, 2 * S + 10), (ONE + 1, 3 * S))):
        output(s, at, value - ONE, written=written)
    application(s, position=2)
    return application(s, position=1, partition=1)


def outputs_have_the_times_of_inputs(s: Any) -> Any:
    """The committed positions show that it stood still before the second one."""
    fed_at(s, S, S + 20), watched(s, S + 30, "app:0", 1), watched(s, 3 * S, "app:0", 2)
    return answered_at(s, S - 10, S + 10, position=2)


def outputs_have_the_times_of_inputs_and_positions_go_on(s: Any) -> Any:
    fed_at(s, S, S + 20), watched(s, S + 30, "app:0", 1), watched(s, 2 * S + 20, "app:0", 2)
    return answered_at(s, S - 10, S + 10, position=2)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    application_stood_still: {"standstill": 1},
    went_on_after_a_second: {},
    stood_still_since_the_output_before: {"standstill": 2},
    had_nothing_to_do: {},
    a_later_input_overtakes: {},
    never_answered: {"standstill": 1, "unprocessed-input": 1},
    passed_without_an_answer: {"missing-output": 1},
    one_partition_stood_still: {"standstill": 1},
    outputs_have_the_times_of_inputs: {"standstill": 1},
    outputs_have_the_times_of_inputs_and_positions_go_on: {},
}
