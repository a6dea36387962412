"""The native profile agrees with the reference checker's own cases, as far as they fit its model.

Two kinds of cases are left out. Some need transactions in which one record proves others
(`info-proved-committed-by-read`, `lost-write/atomic-*`, `poll-skip/txn-*`). In others a consumer keeps its position
over an assign that still covers the partition, while here every assignment takes a new position
(`poll-skip/*-same-key`, `nonmonotonic-poll/*-same-key`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.shared]

# Case: the assertions of the reference's own tests, in our counts.
EXPECTED: dict[str, dict[str, int]] = {
    "inconsistent-offsets/info-conflict-ignored": {"inconsistent-offsets": 0},
    "g1a": {"G1a": 1},
    "lost-write/consistent": {"lost-write": 2, "unseen": 1},
    "lost-write/inconsistent-offsets": {"lost-write": 1},
    # The reference also counts the acknowledged but never polled record as skipped; here it is lost.
    "poll-skip/base": {"poll-skip": 1, "lost-write": 1},
    "poll-skip/intermediate-subscribe-other-key": {"poll-skip": 0},
    "int-poll-skip": {"int-poll-skip": 2, "poll-skip": 0},
    "nonmonotonic-poll/base": {"nonmonotonic-poll": 1},
    "nonmonotonic-poll/subscribe-other-key": {"nonmonotonic-poll": 0},
    "nonmonotonic-poll/assign-other-key": {"nonmonotonic-poll": 0},
    "int-nonmonotonic-poll": {"int-nonmonotonic-poll": 2, "nonmonotonic-poll": 0},
    "nonmonotonic-send/base": {"nonmonotonic-send": 1},
    # An assignment of its consumer does not reset the order of a producer.
    "nonmonotonic-send/subscribe-same-key": {"nonmonotonic-send": 1},
    "nonmonotonic-send/assign-same-key": {"nonmonotonic-send": 1},
    # Sends of unknown outcome are not compared, also if they were read; one of the two was acknowledged.
    "int-nonmonotonic-send": {"int-nonmonotonic-send": 1, "nonmonotonic-send": 0},
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
    """A key becomes a topic, and each record a row. An assign or subscribe becomes a new assignment. Every
    operation is a transaction and reads committed records only."""
    values: dict[Any, int] = {}
    assignments: dict[int, int] = {}
    for number, op in enumerate(history):
        if op["type"] == "invoke":
            continue
        process, at = op["process"], (op["time"] * 10 - 9, op["time"] * 10)
        if op["f"] in ("assign", "subscribe"):
            assignments[process] = assignments.get(process, 1) + (op["type"] != "fail")
            continue
        for f, key, offset, original in records(op["value"]):
            value = values.setdefault(original, len(values) + 1)
            row = {"topic": key, "type": op["type"], "at": at, "process": process}
            if f == "send":
                story.send(value, offset, transaction=number, **row)
            else:
                story.poll(
                    value, offset, op=number, committed=True, assignment=assignments.get(process, 1), **row
                )
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
