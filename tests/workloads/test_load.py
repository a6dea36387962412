"""What a workload asks of a cluster: rates by phase, sizes of records, uneven loads."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import islice
from typing import Any

import pytest

from workloads.append_log import AppendLog
from workloads.compacted import Compacted
from workloads.conformance import check_workload
from workloads.load import drawn_logs, drawn_sizes, highest, largest, rates_by_phase
from workloads.roles import producer
from workloads.roles.producer import Paces
from workloads.stored import from_json, to_json

LOGS = [("t", number) for number in range(4)]


@pytest.mark.parametrize(
    ("rate", "expected", "most"),
    [
        (7, {"start": 7, "steady": 7, "recovery": 7}, 7),
        (None, dict.fromkeys(("start", "steady", "recovery")), None),
        ({"steady": 5}, {"start": 5, "steady": 5, "recovery": 5}, 5),
        ({"start": 1, "recovery": 9}, {"start": 1, "steady": 1, "recovery": 9}, 9),
        ({"start": 1, "steady": None}, {"start": 1, "steady": None, "recovery": None}, None),
    ],
)
def test_rates_by_phase(rate: Any, expected: dict[str, float | None], most: float | None) -> None:
    assert rates_by_phase(rate) == expected
    assert highest(rate) == most


class Context:
    """What paces use of a worker's context."""

    def __init__(self) -> None:
        self.phase = "start"
        self.counts: Counter[str] = Counter()


def test_a_phase_has_its_rate_and_leaves_out_what_an_earlier_one_did_not_send(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(producer.time, "monotonic", lambda: now[0])
    context = Context()
    paces = Paces(context, {"start": 10, "steady": 100, "recovery": None})  # type: ignore[arg-type]
    now[0] = 0.5
    assert paces.due() == 5
    assert [*paces.take(2)] == [100_000_000, 200_000_000]
    context.phase = "steady"
    assert paces.due() == 0
    assert context.counts["skipped"] == 3
    now[0] = 0.75
    assert paces.due() == 25
    assert [*paces.take(1)] == [510_000_000]
    now[0] = 3.5
    assert paces.due() == 100
    assert context.counts["skipped"] == 3 + 199
    context.phase = "recovery"
    assert paces.due() is None
    assert [*paces.take(3)] == []


def test_sizes_are_drawn_as_they_are_given() -> None:
    def drawn(sizes: Any) -> Counter[int]:
        return Counter(islice(drawn_sizes(sizes, random.Random(1)), 10_000))

    assert drawn(7) == {7: 10_000}
    assert set(drawn((3, 6))) == {3, 4, 5, 6}
    assert min(drawn((3, 6)).values()) > 2300
    weighed = drawn({100: 9, 10_000: 1})
    assert set(weighed) == {100, 10_000}
    assert 850 < weighed[10_000] < 1150
    assert [largest(each) for each in (7, (3, 6), {100: 9, "10000": 1})] == [7, 6, 10_000]  # type: ignore[list-item]


def test_logs_are_drawn_in_turn_or_by_their_shares() -> None:
    assert [*islice(drawn_logs(lambda: LOGS, 0, random.Random(1)), 6)] == [*LOGS, *LOGS[:2]]
    found = Counter(islice(drawn_logs(lambda: LOGS, 1, random.Random(1)), 25_000))
    # 1, 1/2, 1/3 and 1/4 of 25/12.
    for log, expected in zip(LOGS, (12_000, 6_000, 4_000, 3_000), strict=True):
        assert abs(found[log] - expected) < 400, found


@pytest.mark.parametrize("skew", [0, 1])
def test_partitions_that_are_added_are_drawn_from_the_next_turn_on(skew: float) -> None:
    known = [*LOGS[:2]]
    drawn = drawn_logs(lambda: tuple(known), skew, random.Random(1))
    turn = 100 if skew else 2
    first = next(drawn)
    known += LOGS[2:]
    assert {first, *islice(drawn, turn - 1)} == {*LOGS[:2]}
    assert {*islice(drawn, 400)} == {*LOGS}


@pytest.mark.parametrize(
    "values",
    [
        {"rate": {"start": 100, "steady": 1000, "recovery": None}},
        {"record_size": (100, 2000)},
        {"record_size": {100: 9, 10_000: 1}},
        {"skew": 1.2},
    ],
)
@pytest.mark.parametrize("kind", [AppendLog, Compacted])
def test_a_load_is_stored_and_comes_back(kind: Any, values: dict[str, Any]) -> None:
    workload = kind(**values)
    check_workload(workload)
    assert from_json(json.loads(json.dumps(to_json(workload)))) == workload


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"rate": {}},
            r"AppendLog.rate=\{\}: expected records per second by phase, start or steady or recovery",
        ),
        ({"rate": {"final": 1}}, "by phase, start or steady"),
        ({"rate": {"steady": 0}}, r"AppendLog.rate\['steady'\]=0: expected records per second above 0"),
        ({"record_size": (5, 3)}, r"AppendLog.record_size=\(5, 3\): expected bytes, 0 to 900000"),
        ({"record_size": (1, 2, 3)}, "the least and the most"),
        ({"record_size": {}}, "sizes with their weights"),
        ({"record_size": {100: 0}}, "sizes with their weights"),
        ({"record_size": {"large": 1}}, "sizes with their weights"),
        ({"record_size": {1_000_000: 1}}, "expected bytes, 0 to 900000"),
        ({"record_size": -1}, "expected bytes"),
        ({"record_size": True}, "expected bytes"),
        ({"record_size": "100"}, "expected bytes"),
        ({"skew": -1}, "AppendLog.skew=-1: expected 0 for an even load, up to 5"),
        ({"skew": 6}, "up to 5"),
    ],
)
def test_a_wrong_load_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AppendLog(**values)
