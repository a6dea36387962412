"""Conformance with the reference checker's own test cases, as far as they fit the model here.

Left out: transactions and sends of several records of which some are proved by others (there are no
transactions here: `info-proved-committed-by-read`, `lost-write/atomic-*`, `poll-skip/txn-*`), and the
position of a consumer kept over an assign that still covers the partition (here every assignment
starts anew: `poll-skip/*-same-key`, `nonmonotonic-poll/*-same-key`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.shared]

# Case: what the reference's own tests assert about it, in our counts.
EXPECTED: dict[str, dict[str, int]] = {
    "inconsistent-offsets/info-conflict-ignored": {"inconsistent-offsets": 0},
    "g1a": {"G1a": 1},
    "lost-write/consistent": {"lost-write": 2, "unseen": 1},
    "lost-write/inconsistent-offsets": {"lost-write": 1},
    # The reference also takes the acknowledged but never polled record for skipped; here that is lost.
    "poll-skip/base": {"poll-skip": 1, "lost-write": 1},
    "poll-skip/intermediate-subscribe-other-key": {"poll-skip": 0},
    "int-poll-skip": {"poll-skip": 2},
    "nonmonotonic-poll/base": {"nonmonotonic-poll": 1},
    "nonmonotonic-poll/subscribe-other-key": {"nonmonotonic-poll": 0},
    "nonmonotonic-poll/assign-other-key": {"nonmonotonic-poll": 0},
    "int-nonmonotonic-poll": {"nonmonotonic-poll": 2},
    "nonmonotonic-send/base": {"nonmonotonic-send": 1},
    # A producer's order is not reset by what its consumer is assigned.
    "nonmonotonic-send/subscribe-same-key": {"nonmonotonic-send": 1},
    "nonmonotonic-send/assign-same-key": {"nonmonotonic-send": 1},
    # Info sends that were read are not compared: the one of the two that was acknowledged.
    "int-nonmonotonic-send": {"nonmonotonic-send": 1},
    "duplicate/basic": {"duplicate": 1},
    "duplicate/hash-insensitive": {"duplicate": 10, "inconsistent-offsets": 2},
    "duplicate/aborted-txns": {"duplicate": 1},
    "unseen-series": {"unseen": 0, "lost-write": 0},
}


@pytest.fixture(scope="module")
def verdicts(shared: Path, judged: Any, story: Any) -> Any:
    cases = json.loads((shared / "conformance" / "jepsen_kafka_cases.json").read_text())["cases"]
    by_name = {case["name"]: case for case in cases}
    return judged({name: translate(by_name[name]["history"], story()) for name in EXPECTED})


@pytest.mark.parametrize("case", EXPECTED)
def test_the_reference_case(verdicts: Any, case: str) -> None:
    counts = {finding.anomaly: finding.count for finding in verdicts[case].findings}
    assert {anomaly: counts.get(anomaly, 0) for anomaly in EXPECTED[case]} == EXPECTED[case]


def translate(history: list[dict[str, Any]], story: Any) -> Any:
    """A key is a topic; a record is a row of its own; an assign or subscribe is a new assignment."""
    values: dict[Any, int] = {}
    assignments: dict[int, int] = {}
    for op in history:
        if op["type"] == "invoke":
            continue
        process, at = op["process"], (op["time"] * 10 - 9, op["time"] * 10)
        if op["f"] in ("assign", "subscribe"):
            assignments[process] = assignments.get(process, 1) + (op["type"] != "fail")
            continue
        for f, key, offset, told in records(op["value"]):
            value = values.setdefault(told, len(values) + 1)
            row = {"topic": key, "type": op["type"], "at": at, "process": process}
            if f == "send":
                story.send(value, offset, **row)
            else:
                story.poll(value, offset, assignment=assignments.get(process, 1), **row)
    return story


def records(mops: list[Any]) -> Iterator[tuple[str, str, int | None, Any]]:
    for f, *rest in mops:
        if f == "send":
            key, sent = rest
            offset, value = sent if isinstance(sent, list) else (None, sent)
            yield f, key, offset, value
        elif rest:
            for key, pairs in rest[0].items():
                for offset, value in pairs:
                    yield f, key, offset, value
