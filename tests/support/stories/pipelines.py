"""Histories of an application between two topics: missing, repeated, reordered and invented outputs, near misses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

ONE = 1 << 40  # values of process 1, which feeds
KEY = 7


def fed(s: Any, count: int = 3, *, found: int | None = None, key: int | None = KEY) -> Any:
    """Inputs at the offsets 0, 1, ..., of which the final read found so many."""
    for offset in range(count):
        s.send(ONE + offset, offset, at=(offset + 1, offset + 2), key=key)
    found = count if found is None else found
    return s.final({offset: ONE + offset for offset in range(found)}, end=found)


def output(
    s: Any, at: int, *of: int | None, partition: int = 0, topic: str = "o", written: int | None = None
) -> Any:
    """A record of the sink that names the inputs at these offsets; None: something else."""
    for offset in of:
        about = {
            "source": None if offset is None else ONE + offset,
            "written": 100 + at if written is None else written,
        }
        s.operation(
            "output", process=8, topic=topic, partition=partition, start_offset=at, value=json.dumps(about)
        )
    return s


def application(
    s: Any, guarantee: str = "at-least-once", *, position: int | None = None, kind: str = "ok",
    sink: str = "o", topic: str = "t", partition: int = 0, isolation: str | None = None,
) -> Any:  # fmt: skip
    value = json.dumps(
        {"sink": sink, "guarantee": guarantee} | ({"isolation": isolation} if isolation else {})
    )
    return s.operation(
        "pipeline",
        process=8,
        type=kind,
        topic=topic,
        partition=partition,
        end_offset=position,
        group="a",
        value=value,
    )


def fed_elsewhere(s: Any, value: int, offset: int, *, key: int | None = KEY, **log: Any) -> Any:
    """An input of another log, which the final read found."""
    s.send(value, offset, at=(offset + 1, offset + 2), key=key, **log)
    return s.final({offset: value}, start=offset, end=offset + 1, **log)


def made(s: Any, *of: int, **more: Any) -> Any:
    """One output each, at the offsets 0, 1, ..."""
    for at, offset in enumerate(of):
        output(s, at, offset, **more)
    return s


def watched(
    s: Any, time: int, owner: str | None, position: int | None = None, *, topic: str = "t", partition: int = 0,
    kind: str = "group",
) -> Any:  # fmt: skip
    """The coordinator of the application's group reported this."""
    value = json.dumps({"group": "a", "owner": owner, "member": owner and f"m-{owner}", "position": position})
    s.observations.append({
        "process": 8, "time": time, "asked": time - 1, "kind": kind, "topic": topic, "partition": partition,
        "node": 1, "value": value,
    })  # fmt: skip
    return s


def logged(
    s: Any, time: int, *, position: int | None = None, owner: str | None = None, transaction: int | None = None,
    partition: int = 0,
) -> Any:  # fmt: skip
    """The coordinator wrote down a commit or, without a position, who has the log from now on."""
    value: dict[str, Any] = {"group": "a"}
    if position is not None:
        value |= {"position": position, "transaction": transaction}
    else:
        value |= {"owner": owner, "member": owner and f"m-{owner}", "generation": 1, "session_timeout": 6000}
    s.observations.append({
        "process": 8, "time": time, "kind": "group_log", "topic": "t", "partition": partition, "node": 1,
        "value": json.dumps(value),
    })  # fmt: skip
    return s


def each_has_an_output(s: Any) -> Any:
    return application(made(fed(s), 0, 1, 2), "exactly-once", position=3)


def one_without_an_output(s: Any) -> Any:
    """Of two inputs without an output, both lie below the committed position."""
    return application(made(fed(s, 4), 0, 2), position=4)


def passed_as_a_later_output_shows(s: Any) -> Any:
    return application(made(fed(s), 0, 2), "order-per-key")


def without_an_output_in_exactly_once(s: Any) -> Any:
    return application(made(fed(s), 0, 1), "exactly-once", position=3)


def lost_at_most_once(s: Any) -> Any:
    return application(made(fed(s), 0, 2), "at-most-once", position=3)


def not_reached_at_most_once(s: Any) -> Any:
    return application(made(fed(s), 0, 1), "at-most-once", position=2)


def above_the_position(s: Any) -> Any:
    """The position is that of the first of the two, which comes next."""
    return application(made(fed(s, 4), 0, 1), position=2)


def a_later_output_below_the_position(s: Any) -> Any:
    """The group has committed offset 1, so it gets the input again, although a later one has its output."""
    return application(made(fed(s), 0, 2), position=1)


def behind_the_last_output(s: Any) -> Any:
    """Without a position, nothing shows whether the application has passed it."""
    return application(made(fed(s), 0, 1))


def no_outputs_and_no_position(s: Any) -> Any:
    return application(output(fed(s, 2), 0, 9, topic="p"), sink="o")


def fed_and_lost(s: Any) -> Any:
    """The final read of the source does not find it: that is no fault of the application."""
    return application(made(fed(s, 3, found=2), 0, 1), position=3)


def outputs_that_are_not_all_known(s: Any) -> Any:
    return application(made(fed(s), 0), "exactly-once", position=3, kind="info")


def of_unknown_outcome(s: Any) -> Any:
    """The final read found the input, so that it counts."""
    s.send(ONE + 3, None, at=(4, 5), type="info")
    fed(s, 3)
    s.poll(ONE + 3, 3, process=99, final=True)
    s.operations[-1]["end_offset"] = 4
    return application(made(s, 0, 1, 2), position=4)


def made_twice(s: Any, guarantee: str = "exactly-once") -> Any:
    return application(output(made(fed(s), 0, 1, 2), 5, 1), guarantee, position=3)


def made_twice_at_most_once(s: Any) -> Any:
    """Three outputs of one input, in two partitions."""
    return made_twice(output(s, 0, 1, partition=1), "at-most-once")


def made_twice_at_least_once(s: Any) -> Any:
    return made_twice(s, "at-least-once")


def made_twice_in_order(s: Any) -> Any:
    """The application went back: the first outputs of a key are in order."""
    fed(s)
    made(s, 0, 1, 0, 1, 2)
    return application(s, "order-per-key", position=3)


def made_of_an_input_that_is_there_twice(s: Any) -> Any:
    fed(s)
    s.poll(ONE + 1, 3, process=99, final=True)
    s.operations[-1]["end_offset"] = 4
    return application(output(made(s, 0, 1, 2), 3, 1), "exactly-once", position=4)


def made_in_another_topic_as_well(s: Any) -> Any:
    """What another application makes of it."""
    return application(output(made(fed(s), 0, 1, 2), 5, 1, topic="p"), "exactly-once", position=3)


def one_output_of_several_inputs(s: Any) -> Any:
    """And one that names the same input two times."""
    output(fed(s), 0, 0, 1)
    return application(output(s, 1, 2, 2), "exactly-once", position=3)


def in_another_order(s: Any, guarantee: str = "order-per-key") -> Any:
    """The second and the third come after the fourth."""
    return application(made(fed(s, 4), 0, 3, 1, 2), guarantee, position=4)


def in_another_order_at_least_once(s: Any) -> Any:
    return in_another_order(s, "at-least-once")


def several_keys_in_another_order(s: Any) -> Any:
    """Each key is in order. Some inputs have no key."""
    for offset, key in enumerate((1, 2, 1, 2, None, None)):
        s.send(ONE + offset, offset, at=(offset + 1, offset + 2), key=key)
    s.final({offset: ONE + offset for offset in range(6)}, end=6)
    return application(made(s, 1, 3, 0, 2, 5, 4), "order-per-key", position=6)


def one_key_in_two_partitions(s: Any) -> Any:
    """Between partitions of the sink, there is no order."""
    output(fed(s), 9, 0)
    output(output(s, 3, 1, partition=1), 4, 2, partition=1)
    return application(s, "order-per-key", position=3)


def several_of_a_key_in_one_output(s: Any) -> Any:
    return application(output(output(fed(s), 0, 2, 1), 1, 0, 2), "order-per-key", position=3)


def inputs_of_two_partitions_in_another_order(s: Any) -> Any:
    """The offsets of two logs have no order between them, though the keys are the same."""
    found = {}
    for offset, key in enumerate((None, None, KEY)):
        s.send(ONE + 10 + offset, offset, at=(offset + 1, offset + 2), key=key, partition=1)
        found[offset] = ONE + 10 + offset
    s.final(found, end=3, partition=1)
    application(made(fed(s, 2), 12, 0, 1, 10, 11), "order-per-key", position=2)
    return application(s, "order-per-key", position=3, partition=1)


def of_nothing(s: Any) -> Any:
    """One names nothing, one an input that was never sent, one also an input that was."""
    output(made(fed(s), 0, 1, 2), 3, None)
    output(s, 4, 77)
    return application(output(s, 5, 1, 78), position=3)


def of_an_input_that_was_refused(s: Any) -> Any:
    """The history has the refused send, so the output is not invented."""
    s.send(ONE + 3, None, at=(4, 5), type="fail")
    return application(output(made(fed(s), 0, 1, 2), 3, 3), position=3)


def of_nothing_in_another_topic(s: Any) -> Any:
    return application(output(made(fed(s), 0, 1, 2), 3, None, topic="p"), position=3)


def handed_over(s: Any, *, partition: int = 0) -> Any:
    """app:0, a rebalance, app:1, and a rebalance at the end. What other probes say of the log is nothing about it."""
    for time, owner, position in (
        (60, "app:1", 2), (2, "app:0", None), (20, "app:0", 1), (30, None, 2), (90, "app:1", 4), (300, None, 4),
    ):  # fmt: skip
        watched(s, time, owner, position, partition=partition)
    watched(s, 91, "app:7", 9, partition=partition + 1)
    return watched(s, 92, "app:8", 9, kind="other", partition=partition)


def missing_before_and_after_a_handover(s: Any) -> Any:
    """app:0 passed the second input, app:1 the third."""
    return application(made(handed_over(fed(s, 4)), 0, 3), "exactly-once", position=4)


def missing_and_nothing_after_it(s: Any) -> Any:
    return application(made(handed_over(fed(s, 4)), 0, 1, 2), position=4)


def missing_without_a_position_in_time(s: Any) -> Any:
    """The group was watched until the position was 2; the third input had an owner when it was fed."""
    fed(s, 5)
    watched(watched(watched(s, 2, "app:0"), 4, "app:1", 2), 6, "app:2", 2)
    return application(made(s, 0, 1, 4), position=5)


def missing_and_watched_too_late(s: Any) -> Any:
    """Nobody is known to have had the log when the input was fed."""
    return application(made(watched(fed(s), 200, "app:0"), 0, 2))


def not_reached_after_a_handover(s: Any) -> Any:
    return application(made(handed_over(fed(s, 5)), 0, 1, 2), position=4)


def made_by_two_owners(s: Any) -> Any:
    """The first output at 21, the second at 61."""
    handed_over(made(fed(s), 0, 2))
    output(output(s, 5, 1, written=21), 6, 1, written=61)
    return application(s, "exactly-once", position=3)


def made_twice_in_a_rebalance(s: Any) -> Any:
    handed_over(made(fed(s), 0, 2))
    output(output(s, 5, 1, written=1), 6, 1, written=30)
    return application(s, "at-most-once", position=3)


def overtaken_after_a_handover(s: Any) -> Any:
    """The second is written by app:0, the third by app:1, which is the later owner."""
    handed_over(fed(s, 4))
    output(output(s, 0, 0, written=20), 1, 3, written=40)
    output(output(s, 2, 1, written=59), 3, 2, written=60)
    return application(s, "order-per-key", position=4)


def several_logs_that_have_owners(s: Any) -> Any:
    """Of each log its own."""
    fed(s, 4)
    s.send(ONE + 20, 0, at=(1, 2), partition=1).send(ONE + 21, 1, at=(2, 3), partition=1)
    s.final({0: ONE + 20, 1: ONE + 21}, end=2, partition=1)
    watched(handed_over(s), 1, "app:5", 0, partition=1)
    application(made(s, 0, 1, 3, 21), position=4)
    return application(s, position=2, partition=1)


def a_second_topic_whose_outputs_go_on(s: Any) -> Any:
    """Nothing shows whether the application has passed the last input of the first topic. It has passed the second
    one, and the first one of the other topic, of which the next output was written earlier."""
    fed(s, 4)
    fed_elsewhere(s, ONE + 30, 4, topic="u")
    fed_elsewhere(s, ONE + 31, 5, topic="u")
    made(s, 0, 2)
    output(s, 7, 31, written=50)
    application(s, "order-per-key")
    return application(s, "order-per-key", topic="u")


def a_second_partition_whose_outputs_go_on(s: Any) -> Any:
    fed(s, 4)
    fed_elsewhere(s, ONE + 30, 4, partition=1)
    fed_elsewhere(s, ONE + 31, 5, partition=1)
    made(s, 0, 2)
    output(s, 7, 31, written=50)
    application(s, "order-per-key")
    return application(s, "order-per-key", partition=1)


def passed_long_before_the_last_output(s: Any) -> Any:
    """Two outputs of later inputs; the first of them says when the application had gone on."""
    fed(s, 4)
    output(output(output(s, 0, 0, written=20), 1, 2, written=40), 2, 3, written=160)
    return application(s, position=4)


def inputs_of_two_topics_in_another_order(s: Any) -> Any:
    """The offsets of two logs have no order between them, though the keys are the same."""
    fed(s, 2)
    fed_elsewhere(s, ONE + 30, 4, topic="u")
    output(output(output(s, 0, 30), 1, 0), 2, 1)
    application(s, "order-per-key", position=2)
    return application(s, "order-per-key", position=5, topic="u")


def in_order_before_a_repetition(s: Any) -> Any:
    """The first input has a second output behind those of the others."""
    return application(made(fed(s), 0, 1, 2, 0), "order-per-key", position=3)


def acknowledged_at_other_offsets(s: Any) -> Any:
    """The final read says where the inputs lie: the second and the third without outputs are above the position."""
    for offset, (acknowledged, found) in enumerate(((0, 0), (1, 5), (9, 6))):
        s.send(ONE + offset, acknowledged, at=(offset + 1, offset + 2), key=KEY)
        s.final({found: ONE + offset}, start=found, end=found + 1)
    return application(output(s, 0, 0), "exactly-once", position=3)


def repeated_and_acknowledged_at_another_offset(s: Any) -> Any:
    s.send(ONE, 9, at=(1, 2), key=KEY)
    s.final({0: ONE}, end=1)
    return application(made(s, 0, 0), "exactly-once", position=1)


def fed_and_polled_and_lost(s: Any) -> Any:
    """A reader got the input, but not the final read."""
    s.send(ONE, 0, at=(1, 2), key=KEY).send(ONE + 1, 1, at=(2, 3), key=KEY)
    s.poll(ONE, 0).poll(ONE + 1, 1)
    s.final({0: ONE}, end=1)
    return application(output(s, 0, 0), position=2)


def found_in_another_partition(s: Any) -> Any:
    """It was sent to a partition that the application does not read."""
    fed(s, 1)
    s.send(ONE + 20, 0, at=(2, 3), partition=1)
    s.poll(ONE + 20, 1, process=99, final=True, error="misrouted")
    s.operations[-1]["end_offset"] = 2
    return application(output(s, 0, 0), position=2)


def found_and_never_sent(s: Any) -> Any:
    """The final read found it, and nobody is known to have sent it."""
    fed(s, 1)
    s.poll(ONE + 9, 1, process=99, final=True)
    s.operations[-1]["end_offset"] = 2
    return application(output(output(s, 0, 0), 1, 9), position=2)


def found_and_never_sent_without_an_output(s: Any) -> Any:
    """Nobody knows when it was sent: the final read found it after the application had passed it."""
    fed(s, 1)
    s.poll(ONE + 9, 1, process=99, final=True)
    s.operations[-1]["end_offset"] = 2
    return application(output(s, 0, 0), position=2)


def changed_settings_of_the_sink(s: Any) -> Any:
    """Not every operation on the sink is an output."""
    application(made(fed(s), 0, 1, 2), "exactly-once", position=3)
    change = json.dumps({"change": "config", "retention_ms": 3_600_000})
    return s.operation("alter", topic="o", partition=0, start_offset=9, value=change)


def aggregate(
    s: Any, key: str = "key-7", wrong: str | None = None, *, kind: str = "ok", partition: int = 0
) -> Any:  # fmt: skip
    """Of all inputs of a key, judged by a function of the user."""
    about = {
        "sink": "o", "of_key": key, "inputs": 3, "outputs": 2, "wrong": wrong, "fed": 1, "last": "0 at 4",
        "written": 90,
    }  # fmt: skip
    return s.operation(
        "aggregate", process=8, type=kind, topic="t", partition=partition, value=json.dumps(about)
    )


def aggregates_that_are_right(s: Any) -> Any:
    """No output names an input, and the group has passed all of them."""
    return application(aggregate(aggregate(fed(s)), "key-8"), "aggregate", position=3)


def aggregates_that_are_wrong(s: Any) -> Any:
    aggregate(aggregate(fed(s), wrong="2 of 3"), "key-8", "4 of 3", partition=1)
    return application(aggregate(s, "key-9"), "aggregate", position=3)


def an_aggregate_without_the_last_input(s: Any) -> Any:
    return application(aggregate(fed(s)), "aggregate", position=2)


def an_aggregate_that_is_not_known(s: Any) -> Any:
    return application(aggregate(fed(s), wrong="2 of 3", kind="info"), "aggregate", position=3)


def something_else_that_is_wrong(s: Any) -> Any:
    """Not every operation on the source is an aggregate."""
    application(aggregate(fed(s)), "aggregate", position=3)
    return s.operation("alter", topic="t", partition=0, value=json.dumps({"wrong": "retention"}))


def an_aggregate_of_another_key(s: Any) -> Any:
    return application(output(aggregate(fed(s)), 0, None), "aggregate", position=3)


def fed_by_a_transaction(s: Any, outcome: str, *, committed: bool | None = None) -> Any:
    """Two inputs, the second one of a transaction. outcome: of its send. committed: of the final read."""
    s.send(ONE, 0, at=(1, 2), key=KEY).send(ONE + 1, 1, at=(2, 5), key=KEY, type=outcome, transaction=101)
    value = {
        "transactional_id": "x",
        "epoch": 0,
        "outcome": "abort" if outcome == "fail" else "commit",
        "ending": 4,
    }
    kind = "info" if outcome == "info" else "ok"
    s.operation(
        "txn", op=101, process=1, at=(2, 5), type=kind, value=json.dumps(value), topic=None, partition=None
    )
    return s.final({0: ONE, 1: ONE + 1}, end=2, committed=committed)


def aborted_without_an_output(s: Any, isolation: str | None = "read_committed") -> Any:
    return application(
        made(fed_by_a_transaction(s, "fail"), 0), "exactly-once", position=3, isolation=isolation
    )


def aborted_without_an_output_of_unknown_isolation(s: Any) -> Any:
    return aborted_without_an_output(s, None)


def aborted_without_an_output_of_an_application_that_reads_it(s: Any) -> Any:
    return aborted_without_an_output(s, "read_uncommitted")


def aborted_and_not_passed(s: Any) -> Any:
    return application(made(fed_by_a_transaction(s, "fail"), 0), position=1)


def aborted_with_two_outputs(s: Any) -> Any:
    """Whatever it should have got, it made two of one."""
    return application(made(fed_by_a_transaction(s, "fail"), 0, 1, 1), "exactly-once", position=3)


def polled_in_a_transaction_of_unknown_outcome(s: Any) -> Any:
    """By a poll of unknown outcome, which shows no write. Its transaction says nothing about the input."""
    fed(s, found=2).poll(ONE + 2, 2, process=99, final=True, type="info", transaction=101)
    s.operations[-1]["end_offset"] = 3
    return application(made(s, 0, 1), position=3)


def committed_without_an_output(s: Any) -> Any:
    return application(made(fed_by_a_transaction(s, "ok"), 0), position=3, isolation="read_committed")


def unknown_without_an_output(s: Any) -> Any:
    return application(made(fed_by_a_transaction(s, "info"), 0), position=3)


def unknown_and_read_as_committed_without_an_output(s: Any) -> Any:
    return application(made(fed_by_a_transaction(s, "info", committed=True), 0), position=3)


def missing_with_commits_of_the_log(s: Any) -> Any:
    """The watch has the owners alone: what it says of positions does not count."""
    watched(watched(watched(fed(s, 4), 2, "app:0"), 13, "app:2", 4), 40, "app:1", 4)
    logged(logged(s, 12, position=1), 14, position=4)
    return application(made(s, 0), position=4)


def missing_with_owners_of_the_log(s: Any) -> Any:
    """The watch has the positions alone: what it says of owners does not count."""
    watched(watched(watched(fed(s, 4), 2, "app:0"), 39, "app:2"), 40, "app:0", 4)
    logged(logged(s, 1, owner="app:0"), 38, owner="app:1")
    return application(made(s, 0), position=4)


PLANTED: Mapping[Callable[[Any], Any], dict[str, int]] = {
    each_has_an_output: {},
    one_without_an_output: {"missing-output": 2},
    passed_as_a_later_output_shows: {"missing-output": 1},
    without_an_output_in_exactly_once: {"missing-output": 1},
    lost_at_most_once: {},
    not_reached_at_most_once: {"unprocessed-input": 1},
    above_the_position: {"unprocessed-input": 2},
    a_later_output_below_the_position: {"unprocessed-input": 1},
    behind_the_last_output: {"unprocessed-input": 1},
    no_outputs_and_no_position: {"unprocessed-input": 2},
    fed_and_lost: {"lost-write": 1},
    outputs_that_are_not_all_known: {},
    of_unknown_outcome: {"missing-output": 1},
    made_twice: {"duplicate-output": 1},
    made_twice_at_most_once: {"duplicate-output": 1},
    made_twice_at_least_once: {},
    made_twice_in_order: {},
    made_of_an_input_that_is_there_twice: {"duplicate": 1},
    made_in_another_topic_as_well: {},
    one_output_of_several_inputs: {},
    in_another_order: {"reordered-output": 2},
    in_another_order_at_least_once: {},
    several_keys_in_another_order: {},
    one_key_in_two_partitions: {},
    several_of_a_key_in_one_output: {"reordered-output": 1},
    inputs_of_two_partitions_in_another_order: {},
    missing_before_and_after_a_handover: {"missing-output": 2},
    missing_with_commits_of_the_log: {"missing-output": 3},
    missing_with_owners_of_the_log: {"missing-output": 3},
    missing_and_nothing_after_it: {"missing-output": 1},
    missing_without_a_position_in_time: {"missing-output": 2},
    missing_and_watched_too_late: {"missing-output": 1},
    not_reached_after_a_handover: {"missing-output": 1, "unprocessed-input": 1},
    made_by_two_owners: {"duplicate-output": 1},
    made_twice_in_a_rebalance: {"duplicate-output": 1},
    overtaken_after_a_handover: {"reordered-output": 2},
    several_logs_that_have_owners: {"missing-output": 2},
    a_second_topic_whose_outputs_go_on: {"missing-output": 2, "unprocessed-input": 1},
    a_second_partition_whose_outputs_go_on: {"missing-output": 2, "unprocessed-input": 1},
    passed_long_before_the_last_output: {"missing-output": 1},
    inputs_of_two_topics_in_another_order: {},
    in_order_before_a_repetition: {},
    acknowledged_at_other_offsets: {"duplicate": 2, "unprocessed-input": 2},
    repeated_and_acknowledged_at_another_offset: {"duplicate": 1, "duplicate-output": 1},
    fed_and_polled_and_lost: {"lost-write": 1},
    found_in_another_partition: {"foreign-record": 1, "unseen": 1},
    found_and_never_sent: {"phantom-read": 1, "invented-output": 1},
    found_and_never_sent_without_an_output: {"phantom-read": 1, "missing-output": 1},
    changed_settings_of_the_sink: {},
    aggregates_that_are_right: {},
    aggregates_that_are_wrong: {"wrong-aggregate": 2},
    an_aggregate_without_the_last_input: {"unprocessed-input": 1},
    an_aggregate_that_is_not_known: {},
    something_else_that_is_wrong: {},
    an_aggregate_of_another_key: {"invented-output": 1},
    of_nothing: {"invented-output": 3},
    of_an_input_that_was_refused: {},
    of_nothing_in_another_topic: {},
    aborted_without_an_output: {},
    aborted_without_an_output_of_unknown_isolation: {},
    aborted_without_an_output_of_an_application_that_reads_it: {"missing-output": 1},
    aborted_and_not_passed: {},
    aborted_with_two_outputs: {"duplicate-output": 1},
    polled_in_a_transaction_of_unknown_outcome: {"lost-write": 1, "missing-output": 1},
    committed_without_an_output: {"missing-output": 1},
    unknown_without_an_output: {},
    unknown_and_read_as_committed_without_an_output: {"missing-output": 1},
}
