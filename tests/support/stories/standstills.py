"""Histories of an application that writes nothing for a while, and near misses: the bound is 1 s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.pipelines import ONE, application, output, watched

S = 1_000_000_000


def fed_at(s: Any, *times: int, topic: str = "t", partition: int = 0) -> Any:
    """Inputs, acknowledged at these times."""
    first = ONE + 1000 * partition + (2000 if topic != "t" else 0)
    values = {offset: first + offset for offset in range(len(times))}
    for (offset, value), time in zip(values.items(), times, strict=True):
        s.send(value, offset, at=(time - 10, time), topic=topic, partition=partition)
    return s.final(values, end=len(times), topic=topic, partition=partition)


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


def by_positions(s: Any, *times: int, guarantee: str = "at-least-once") -> Any:
    """The positions behind two inputs, fed at 1 s, were committed at these times; no output has a timestamp."""
    fed_at(s, S, S + 20)
    for position, time in enumerate(times, 1):
        watched(s, time, "app:0", position)
    s.now = 20 * S
    return application(s, guarantee, position=2)


def aggregates_stood_still(s: Any) -> Any:
    """Their outputs name no input."""
    return by_positions(s, S + 30, 3 * S, guarantee="aggregate")


def aggregates_went_on(s: Any) -> Any:
    return by_positions(s, S + 30, 2 * S + 30, guarantee="aggregate")


def stood_still_by_half_of_the_outputs(s: Any) -> Any:
    """One of two outputs has the time of its input, so that the timestamps count."""
    fed_at(s, S, 4 * S), watched(s, S + 30, "app:0", 1), watched(s, 4 * S + 30, "app:0", 2)
    return answered_at(s, 3 * S, 4 * S - 10, position=2)


def went_on_by_positions_as_less_than_half_of_the_outputs_are_later(s: Any) -> Any:
    """Of three outputs, two have the time of their input."""
    fed_at(s, S, 4 * S, 4 * S), watched(s, S + 30, "app:0", 1), watched(s, 4 * S + 30, "app:0", 3)
    return answered_at(s, 3 * S, 4 * S - 10, 4 * S - 10, position=3)


def stood_still_by_outputs_as_early_as_acknowledgements(s: Any, early: int = 0) -> Any:
    """Of three outputs, one is older than the acknowledgement of its input, and one is as old."""
    fed_at(s, S, S, S), watched(s, S + 30, "app:0", 3)
    return answered_at(s, S - early, S - 10, 3 * S, position=3)


def went_on_by_positions_as_two_outputs_are_earlier(s: Any) -> Any:
    return stood_still_by_outputs_as_early_as_acknowledgements(s, early=1)


def of_two_topics(s: Any, passed_at: int) -> Any:
    """An application reads a log of each. The one of topic u, in which nothing waits, was passed at once."""
    fed_at(s, S), fed_at(s, S, topic="u"), watched(s, S + 30, "app:0", 1, topic="u")
    watched(s, passed_at, "app:0", 1)
    s.now = 20 * S
    return application(application(s, "aggregate", position=1), "aggregate", position=1, topic="u")


def one_topic_stood_still(s: Any) -> Any:
    """The positions of the other one are no positions of this one."""
    return of_two_topics(s, 3 * S)


def both_topics_went_on(s: Any) -> Any:
    return of_two_topics(s, 2 * S)


def beside_a_marker(s: Any, passed_at: int) -> Any:
    """The position moves past a marker at offset 1, and then past the input behind it."""
    s.send(ONE, 0, at=(S - 10, S)).send(ONE + 2, 2, at=(S, S + 20)).final({0: ONE, 2: ONE + 2}, end=3)
    watched(s, S + 30, "app:0", 1), watched(s, 2 * S, "app:0", 2), watched(s, passed_at, "app:0", 3)
    s.now = 20 * S
    return application(s, "aggregate", position=3)


def stood_still_before_an_input_behind_a_marker(s: Any) -> Any:
    """That a position has moved past a marker answers no input."""
    return beside_a_marker(s, 3 * S)


def went_on_behind_a_marker(s: Any) -> Any:
    return beside_a_marker(s, 2 * S + 30)


def an_input_of_unknown_offset_is_lost(s: Any) -> Any:
    """It was sent with acks=0, so that nothing shows whether the application passed it."""
    return answered_at(fed_at(s, S).send(ONE + 1, None, at=(S, S + 10)), S + 10, position=1)


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
    aggregates_stood_still: {"standstill": 1},
    aggregates_went_on: {},
    stood_still_by_half_of_the_outputs: {"standstill": 1},
    went_on_by_positions_as_less_than_half_of_the_outputs_are_later: {},
    stood_still_by_outputs_as_early_as_acknowledgements: {"standstill": 1},
    went_on_by_positions_as_two_outputs_are_earlier: {},
    one_topic_stood_still: {"standstill": 1},
    both_topics_went_on: {},
    stood_still_before_an_input_behind_a_marker: {"standstill": 1},
    went_on_behind_a_marker: {},
    an_input_of_unknown_offset_is_lost: {"unseen": 1},
}
