"""Histories in which a reader stops for good while others go on, and near misses.

Times in s. The load goes from 1 to 41 s, with one record per second at offsets 0 to 40. A reader's limit is 10 s.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from tests.support.stories.groups import S

ONE = 1 << 40  # the values of process 1 start here
LIMIT = 10
STUCK, OTHER = 5, 6
EVERY = range(41)


def at(began: float, lasted: float = 0.1) -> tuple[int, int]:
    return round(began * S), round((began + lasted) * S)


def run(
    s: Any, *, first: str = "stopped", limit: float | None = LIMIT, stop: float = 43, final: float | None = 42
) -> Any:
    """The producer, and the rows of the harness. first: how the reader ends that will be stuck."""
    for process, ended in ((STUCK, first), (OTHER, "stopped")):
        value: dict[str, Any] = {"role": "reader", "process": process}
        limits = {} if limit is None else {"poll_limit": limit}
        s.harness("worker", value | {"event": "started"} | limits, at=at(0))
        if ended:
            s.harness("worker", value | {"event": ended}, at=at(stop))
    if final is None:
        s.has_phases = False
    else:
        s.harness("phase", {"phase": "final"}, at=at(final))
    for number in EVERY:
        s.send(ONE + number, number, at=at(number + 1))
    return s


def reads(s: Any, process: int, offsets: Iterable[int], **more: Any) -> Any:
    """Half a second after each was sent."""
    for offset in offsets:
        s.poll(ONE + offset, offset, process=process, at=at(offset + 1.5), **more)
    return s


def ended(s: Any, *, start: int = 0, end: int = 41, **more: Any) -> Any:
    s.now = 50 * S
    return s.final({n: ONE + n for n in range(start, end)}, start=start, end=end, **more)


def fault(s: Any, began: float, healed: float | None, *, event: str = "e1") -> Any:
    for stage, time in (("inject", began), ("heal", healed)):
        if time is not None:
            value = {"event": event, "stage": stage, "target": "leader", "nodes": [2], "effective": True}
            more: dict[str, Any] = {"process": -1, "type": "info", "topic": None, "partition": None}
            s.operation("isolate", value=json.dumps(value), at=at(time), **more)
    return s


def stopped_while_another_read_on(s: Any) -> Any:
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    return ended(s)


def stopped_in_one_of_two_partitions(s: Any) -> Any:
    """Of the other partition, it got all."""
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    s.send(2 << 40, 0, partition=1, at=at(40)).poll(2 << 40, 0, partition=1, process=STUCK, at=at(41))
    return ended(s).final({0: 2 << 40}, end=1, partition=1)


def stopped_alone(s: Any) -> Any:
    """The acknowledgements and the final read show that there was more."""
    return ended(reads(run(s), STUCK, range(12)))


def stopped_before_the_half_of_a_short_load(s: Any) -> Any:
    """Without faults, half of the load counts if it is shorter than the limit."""
    reads(reads(run(s, limit=30), STUCK, range(12)), OTHER, EVERY)
    return ended(s)


def stopped_between_two_faults(s: Any) -> Any:
    reads(reads(run(s), STUCK, range(6)), OTHER, EVERY)
    return ended(fault(fault(s, 2, 8), 30, 41.5, event="e2"))


def stopped_as_a_reader_of_committed_records(s: Any) -> Any:
    reads(reads(run(s), STUCK, range(12), committed=True), OTHER, EVERY, committed=True)
    return ended(s)


def stopped_before_it_was_stopped(s: Any) -> Any:
    """The run has no final phase."""
    reads(reads(run(s, final=None), STUCK, range(12)), OTHER, EVERY)
    return s


def stopped_at_the_start_of_the_log(s: Any) -> Any:
    """The next record that it had to get is the first that is left."""
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    return ended(s, start=12)


def read_to_the_end(s: Any) -> Any:
    """The load had ended, and everything was read."""
    reads(reads(run(s, stop=90, final=90), STUCK, EVERY), OTHER, EVERY)
    s.now = 91 * S
    return s.final({n: ONE + n for n in EVERY}, end=41)


def behind_for_exactly_its_limit(s: Any) -> Any:
    """The next record was acknowledged at 13.1 s, and the fault began 10 s later."""
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    return ended(fault(s, 23.1, 41.5))


def after_a_fault_the_whole_limit_counts(s: Any) -> Any:
    reads(reads(run(s, limit=30), STUCK, range(12)), OTHER, EVERY)
    return ended(fault(s, 2, 3))


def slow_and_reading_until_the_end(s: Any) -> Any:
    """At the end it lacks more than half, and is still getting records."""
    reads(run(s), OTHER, EVERY)
    for offset in range(18):
        s.poll(ONE + offset, offset, process=STUCK, at=at(2 + 2.2 * offset))
    return ended(s)


def jumped_back_and_reading(s: Any) -> Any:
    """It reads a part of the log again and again."""
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    for again in range(12, 40, 4):
        s.poll(ONE + 2, 2, process=STUCK, assignment=again, at=at(again + 1))
    return ended(s)


def not_back_since_the_fault(s: Any) -> Any:
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    return ended(fault(s, 13, 34))


def not_back_since_the_recovery(s: Any) -> Any:
    """The cluster needed 20 s to recover from the fault."""
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    s.harness("recovery", {"problem": None, "limit": 60}, at=at(14, 20))
    return ended(fault(s, 13, 14))


def not_recovered(s: Any) -> Any:
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    s.harness("recovery", {"problem": "none", "limit": 1}, type="info", at=at(14, 1))
    return ended(fault(s, 13, 14))


def faults_one_after_the_other(s: Any) -> Any:
    """No time between two of them is long enough. The second lasts longer than the third."""
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    for number, (began, healed) in enumerate(((13, 14), (16, 34), (17, 18))):
        fault(s, began, healed, event=f"e{number}")
    return ended(s)


def under_a_fault_that_was_not_healed(s: Any) -> Any:
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    return ended(fault(s, 13, None))


def others_got_nothing_either(s: Any) -> Any:
    """The partition was not available from 15 to 37 s."""
    readable = [*range(14), *range(36, 41)]
    reads(reads(run(s), STUCK, range(12)), OTHER, readable)
    s.records = [row for row in s.records if row["offset"] in readable]
    s.now = 50 * S
    return s.final({n: ONE + n for n in readable}, end=41)


def behind_an_open_transaction(s: Any) -> Any:
    """Only readers of uncommitted records got on."""
    reads(reads(run(s), STUCK, range(12), committed=True), OTHER, EVERY)
    return ended(s)


def killed_reader(s: Any) -> Any:
    reads(reads(run(s, first="killed"), STUCK, range(12)), OTHER, EVERY)
    return ended(s)


def reader_without_a_recorded_end(s: Any) -> Any:
    reads(reads(run(s, first=""), STUCK, range(12)), OTHER, EVERY)
    return ended(s)


def reader_without_a_stated_limit(s: Any) -> Any:
    """It may have read all that it wanted."""
    reads(reads(run(s, limit=None), STUCK, range(12)), OTHER, EVERY)
    return ended(s)


def reader_that_the_run_stopped_early(s: Any) -> Any:
    reads(reads(run(s, stop=20), STUCK, range(12)), OTHER, EVERY)
    return ended(s)


def member_of_a_group(s: Any) -> Any:
    reads(reads(run(s), STUCK, range(12), generation=1), OTHER, EVERY)
    return ended(s)


def stopped_below_the_start_of_the_log(s: Any) -> Any:
    """Records were deleted before it got there."""
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    return ended(s, start=13)


def stopped_below_the_start_that_a_broker_reported(s: Any) -> Any:
    reads(reads(run(s), STUCK, range(12)), OTHER, EVERY)
    s.observations.append({
        "process": 900, "time": 14 * S, "asked": 14 * S, "kind": "partition", "topic": "t", "partition": 0,
        "node": 1, "leader": -1, "leader_epoch": 0, "log_start": 13,
    })  # fmt: skip
    return s


def acknowledged_and_nowhere_at_the_end(s: Any) -> Any:
    """Nobody shows that there was more to read: everything behind it was lost."""
    return ended(reads(run(s), STUCK, range(12)), end=12)


STALLED: tuple[Callable[[Any], Any], ...] = (
    stopped_while_another_read_on,
    stopped_in_one_of_two_partitions,
    stopped_alone,
    stopped_before_the_half_of_a_short_load,
    stopped_between_two_faults,
    stopped_as_a_reader_of_committed_records,
    stopped_before_it_was_stopped,
    stopped_at_the_start_of_the_log,
)

PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    **{make: {"stalled-reader": 1} for make in STALLED},
    read_to_the_end: {},
    behind_for_exactly_its_limit: {},
    after_a_fault_the_whole_limit_counts: {},
    slow_and_reading_until_the_end: {},
    jumped_back_and_reading: {},
    not_back_since_the_fault: {},
    not_back_since_the_recovery: {},
    not_recovered: {},
    faults_one_after_the_other: {},
    under_a_fault_that_was_not_healed: {},
    others_got_nothing_either: {},
    behind_an_open_transaction: {},
    killed_reader: {},
    reader_without_a_recorded_end: {},
    reader_without_a_stated_limit: {},
    reader_that_the_run_stopped_early: {},
    member_of_a_group: {},
    stopped_below_the_start_of_the_log: {},
    stopped_below_the_start_that_a_broker_reported: {},
    acknowledged_and_nowhere_at_the_end: {"lost-write": 29},
}
