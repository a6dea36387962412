"""Every anomaly planted by hand is found, with what it implies and nothing else; no check can be altered."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import groups_told
import pytest
import transactions_told

from analyzers.bounds import Bounds
from analyzers.catalogue import ANOMALIES
from analyzers.checks import CHECKS, Check
from analyzers.find import find

pytestmark = pytest.mark.spark

ONE = 1 << 40  # values of process 1
TWO = 2 << 40
READ = {"f": "read", "session": 7, "process": 20}


def clean(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(TWO, 2).send(TWO + 1, None, type="info").send(
        TWO + 2, None, type="fail"
    )
    s.poll(ONE, 0).poll(ONE + 1, 1).poll(TWO, 2)
    return s.final({0: ONE, 1: ONE + 1, 2: TWO}, end=3)


def lost_in_the_middle(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2)
    return s.final({0: ONE, 2: ONE + 2}, end=3)


def lost_although_read_before(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).poll(ONE + 1, 1)
    return s.final({0: ONE}, end=1)


def lost_and_replaced(s: Any) -> Any:
    s.send(ONE, 0).send(TWO, 0)
    return s.final({0: TWO}, end=1)


def lost_although_an_earlier_final_read_had_it(s: Any) -> Any:
    s.send(ONE, 0)
    s.poll(ONE, 0, process=98, final=True)
    s.operation("final-read", process=98, type="fail", start_offset=0, end_offset=1)
    return s.final({}, end=1)


def lost_although_another_final_read_had_it(s: Any) -> Any:
    s.send(ONE, 0)
    return s.final({}, end=1).poll(ONE, 0, process=98, final=True)


def lost_although_the_same_client_had_it_before(s: Any) -> Any:
    s.send(ONE, 0).poll(ONE, 0, process=99, final=True)
    return s.final({}, end=1)


def lost_although_the_final_client_polled_it_otherwise(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).final({}, end=2)
    return s.poll(ONE, 0, process=99, final=False).poll(ONE + 1, 1, process=99, final=True, type="info")


def lost_with_a_late_acknowledgement(s: Any) -> Any:
    """Acknowledged after the final read began, but below the end that it was told."""
    return s.send(ONE, 0, at=(1, 90)).send(ONE + 1, 1, at=(2, 3)).final({1: ONE + 1}, end=2)


def lost_at_the_log_start(s: Any) -> Any:
    return s.send(ONE, 5).final({}, start=5, end=6)


def lost_at_no_known_offset(s: Any) -> Any:
    return s.send(ONE, None).final({}, end=0)


def lost_to_a_reader_without_final_read(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1)
    return s.poll(ONE + 1, 1)


def lost_at_the_top_without_final_read(s: Any) -> Any:
    s.send(ONE, 0).send(TWO, 0)
    return s.poll(TWO, 0)


def unseen(s: Any) -> Any:
    return s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0)


def unseen_without_any_read(s: Any) -> Any:
    return s.send(ONE, 0).send(ONE + 1, None)


def unseen_behind_the_final_read(s: Any) -> Any:
    """Acknowledged after the final read had begun and beyond its end: it did not have to be there."""
    return s.send(ONE, 0).final({0: ONE}, end=1).send(ONE + 1, 1)


def read_behind_the_final_read(s: Any) -> Any:
    return s.send(ONE, 0).final({0: ONE}, end=1).send(ONE + 1, 1).poll(ONE + 1, 1)


def expired(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2).send(ONE + 3, 3).poll(ONE, 0).poll(ONE + 1, 1)
    return s.final({3: ONE + 3}, start=3, end=4)


def duplicate(s: Any) -> Any:
    s.send(ONE, 0)
    return s.final({0: ONE, 1: ONE}, end=2)


def duplicate_by_acknowledgement(s: Any) -> Any:
    return s.send(ONE, 0).final({1: ONE}, end=2)


def duplicate_by_an_info_poll(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 5, type="info").final({0: ONE}, end=1)


def not_a_duplicate_in_two_partitions(s: Any) -> Any:
    s.send(ONE, 0).send(ONE, 3, partition=1, process=2)
    return s.final({0: ONE}, end=1).final({3: ONE}, end=4, partition=1)


def inconsistent(s: Any) -> Any:
    s.send(ONE, 0).send(TWO, None, type="info")
    return s.poll(TWO, 0).final({0: ONE}, end=1)


def went_back(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).poll(ONE + 1, 1).poll(ONE, 0)
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def stood_still(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0).poll(ONE, 0).final({0: ONE}, end=1)


def went_back_after_a_seek(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0).poll(ONE, 0, assignment=2).final({0: ONE}, end=1)


def skipped(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 9).poll(ONE, 0).poll(ONE + 2, 9)
    return s.final({0: ONE, 1: ONE + 1, 9: ONE + 2}, end=10)


def skipped_a_hole(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1_000_000_000)
    return s.final({0: ONE, 1_000_000_000: ONE + 1}, end=1_000_000_001)


def sent_out_of_order(s: Any) -> Any:
    s.send(ONE, 1).send(ONE + 1, 0)
    return s.final({0: ONE + 1, 1: ONE}, end=2)


def sent_to_the_same_offset(s: Any) -> Any:
    return s.send(ONE, 0).send(ONE + 1, 0).final({0: ONE + 1}, end=1)


def own_write_missed(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**READ, start_offset=0, end_offset=0, at=(10, 20))
    return s.final({0: ONE}, end=1)


def own_write_found_too_late(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**READ, start_offset=0, end_offset=0, at=(10, 20))
    s.poll(ONE, 0, process=21, session=7, at=(21, 25))
    s.operation(**READ | {"process": 21}, start_offset=0, end_offset=1, at=(20, 30))
    return s.final({0: ONE}, end=1)


def own_write_found(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.poll(ONE, 0, process=20, session=7, at=(12, 20))
    s.operation(**READ, start_offset=0, end_offset=1, at=(11, 20))
    return s.final({0: ONE}, end=1)


def own_write_not_yet_due(s: Any) -> Any:
    """The reads began before the acknowledgement, did not complete, or were another session's."""
    s.operation(**READ, start_offset=0, end_offset=0, at=(9, 20))
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**READ | {"type": "info"}, start_offset=0, end_offset=0, at=(30, 40))
    s.operation(**READ | {"session": 8}, start_offset=0, end_offset=0, at=(30, 40))
    s.operation(**READ | {"session": None, "process": 1}, start_offset=0, end_offset=0, at=(30, 40))
    return s.final({0: ONE}, end=1)


def own_write_missed_without_session(s: Any) -> Any:
    """A process without a session is its own."""
    s.send(ONE, 0)
    s.operation(**READ | {"session": None, "process": 1}, start_offset=0, end_offset=0)
    return s.final({0: ONE}, end=1)


def session_went_back(s: Any) -> Any:
    s.send(TWO, 0).send(TWO + 1, 1)
    s.operation(**READ, start_offset=0, end_offset=2).operation(**READ, start_offset=0, end_offset=1)
    return s.final({0: TWO, 1: TWO + 1}, end=2)


def session_went_back_behind_a_poll(s: Any) -> Any:
    s.send(TWO, 0).send(TWO + 1, 1).poll(TWO + 1, 1, session=7, process=20)
    s.operation(**READ | {"process": 21}, start_offset=0, end_offset=1)
    return s.final({0: TWO, 1: TWO + 1}, end=2)


def session_stood_still(s: Any) -> Any:
    s.send(TWO, 0).poll(TWO, 0, session=7, process=20, at=(31, 40))
    s.operation(**READ, start_offset=0, end_offset=1, at=(30, 41))
    s.operation(**READ, start_offset=1, end_offset=1, at=(41, 50))
    s.operation(**READ, partition=1, start_offset=0, end_offset=0)
    return s.final({0: TWO}, end=1)


def phantom(s: Any) -> Any:
    return s.send(ONE, 0).final({0: ONE, 1: TWO}, end=2)


def aborted(s: Any) -> Any:
    return s.send(ONE, None, type="fail").send(ONE + 1, 1).final({0: ONE, 1: ONE + 1}, end=2)


def aborted_by_an_info_poll(s: Any) -> Any:
    s.send(ONE, None, type="fail").send(ONE + 1, 1).poll(ONE, 0, type="info")
    return s.final({1: ONE + 1}, end=2)


def strangers(s: Any) -> Any:
    s.send(ONE, 0).poll(None, 1, error="foreign").poll(None, 2, error="corrupt").poll(
        TWO, 3, error="misrouted"
    )
    return s.final({0: ONE}, end=4)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    clean: {},
    lost_in_the_middle: {"lost-write": 1},
    lost_although_read_before: {"lost-write": 1},
    lost_and_replaced: {"lost-write": 1, "inconsistent-offsets": 1},
    lost_although_an_earlier_final_read_had_it: {"lost-write": 1},
    lost_although_another_final_read_had_it: {"lost-write": 1},
    lost_although_the_same_client_had_it_before: {"lost-write": 1},
    lost_although_the_final_client_polled_it_otherwise: {"lost-write": 2},
    lost_with_a_late_acknowledgement: {"lost-write": 1},
    lost_at_the_log_start: {"lost-write": 1},
    lost_at_no_known_offset: {"lost-write": 1},
    lost_to_a_reader_without_final_read: {"lost-write": 1},
    lost_at_the_top_without_final_read: {"lost-write": 1, "inconsistent-offsets": 1},
    unseen: {"unseen": 1},
    unseen_without_any_read: {"unseen": 2},
    unseen_behind_the_final_read: {"unseen": 1},
    read_behind_the_final_read: {},
    expired: {"expired": 1},
    duplicate: {"duplicate": 1},
    duplicate_by_acknowledgement: {"duplicate": 1},
    duplicate_by_an_info_poll: {"duplicate": 1},
    not_a_duplicate_in_two_partitions: {},
    inconsistent: {"inconsistent-offsets": 1},
    went_back: {"nonmonotonic-poll": 1},
    stood_still: {"nonmonotonic-poll": 1},
    went_back_after_a_seek: {},
    skipped: {"poll-skip": 1},
    skipped_a_hole: {},
    sent_out_of_order: {"nonmonotonic-send": 1},
    sent_to_the_same_offset: {"nonmonotonic-send": 1, "inconsistent-offsets": 1, "lost-write": 1},
    own_write_missed: {"read-your-writes": 1},
    own_write_found_too_late: {"read-your-writes": 1},
    own_write_found: {},
    own_write_not_yet_due: {},
    own_write_missed_without_session: {"read-your-writes": 1},
    session_went_back: {"session-nonmonotonic-read": 1},
    session_went_back_behind_a_poll: {"session-nonmonotonic-read": 1},
    session_stood_still: {},
    phantom: {"phantom-read": 1},
    aborted: {"G1a": 1},
    aborted_by_an_info_poll: {},
    strangers: {"foreign-read": 1, "corrupt-read": 1, "misrouted-read": 1},
    **transactions_told.TOLD,
    **groups_told.TOLD,
}

BOUNDS = Bounds(unavailable=1, recovery=1, orphaned=1)
"""Stories that are not about availability last some hundred ns."""

ALL = (*CHECKS, *BOUNDS.checks())


@pytest.fixture(scope="module")
def stories(story: Any) -> dict[str, Any]:
    return {tell.__name__: tell(story()) for tell in PLANTED}


@pytest.fixture(scope="module")
def verdicts(judged: Any, stories: dict[str, Any]) -> Any:
    return judged(stories, bounds=BOUNDS)


@pytest.mark.parametrize("tell", PLANTED, ids=lambda tell: tell.__name__)
def test_exactly_the_planted_anomaly_is_found(verdicts: Any, tell: Callable[[Any], Any]) -> None:
    verdict = verdicts[tell.__name__]
    assert {finding.anomaly: finding.count for finding in verdict.findings} == PLANTED[tell]
    severities = {ANOMALIES[name].severity for name in PLANTED[tell]}
    if "invalid" in severities:
        assert verdict.result == "invalid"
    elif "unknown" in severities:
        assert verdict.result == "unknown"
    else:
        assert not any("crashed" in sentence for sentence in verdict.unknowns)


def test_every_anomaly_of_the_catalogue_is_planted() -> None:
    assert {name for expected in PLANTED.values() for name in expected} == set(ANOMALIES)


def test_an_example_tells_what_the_catalogue_explains(verdicts: Any) -> None:
    for verdict in verdicts.values():
        for finding in verdict.findings:
            for example in finding.examples:
                explained = set(ANOMALIES[finding.anomaly].evidence)
                assert set(example) == explained | {"topic", "partition", "time", "faults"}, finding.anomaly


def test_the_evidence_is_that_of_the_anomaly(verdicts: Any) -> None:
    def first(run: str) -> dict[str, Any]:
        (finding,) = verdicts[run].findings
        return dict(finding.examples[0])

    place = {"topic": "t", "partition": 0, "faults": []}
    lost = first("lost_in_the_middle")
    assert lost.pop("time") == pytest.approx(18e-9)
    assert lost == place | {"process": 1, "op": ONE + 1, "offset": 1, "value": ONE + 1}
    skip = first("skipped")
    assert (skip["previous"], skip["skipped"], skip["offset"]) == (0, 1, 9)
    twice = first("duplicate")
    assert (twice["offset"], twice["last_offset"], twice["value"]) == (0, 1, ONE)
    missed = first("own_write_found_too_late")
    assert (missed["session"], missed["process"], missed["value"]) == (7, 1, ONE)
    back = first("session_went_back")
    assert (back["session"], back["offset"], back["reached"]) == (7, 1, 2)


SWAPS = [
    (r"<=", "<"), (r"<=", ">"), (r"<(?!=)", "<="), (r"<(?!=)", ">"), (r"(?<!-)>(?!=)", ">="),
    (r"\band\b", "or"), (r"\bor\b", "and"), (r"\bis null\b", "is not null"),
    (r"\bis not null\b", "is null"), (r"\bnot (?!null)", ""), (r"=(?= ')", "<>"), (r"!=", "="),
]  # fmt: skip


def mutants(check: Check) -> list[Check]:
    """The check with each of its operators turned, one at a time, and a check that finds nothing."""
    wheres = ["false"]
    for pattern, other in SWAPS:
        for match in re.finditer(pattern, check.where):
            wheres.append(check.where[: match.start()] + other + check.where[match.end() :])
    return [replace(check, anomaly=f"{check.anomaly}~{i}", where=where) for i, where in enumerate(wheres)]


def test_no_check_can_be_altered_unnoticed(loaded: Any, stories: dict[str, Any]) -> None:
    """All mutants of all checks run over the planted stories in one job; each must answer differently."""
    altered = [mutant for check in ALL for mutant in mutants(check)]
    assert len(altered) > 3 * len(ALL)
    found, crashed = find(loaded(stories), [*ALL, *altered], examples=0)
    assert not crashed
    counts: dict[str, dict[str, int]] = {}
    for one in found:
        counts.setdefault(one.anomaly, {})[one.run] = one.count
    survivors = [
        f"{mutant.anomaly}: {' '.join(mutant.where.split())}"
        for mutant in altered
        if counts.get(mutant.anomaly, {}) == counts[mutant.anomaly.partition("~")[0]]
    ]
    assert survivors == []
