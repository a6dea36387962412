"""Findings about a node, a group, the quorum or another subject that is no partition, from the check to the text."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.catalogue.anomaly import (
    CONTROLLERS,
    GROUP,
    NODE,
    REPLICA,
    RUN,
    TRANSACTIONAL_ID,
    Anomaly,
    Evidence,
    Listing,
    Moment,
    Number,
    Offset,
    Operation,
    Span,
    Subject,
    Text,
    Value,
)
from analyzers.catalogue.check import Check, NotLive
from analyzers.catalogue.registry import ANOMALIES, CHECKS
from analyzers.explain.explain import explain
from analyzers.facts.fact import Fact
from analyzers.facts.registry import FACTS
from analyzers.judge.find import find
from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.cli.common.explanation import parts
from tests.support.stories.groups import member

pytestmark = pytest.mark.spark

SECOND = 1_000_000_000
ONE = 1 << 40


def planted(name: str, subject: Subject, evidence: dict[str, Evidence], over: str) -> Check:
    return Check(
        anomaly=Anomaly(
            name=name, family="groups", subject=subject, evidence=evidence, sentence=f"planted {subject.name}(s)",
            definition="counted per row", means="-", promised="-", causes="-", look_further="-",
        ),
        over=over,
        where="at > 0",
        time="at",
        live=NotLive("-"),
    )  # fmt: skip


PLANTED = [
    planted(
        "planted-node",
        NODE,
        {
            "since": Moment("a point in time", "at - 1000000000"),
            "lasted": Span("a length of time", "2000000000"),
            "state": Text("a text", "concat('of ', node)"),
            "known": Listing("numbers", "array(1, node)"),
            "names": Listing("texts", "array('x')"),
            "none": Listing("an empty list", "cast(array() as array<string>)"),
            "offset": Offset("an offset", "7"),
            "missing": Text("null", "cast(null as string)"),
        },
        "planted_nodes",
    ),
    planted("planted-replica", REPLICA, {"epoch": Number("a number", "3")}, "planted_nodes"),
    planted("planted-group", GROUP, {"value": Value("a value", f"{ONE + 3}L")}, "planted_groups"),
    planted("planted-controllers", CONTROLLERS, {"leader": Number("a node", "2")}, "planted_nodes"),
    planted("planted-id", TRANSACTIONAL_ID, {"op": Operation("an operation", "12")}, "planted_ids"),
    planted("planted-run", RUN, {}, "planted_ids"),
]

TABLES = {
    "planted_nodes": lambda history: history.records.where("f = 'send'").selectExpr(
        "run", "topic", "partition", "process + 1 as node", "invoked as at"
    ),
    "planted_groups": lambda history: history.operations.where("f = 'member'").selectExpr(
        "run", "group", "invoked as at"
    ),
    "planted_ids": lambda history: history.records.where("f = 'send'").selectExpr(
        "run", "'tx' as transactional_id", "invoked as at"
    ),
}


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if these checks were in `analyzers/checks`, and the tables in `analyzers/facts`."""
    for check in PLANTED:
        monkeypatch.setitem(ANOMALIES, check.name, check.anomaly)  # type: ignore[arg-type]
    for name, rows in TABLES.items():
        monkeypatch.setitem(FACTS, name, Fact(name=name, rows=rows))  # type: ignore[arg-type]


def history(story: Any) -> Any:
    s = story().send(ONE, 0, at=(SECOND, 2 * SECOND))
    return member(s, 1, "joined", (3 * SECOND, 4 * SECOND), partition=None)


LINES = {
    "planted-node": "at 0.0 s  node 2  offset 7  since -1.0 s  lasted 2.0 s  state of 2  known 1, 2  names x  "
    "none none  missing unknown  (no fault active)",
    "planted-replica": "at 0.0 s  t-0 on node 2  epoch 3  (no fault active)",
    "planted-group": "at 2.0 s  group g  process 1's 4th write  (no fault active)",
    "planted-controllers": "at 0.0 s  the controllers  leader 2  (no fault active)",
    "planted-id": "at 0.0 s  transactional id tx  op 12  (no fault active)",
    "planted-run": "at 0.0 s  the run  (no fault active)",
}


@pytest.mark.usefixtures("declared")
def test_a_verdict_says_what_a_finding_is_about(judged: Any, story: Any) -> None:
    verdict = judged({"r": history(story)}, checks=[*CHECKS, *PLANTED])["r"]
    text = verdict.text().splitlines()
    for name, line in LINES.items():
        assert f"    {line}" in text, name
    assert Verdict.from_json(verdict.to_json()) == verdict
    examples = {finding.anomaly: dict(finding.examples[0]) for finding in verdict.findings}
    assert examples["planted-node"] == {
        "node": 2, "time": 0.0, "since": -1.0, "lasted": 2.0, "state": "of 2", "known": [1, 2], "names": ["x"],
        "none": [], "offset": 7, "missing": None, "faults": [],
    }  # fmt: skip
    assert examples["planted-group"] == {"group": "g", "time": 2.0, "value": ONE + 3, "faults": []}
    assert examples["planted-controllers"] == {"time": 0.0, "leader": 2, "faults": []}
    assert list(examples["planted-replica"]) == ["topic", "partition", "node", "time", "epoch", "faults"]


HEADS = {
    "planted-node": "  run r, node 2: since at -1.000 s, lasted 2.000 s, state of 2, known 1, 2, names x, none none, "
    "offset 7, missing unknown",
    "planted-group": "  run r, group g: value 1:3 (process 1's 4th write)",
    "planted-controllers": "  run r, the controllers: leader 2",
}


@pytest.mark.usefixtures("declared")
def test_an_explanation_says_it_too(loaded: Any, story: Any) -> None:
    s = history(story).fault("inject")
    where = loaded({"r": s})
    found, crashed = find(where, PLANTED, examples=1)
    assert not crashed
    explained = {each.anomaly: explain(where, each, 1) for each in found}
    for name, head in HEADS.items():
        assert list(parts(explained[name]))[1] == head
        assert [moment.who for moment in explained[name].line][-1:] == ["finding"]


def test_a_subject_that_is_not_known_is_printed_so() -> None:
    assert NODE.to_text({}) == "an unknown node"
    assert REPLICA.to_text({"topic": "t", "partition": None, "node": 1}) == "an unknown replica"


def test_evidence_of_another_version_is_printed() -> None:
    """A verdict may hold JSON of other types than this version writes."""
    for kind in (Number, Offset, Value, Operation, Span, Moment, Text, Listing):
        for value, text in ((None, "unknown"), ("x", "x"), (True, "True")):
            assert kind("-").to_text(value) == text
    assert Listing("-").to_text([]) == "none"
    assert Operation("-").to_text((1 << 61) + 3) == str((1 << 61) + 3)
    assert Moment("-").explain(None, 3) == "at an unknown time"
    assert Moment("-").explain(3, None) == "at an unknown time"
