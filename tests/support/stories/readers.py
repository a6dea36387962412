"""Histories in which a reader stops for good, and near misses: what others got, and what the run recorded of it.

Times are as in `tests.support.stories.stalls`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import S
from tests.support.stories.stalls import EVERY, LIMIT, ONE, OTHER, STUCK, at, ended, fault, reads, run

OWN = STUCK << 40  # the values of the stuck reader start here


def stuck(s: Any, *, limit: float = LIMIT) -> Any:
    """One reader stops at offset 11, another one reads on."""
    return reads(reads(run(s, limit=limit), STUCK, range(12)), OTHER, EVERY)


def stopped_as_a_reader_of_both_kinds(s: Any) -> Any:
    """It may read committed records only, and be held back by the last stable offset."""
    reads(reads(run(s), STUCK, range(11)), STUCK, [11], committed=True)
    return ended(reads(s, OTHER, EVERY))


def stopped_in_polls_without_a_mark(s: Any) -> Any:
    """Polls that are not marked belong to no final read."""
    reads(reads(run(s), STUCK, range(12), final=None), OTHER, EVERY)
    return ended(s)


def stopped_and_read_the_log_at_the_end(s: Any) -> Any:
    return ended(stuck(s), process=STUCK, assignment=2)


def stopped_and_went_on_to_write(s: Any) -> Any:
    stuck(s).send(OWN, 41, at=at(41.2)).now = 50 * S
    return s.final({n: ONE + n for n in EVERY} | {41: OWN}, end=42)


def stopped_after_the_recovery(s: Any) -> Any:
    fault(stuck(s), 13, 14).harness("recovery", {"problem": None, "limit": 60}, at=at(14, 2))
    return ended(s)


def stopped_before_the_first_fault(s: Any) -> Any:
    """Agreement of the brokers was checked before any fault, so that half of the load counts."""
    stuck(s, limit=30).harness("recovery", {"problem": None, "limit": 60}, at=at(0.2))
    return ended(s)


def stopped_until_the_first_fault(s: Any) -> Any:
    """It began in the nanosecond in which the other reader got its last record."""
    return ended(fault(stuck(s, limit=30), 41.6, 41.7))


def stopped_in_a_run_with_all_phases(s: Any) -> Any:
    stuck(s)
    for time, phase in ((0.5, "steady"), (13, "faults"), (14, "recovery")):
        s.harness("phase", {"phase": phase}, at=at(time))
    return ended(s)


def stopped_in_a_run_without_sends(s: Any) -> Any:
    """The limit is the one that the reader stated. All that was read is unknown."""
    stuck(s)
    s.records = [row for row in s.records if row["f"] == "poll"]
    return s


def stopped_and_the_last_record_was_lost(s: Any) -> Any:
    """Nobody got the last record that was acknowledged."""
    reads(reads(run(s), STUCK, range(12)), OTHER, range(40)).now = 50 * S
    return s.final({n: ONE + n for n in range(40)}, end=41)


def stopped_and_the_end_was_lost(s: Any) -> Any:
    """Acknowledgements from the end of the final read on do not count."""
    reads(reads(run(s), STUCK, range(12)), OTHER, range(38))
    return ended(s, end=38)


def stopped_and_the_final_read_followed_at_once(s: Any) -> Any:
    """The time counts in which others read before the reader was stopped."""
    stuck(s).now = 42 * S
    return s.final({n: ONE + n for n in EVERY}, end=41)


def after_the_first_fault_the_whole_limit_counts(s: Any) -> Any:
    """Another fault began when the load was over."""
    return ended(fault(fault(stuck(s, limit=30), 2, 3), 41.8, 41.9, event="e2"))


def only_the_final_read_got_more(s: Any) -> Any:
    """None of the later sends was acknowledged."""
    for row in reads(run(s), STUCK, range(12)).records:
        if row["f"] == "send" and row["offset"] >= 12:
            row |= {"offset": None, "type": "info"}
    return ended(s)


def only_aborted_records_followed(s: Any) -> Any:
    for row in reads(run(s), STUCK, range(12)).records:
        if row["f"] == "send" and row["offset"] >= 12:
            row |= {"type": "fail", "transaction": 7}
    s.now = 50 * S
    return s.final({n: ONE + n for n in range(12)}, end=41, committed=True)


def others_went_on(s: Any, **elsewhere: Any) -> Any:
    """In another log, at higher offsets."""
    stuck(s).now = 50 * S
    for row in s.records:
        if row["offset"] >= 12:
            row |= elsewhere
    s.final({n: ONE + n for n in range(12)}, end=12)
    return s.final({n: ONE + n for n in range(12, 41)}, start=12, end=41, **elsewhere)


def others_went_on_in_another_topic(s: Any) -> Any:
    return others_went_on(s, topic="u")


def others_went_on_in_another_partition(s: Any) -> Any:
    return others_went_on(s, partition=1)


def stopped_below_the_start_that_a_broker_reported_last(s: Any) -> Any:
    for log_start, time in ((0, 1), (13, 14)):
        s.observations.append({
            "process": 900, "time": time * S, "asked": time * S, "kind": "partition", "topic": "t", "partition": 0,
            "node": 1, "leader": -1, "leader_epoch": 0, "log_start": log_start,
        })  # fmt: skip
    return ended(stuck(s))


STALLED: tuple[Callable[[Any], Any], ...] = (
    stopped_in_polls_without_a_mark,
    stopped_and_read_the_log_at_the_end,
    stopped_and_went_on_to_write,
    stopped_after_the_recovery,
    stopped_before_the_first_fault,
    stopped_until_the_first_fault,
    stopped_in_a_run_with_all_phases,
    stopped_and_the_final_read_followed_at_once,
)

PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    **{make: {"stalled-reader": 1} for make in STALLED},
    stopped_in_a_run_without_sends: {"stalled-reader": 1, "phantom-read": 41},
    stopped_and_the_last_record_was_lost: {"stalled-reader": 1, "lost-write": 1},
    stopped_and_the_end_was_lost: {"stalled-reader": 1, "lost-write": 3},
    stopped_as_a_reader_of_both_kinds: {},
    after_the_first_fault_the_whole_limit_counts: {},
    only_the_final_read_got_more: {"unavailable": 1},
    only_aborted_records_followed: {"unavailable": 1},
    others_went_on_in_another_topic: {},
    others_went_on_in_another_partition: {},
    stopped_below_the_start_that_a_broker_reported_last: {},
}
