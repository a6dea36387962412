"""Anomalies that the reference checker misses are found here: one history for each row of the table in the docs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.stories.groups import member

pytestmark = pytest.mark.spark

ONE, TWO = 1 << 40, 2 << 40
DOCUMENT = (Path(__file__).parents[2] / "docs" / "anomalies.md").read_text()


def a_value_nobody_wrote(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, None, type="info", at=(1, None))
    return s.final({0: ONE, 1: ONE + 1, 2: TWO}, end=3)


def an_empty_log(s: Any) -> Any:
    return s.send(ONE, 0).final({}, end=0)


def overtaken_by_another_producer(s: Any) -> Any:
    return s.send(ONE, 1).send(TWO, 0).final({0: TWO, 1: ONE}, end=2)


def a_session_reads_nothing_for_ever(s: Any) -> Any:
    s.send(ONE, 0, session=7)
    for end in (0, 1, 0, 0):
        s.operation("read", session=7, process=20, start_offset=0, end_offset=end)
    return s.final({0: ONE}, end=1)


def a_failed_write_in_an_info_poll(s: Any) -> Any:
    s.send(ONE, None, type="fail").send(TWO, 1).poll(ONE, 0, type="info")
    return s.final({1: TWO}, end=2)


def an_acknowledgement_without_offset(s: Any) -> Any:
    return s.send(ONE, None).final({}, end=0)


def seen_by_an_info_poll(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0, type="info")


def a_member_skips_what_it_kept(s: Any) -> Any:
    member(s, 10, "assigned", (0, 0), generation=1)
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2)
    s.poll(ONE, 0, generation=1).poll(ONE + 2, 2, generation=2).poll(ONE + 2, 2, generation=3)
    return s.final({0: ONE, 1: ONE + 1, 2: ONE + 2}, end=3)


def a_payload_of_another_run(s: Any) -> Any:
    s.send(ONE, 0).poll(None, 1, error="foreign").poll(None, 2, error="corrupt")
    return s.final({0: ONE}, end=3)


def a_key_goes_back(s: Any) -> Any:
    s.send(ONE, 2, key=4, at=(0, 20)).send(ONE + 1, 0, at=(1, 21)).send(ONE + 2, 1, key=4, at=(2, 22))
    s.poll(ONE, 2, key=4).poll(ONE + 1, 0).poll(ONE + 2, 1, key=4)
    return s.final({0: ONE + 1, 1: ONE + 2, 2: ONE}, end=3)


def an_empty_poll_in_between(s: Any) -> Any:
    """An operation that returned nothing leaves no record."""
    s.send(ONE, 0).poll(ONE, 0).operation("read", type="info", start_offset=1, end_offset=None)
    return s.poll(ONE, 0).final({0: ONE}, end=1)


def a_log_written_anew(s: Any) -> Any:
    s.send(ONE, None, type="info").send(TWO, None, type="info").poll(ONE, 0, leader_epoch=1)
    return s.final({0: TWO}, end=1, leader_epoch=2)


def not_read_yet(s: Any) -> Any:
    return s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0)


def a_lost_tail(s: Any) -> Any:
    return s.send(ONE, 0).send(ONE + 1, 1).final({0: ONE}, end=1)


EXPECTED: dict[Callable[[Any], Any], dict[str, int]] = {
    a_value_nobody_wrote: {"phantom-read": 1},
    an_empty_log: {"lost-write": 1},
    overtaken_by_another_producer: {"realtime-order": 1},
    a_session_reads_nothing_for_ever: {"read-your-writes": 1, "monotonic-reads": 2},
    a_failed_write_in_an_info_poll: {"G1a": 1},
    an_acknowledgement_without_offset: {"lost-write": 1},
    seen_by_an_info_poll: {},
    a_member_skips_what_it_kept: {"poll-skip": 1, "nonmonotonic-poll": 1},
    a_payload_of_another_run: {"foreign-record": 1, "corrupt-record": 1},
    a_key_goes_back: {"nonmonotonic-poll": 2, "nonmonotonic-send": 2},
    an_empty_poll_in_between: {"nonmonotonic-poll": 1},
    a_log_written_anew: {"offset-reuse": 1, "lost-read": 1},
    not_read_yet: {"unseen": 1},
    a_lost_tail: {"lost-write": 1},
}


@pytest.fixture(scope="module")
def verdicts(judged: Any, story: Any) -> Any:
    return judged({plant.__name__: plant(story()) for plant in EXPECTED})


@pytest.mark.parametrize("plant", EXPECTED, ids=lambda plant: plant.__name__)
def test_it_is_found(verdicts: Any, plant: Callable[[Any], Any]) -> None:
    findings = verdicts[plant.__name__].findings
    assert {finding.anomaly: finding.count for finding in findings} == EXPECTED[plant]


def test_the_document_names_the_tests_and_what_they_find() -> None:
    table = DOCUMENT.partition("## Blind spots of the reference")[2]
    rows = {
        name: set(re.findall(r"`([^`]+)`", here))
        for here, name in re.findall(r"\| ([^|]*) \| `(\w+)` \|$", table, re.MULTILINE)
    }
    named = {plant.__name__: set(found) for plant, found in EXPECTED.items()}
    assert rows.keys() == named.keys()
    for name, found in named.items():
        assert found <= rows[name], name
