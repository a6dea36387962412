"""Examples of stored verdicts are those that Spark computed. Needs no JVM."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzers.catalogue.anomaly import Anomaly, Evidence, Listing, Moment, Span
from analyzers.catalogue.registry import CATALOGUE
from analyzers.explain.explain import stored_result
from analyzers.judge.examples import computed_example, example_json
from analyzers.verdict.finding import Finding
from analyzers.verdict.verdict import judge

BEGAN = 987_654_321_123_456_789
"""ns; a host that has been up for 31 years."""

LATE = BEGAN + 86_400 * 10**9 + 1
"""A day and a ns later."""


def computed(anomaly: Anomaly) -> dict[str, Any]:
    return {name: _value(each, name) for name, each in anomaly.columns.items()} | {"time": LATE}


def _value(kind: Evidence, name: str) -> Any:
    if isinstance(kind, Listing):
        return json.dumps(["a", 3], separators=(",", ":"))
    if isinstance(kind, Span):
        return LATE if isinstance(kind, Moment) else LATE - BEGAN
    return name if kind.textual else (2 << 40) + 7


@pytest.mark.parametrize("anomaly", CATALOGUE, ids=lambda anomaly: anomaly.name)
def test_an_example_comes_back_from_json_as_it_was(anomaly: Anomaly) -> None:
    example = computed(anomaly)
    stored = json.loads(json.dumps({**example_json(anomaly.name, example, BEGAN), "faults": ["kill 1"]}))
    assert computed_example(anomaly.name, stored, BEGAN) == example
    nothing = dict.fromkeys(example)
    stored = json.loads(json.dumps(example_json(anomaly.name, nothing, BEGAN)))
    assert computed_example(anomaly.name, stored, BEGAN) == nothing


def lost(*examples: dict[str, Any], began: int | None = BEGAN) -> Any:
    found = Finding(anomaly="lost-write", count=7, summary="lost", examples=examples)
    return judge("r", findings=[found], began=began)


def test_only_an_occurrence_among_the_examples_is_taken_from_the_verdict() -> None:
    example = {
        "topic": "t",
        "partition": 0,
        "time": 1.5,
        "faults": [],
        "process": 2,
        "op": 5,
        "offset": 3,
        "value": 5,
    }
    found = stored_result(lost(example), "lost-write", 1)
    assert found is not None
    assert (found.run, found.anomaly, found.count) == ("r", "lost-write", 7)
    assert found.examples[0]["time"] == BEGAN + 1_500_000_000
    assert stored_result(lost(example), "lost-write", 2) is None
    assert stored_result(lost(example), "duplicate", 1) is None
    assert stored_result(lost(example), None, 1) is None
    assert stored_result(lost(example, began=None), "lost-write", 1) is None
    assert stored_result(lost({"topic": "t"}), "lost-write", 1) is None, "of another version"
    assert stored_result(lost(example | {"time": "soon"}), "lost-write", 1) is None
    assert stored_result(None, "lost-write", 1) is None
