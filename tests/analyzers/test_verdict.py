"""The verdict as a value and as text. Needs no JVM."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from analyzers.verdict.exercised import Exercised, FaultExercised
from analyzers.verdict.finding import Cause, Finding, Step
from analyzers.verdict.measures import (
    Availability,
    LogAvailability,
    PhaseAvailability,
    Propagation,
    Staleness,
)
from analyzers.verdict.summary import entry
from analyzers.verdict.verdict import Verdict, amended, judge

ONE = 1 << 40
LOST = Finding(
    anomaly="lost-write",
    count=1234,
    summary="acknowledged writes missing from the log at the end",
    examples=(
        {
            "topic": "orders",
            "partition": 0,
            "time": 4.2134,
            "process": 1,
            "op": ONE + 17,
            "offset": 7312,
            "value": ONE + 17,
            "faults": ["isolate leader (nodes 2)"],
        },
        {
            "topic": "orders",
            "partition": 2,
            "time": None,
            "process": 1,
            "op": ONE + 18,
            "offset": None,
            "value": ONE + 18,
            "faults": [],
        },
    ),
)
UNSEEN = Finding(anomaly="unseen", count=1, summary="acknowledged write that nobody read")
TWICE = Finding(anomaly="duplicate", count=2, summary="values found twice", allowed=True)
EXERCISED = Exercised(
    sends={"ok": 12_000, "info": 30},
    polls=24_000,
    final_reads={"ok": 3},
    faults=(
        FaultExercised(
            event="e1", fault="isolate", target="leader", nodes=(2,), effective=True, healed=False,
            began=3.0, ended=None, acks_before=4000, acks_during=3000, acks_after=0,
        ),
    ),
    leader_changes=1,
    isr_changes=4,
)  # fmt: skip
FULL = judge(
    "r1",
    findings=[TWICE, UNSEEN, LOST],
    unknowns=["Something was not seen."],
    exercised=EXERCISED,
    clients={1: "producer 0"},
)


def test_times_have_the_unit_of_the_history() -> None:
    of_file = Verdict.from_json(judge("r1", findings=[LOST], unit="ms").to_json())
    assert of_file.unit == "ms"
    assert "at 4,213 ms" in of_file.text()
    assert "at 4.2 s" in judge("r1", findings=[LOST]).text()


CYCLE = Finding(anomaly="G0", count=1, summary="set of transactions")
AVAILABLE = judge(
    "r3",
    findings=[CYCLE],
    notes=["Cycles were not searched."],
    exercised=Exercised(sends={"ok": 3, "info": 1}, transactions={"ok": 1, "info": 1}, commits={"ok": 5}),
    availability=Availability(
        logs=(
            LogAvailability(topic="t", partition=0, longest_wait=1.5, began=2.0, recovery=0.25),
            LogAvailability(topic="t", partition=1),
        ),
        phases=(
            PhaseAvailability(
                phase="steady", sends=3, errors=0, latency_median=0.001, latency_99=0.01, latency_worst=0.5
            ),
            PhaseAvailability(phase="faults", sends=1, errors=1),
        ),
        worst_lag=0.75,
    ),
    staleness=Staleness(writes=2000, reads=1999, missed=1990, unseen=3, median=0.5023, longest=0.8),
)


@pytest.mark.parametrize(
    ("findings", "unknowns", "result"),
    [
        ([CYCLE], [], "valid"),
        ([CYCLE], ["why"], "unknown"),
        ([], [], "valid"),
        ([TWICE], [], "valid"),
        ([], ["why"], "unknown"),
        ([TWICE], ["why"], "unknown"),
        ([UNSEEN], [], "unknown"),
        ([LOST], [], "invalid"),
        ([LOST, UNSEEN], ["why"], "invalid"),
    ],
)
def test_invalid_wins_over_unknown_over_valid(
    findings: list[Finding], unknowns: list[str], result: str
) -> None:
    assert judge("r", findings=findings, unknowns=unknowns).result == result


def test_the_worst_findings_come_first() -> None:
    assert [finding.anomaly for finding in FULL.findings] == ["lost-write", "unseen", "duplicate"]


def test_json_round_trip() -> None:
    assert Verdict.from_json(FULL.to_json()) == FULL
    assert Verdict.from_json(AVAILABLE.to_json()) == AVAILABLE
    assert json.loads(FULL.to_json())["findings"][0]["examples"][0]["offset"] == 7312
    assert Verdict.from_json(judge("r").to_json()) == judge("r")


def test_json_says_its_format_and_that_of_another_one_is_refused() -> None:
    data = json.loads(judge("r").to_json())
    assert data["format"] == 1
    with pytest.raises(ValueError, match="format 2: this version reads format 1"):
        Verdict.from_json(json.dumps({**data, "format": 2}))
    assert Verdict.from_json(
        json.dumps({key: value for key, value in data.items() if key != "format"})
    ) == judge("r")


def test_a_verdict_stored_by_an_earlier_version_can_be_read() -> None:
    """The literal content of a verdict.json as it was written before this module was split."""
    stored = """{
        "run": "r1", "result": "invalid",
        "findings": [{
            "anomaly": "lost-write", "count": 2, "summary": "acknowledged writes missing from the log at the end",
            "allowed": false,
            "examples": [{"topic": "t", "partition": 0, "time": 1.5, "process": 1, "offset": 7, "faults": ["kill 1"]}]
        }],
        "unknowns": ["Something was not seen."],
        "exercised": {
            "sends": {"ok": 3}, "polls": 2, "transactions": {}, "commits": {}, "final_reads": {"ok": 1},
            "session_reads": {},
            "faults": [{
                "event": "e1", "fault": "kill", "target": "leader", "nodes": [1], "processes": [], "effective": true,
                "healed": true, "began": 0.5, "ended": null, "acks_before": 1, "acks_during": 1, "acks_after": 1
            }],
            "leader_changes": 1, "isr_changes": 0, "smallest_isr": 1
        },
        "availability": {
            "logs": [{"topic": "t", "partition": 0, "longest_wait": 1, "began": 0.5, "recovery": null}],
            "phases": [{
                "phase": "steady", "sends": 3, "errors": 0, "latency_median": 0.1, "latency_99": null,
                "latency_worst": 0.2
            }],
            "worst_lag": null
        },
        "notes": []
    }"""
    verdict = Verdict.from_json(stored)
    assert (verdict.result, verdict.findings[0].examples[0]["offset"]) == ("invalid", 7)
    assert verdict.exercised.faults[0].nodes == (1,)
    assert verdict.availability.logs[0].longest_wait == 1
    again = json.loads(verdict.to_json())
    again.pop("not_exercised")
    for later in (
        "phase", "failed_steps", "committed", "readers", "groups", "brokers", "sampled", "rereads", "copies",
        "transfers", "snapshots", "whole_snapshots", "snapshots_of_transfers",
        "compacted",
        "inspections", "searches", "outputs", "pipelines",
        "deliveries", "acknowledgements", "queues", "leader_samples", "unmeasured", "controller_samples",
        "comparisons", "unqueued",
        "group_samples", "transaction_samples", "eligible_samples",
    ):  # fmt: skip
        again["exercised"].pop(later)
    again["availability"].pop("standstill")
    again["availability"]["phases"][0].pop("skipped")
    for later in (
        "whole",
        "clients",
        "work",
        "copies_after",
        "acknowledgements_after",
        "reads_after",
        "transactions_after",
        "idle_groups",
        "silent",
    ):
        again["exercised"]["faults"][0].pop(later)
    assert again.items() >= json.loads(stored).items(), "only keys are added"
    assert verdict.text()


def test_amending_a_verdict() -> None:
    """Known findings and unknowns are not added twice, allowed findings have no effect, the rest stays."""
    verdict = judge("r", findings=[LOST], unknowns=["why"], exercised=EXERCISED)
    more = amended(verdict, findings=[LOST, UNSEEN], unknowns=["why", "and why not"])
    assert [finding.anomaly for finding in more.findings] == ["lost-write", "unseen"]
    assert (more.result, more.unknowns, more.exercised) == ("invalid", ("why", "and why not"), EXERCISED)
    assert amended(verdict, allow={"lost-write"}).result == "unknown"
    assert amended(judge("r", findings=[LOST]), allow={"lost-write"}).result == "valid"


def test_a_verdict_cannot_contradict_itself() -> None:
    with pytest.raises(ValueError, match="make it invalid, got valid"):
        Verdict(run="r", result="valid", findings=(LOST,))
    with pytest.raises(ValueError, match=r"result: expected valid \| invalid \| unknown, got 'fine'"):
        Verdict(run="r", result="fine")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"anomaly: expected one of lost-write, .*, got 'lost'"):
        Finding(anomaly="lost", count=1, summary="")
    with pytest.raises(ValueError, match=r"count: expected at least 1 .* got 0"):
        Finding(anomaly="duplicate", count=0, summary="")


def test_the_text_shows_what_a_user_needs() -> None:
    assert FULL.text().splitlines() == [
        "INVALID lost-write ×1,234 (run r1)",
        "",
        "lost-write: 1,234 acknowledged writes missing from the log at the end",
        "    at 4.2 s  orders-0  producer 0's 18th write  offset 7312  (during isolate leader (nodes 2))",
        "    at an unknown time  orders-2  producer 0's 19th write  offset unknown  (no fault active)",
        "    ... and 1,232 more",
        "",
        "unseen: 1 acknowledged write that nobody read  [makes the verdict unknown]",
        "",
        "duplicate: 2 values found twice  [allowed: not judged]",
        "",
        "What is unknown:",
        "  - Something was not seen.",
        "",
        "What was exercised:",
        "  12,030 sends: 12,000 acknowledged, 0 failed, 30 with unknown outcome; 24,000 records polled",
        "  final reads: 3 of 3 completed; session reads: none",
        "  leader changes observed: 1; ISR changes: 4",
        "  e1: isolate leader (nodes 2), from 3.0 s to an unknown time, took effect and is NOT known to be "
        "healed; acknowledged sends: 4,000 before, 3,000 during, 0 after",
        "",
        "What was not exercised (docs/anomalies.md):",
        "  acks-after-faults",
    ]


def test_the_text_of_a_valid_run() -> None:
    text = judge("r2", exercised=Exercised(sends={"ok": 1}, polls=1, final_reads={"ok": 1})).text()
    assert text.startswith("VALID (run r2)\n\nWhat was exercised:\n")
    assert text.endswith("no faults")


def test_the_text_shows_the_availability() -> None:
    lines = AVAILABLE.text().splitlines()
    assert "G0: 1 set of transactions  [note: not judged]" in lines
    assert "  transactions: 1 of 2 completed; offset commits: 5 of 5 completed" in lines
    assert lines[lines.index("What was not checked (no promise depends on it):") :] == [
        "What was not checked (no promise depends on it):",
        "  - Cycles were not searched.",
        "",
        "Availability:",
        "  longest time without an acknowledgement: 1.5 s on t-0, beginning at 2.0 s",
        "  after the last heal, 1 of 2 partitions acknowledged a new send, the last of them after 0.2 s",
        "  phase steady: 3 sends, 0.0% not acknowledged; "
        "latency median 1 ms, 99th percentile 10 ms, worst 0.5 s",
        "  phase faults: 1 send, 100.0% not acknowledged",
        "  worst real-time lag of a reader: 0.8 s",
        "",
        "Own writes of sessions:",
        "  2,000 acknowledged writes; the session's next read of the partition missed 1,990 of 1,999; never read: 3",
        "  from the acknowledgement to the session's first read of the write: median 502 ms, longest 800 ms",
    ]


def test_a_stored_staleness_without_numbers_is_refused() -> None:
    data = json.loads(AVAILABLE.to_json())
    data["staleness"]["median"] = "0.5"
    with pytest.raises(TypeError, match=r"got `str` - at `\$\.staleness\.median`"):
        Verdict.from_json(json.dumps(data))
    del data["staleness"]
    assert Verdict.from_json(json.dumps(data)).staleness is None, "an earlier version stored none"


def test_a_stored_propagation_without_numbers_is_refused() -> None:
    data = json.loads(judge("r", propagation=Propagation(changes=2, open=2)).to_json())
    assert Verdict.from_json(json.dumps(data)).propagation == Propagation(changes=2, open=2)
    data["propagation"]["longest"] = "0.5"
    with pytest.raises(TypeError, match=r"got `str` - at `\$\.propagation\.longest`"):
        Verdict.from_json(json.dumps(data))
    del data["propagation"]
    assert Verdict.from_json(json.dumps(data)).propagation is None, "an earlier version stored none"


def test_the_text_says_when_changes_of_leaders_had_reached_all_brokers() -> None:
    changed = Propagation(
        changes=12, open=1, median=0.0513, percentile_90=0.2, longest=8.4211, topic="orders", partition=2,
        leader_epoch=7, node=3,
    )  # fmt: skip

    def lines(propagation: Propagation | None) -> list[str]:
        text = judge("r", propagation=propagation).text().partition("Changes of leaders:\n")[2]
        return [line.strip() for line in text.splitlines()]

    assert lines(changed) == [
        "12 new leader epochs observed by two or more brokers",
        "until all brokers that answered had named it, at most: median 51 ms, 90th percentile 200 ms, "
        "longest 8,421 ms (orders-2, epoch 7, broker 3)",
        "not named by all of them at the end: 1",
    ]
    assert lines(Propagation(changes=1, open=1)) == [
        "1 new leader epoch observed by two or more brokers", "not named by all of them at the end: 1",
    ]  # fmt: skip
    assert lines(None) == []


def test_a_verdict_can_be_read_without_spark() -> None:
    code = (
        "import sys; from analyzers.catalogue import registry;"
        "from analyzers.verdict import text, verdict;"
        "sys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_malformed_times_and_examples_are_refused() -> None:
    for path, wrong in (
        (("findings", 0, "examples", 0), "x"),
        (("findings", 0, "examples", 0, "time"), "3"),
        (("exercised", "faults", 0, "began"), []),
        (("exercised", "faults", 0, "ended"), "x"),
    ):
        data = json.loads(FULL.to_json())
        parent = data
        for step in path[:-1]:
            parent = parent[step]
        parent[path[-1]] = wrong
        with pytest.raises(TypeError, match=r"[Ee]xpected"):
            Verdict.from_json(json.dumps(data))


def test_a_note_is_reported_without_effect_on_the_result() -> None:
    note = Finding(anomaly="int-send-skip", count=2, summary="sends between others")
    assert judge("r", findings=[note]).result == "valid"
    assert "int-send-skip: 2 sends between others  [note: not judged]" in judge("r", findings=[note]).text()
    unseen = Finding(anomaly="unseen", count=1, summary="")
    lost = Finding(anomaly="lost-write", count=1, summary="")
    verdict = judge("r", findings=[note, unseen, lost])
    assert (verdict.result, verdict.findings) == ("invalid", (lost, unseen, note))
    assert judge("r", findings=[note, unseen]).result == "unknown"


def test_what_decides_is_the_worst_finding_that_makes_a_run_invalid() -> None:
    note, allowed = Finding(anomaly="int-send-skip", count=2, summary=""), replace(LOST, allowed=True)
    reused = Finding(anomaly="offset-reuse", count=1, summary="")
    assert judge("r", findings=[UNSEEN, note, reused, LOST]).deciding == LOST
    assert judge("r", findings=[UNSEEN, note, allowed, reused]).deciding == reused
    assert judge("r", findings=[UNSEEN, note, allowed]).deciding is None


def test_the_text_shows_times_in_seconds_and_omits_a_missing_key() -> None:
    common = {"topic": "t", "partition": 0, "time": 1.0, "faults": []}
    example = common | {"offset": 3, "outstanding": 2.5, "key": None}
    text = judge("r", findings=[Finding(anomaly="unseen", count=1, summary="", examples=(example,))]).text()
    assert "offset 3  outstanding 2.5 s  (no fault active)" in text
    assert "key" not in text


def test_the_entry_of_a_verdict_separates_what_is_allowed_from_what_is_bad() -> None:
    data = entry(FULL, "runs/r1")
    assert (data["file"], data["run"], data["valid"]) == ("runs/r1", "r1", False)
    assert data["error-types"] == ["duplicate", "lost-write", "unseen"]
    assert data["bad-error-types"] == ["lost-write"]
    assert data["errors"]["lost-write"]["count"] == 1234
    assert data["unknowns"] == ["Something was not seen."]
    assert json.loads(json.dumps(data)) == data


def test_a_verdict_holds_all_that_it_is_made_of_and_comes_back_from_json() -> None:
    cause = Cause(kind="unknown", findings={"lost-write": 1234}, steps=(Step(time=1.0, text="a"),))
    parts = {
        "unknowns": ("Why.",), "exercised": EXERCISED, "notes": ("A note.",), "clients": {1: "producer 0"},
        "causes": (cause,), "settings": {"acks": "1"}, "began": 7,
        "availability": Availability(logs=(LogAvailability(topic="t", partition=0, longest_wait=3.0),)),
        "staleness": Staleness(writes=4, reads=3, missed=2, unseen=1, median=0.5),
        "propagation": Propagation(changes=2, open=1, longest=0.5, topic="t", partition=0, leader_epoch=3, node=2),
    }  # fmt: skip
    verdict = judge("r", findings=[LOST], **parts)
    assert {name: getattr(verdict, name) for name in parts} == parts
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_allowed_findings_stay_allowed_and_come_last() -> None:
    allowed = replace(LOST, allowed=True)
    verdict = judge("r", findings=[allowed, UNSEEN])
    assert verdict.findings == (UNSEEN, allowed)
    assert amended(verdict, allow={"unseen"}).findings == (allowed, replace(UNSEEN, allowed=True))
