"""The verdict as a value and as text. No JVM."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from analyzers.verdict.verdict import (
    Availability,
    Exercised,
    FaultExercised,
    Finding,
    LogAvailability,
    PhaseAvailability,
    Verdict,
    amended,
    judge,
)

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
FULL = judge("r1", findings=[TWICE, UNSEEN, LOST], unknowns=["Something was not seen."], exercised=EXERCISED)

CIRCLE = Finding(anomaly="G0", count=1, summary="set of transactions")
AVAILABLE = judge(
    "r3",
    findings=[CIRCLE],
    notes=["Circles were not searched."],
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
)


@pytest.mark.parametrize(
    ("findings", "unknowns", "result"),
    [
        ([CIRCLE], [], "valid"),
        ([CIRCLE], ["why"], "unknown"),
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


def test_a_verdict_amended() -> None:
    """What is there already is not counted again; what is allowed is no longer judged; the rest stays."""
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
        "INVALID: promises were broken  (run r1)",
        "",
        "lost-write: 1,234 acknowledged writes missing from the log at the end",
        "    at 4.213 s  orders-0  op 1:17  process 1  value 1:17  offset 7312  "
        "(during isolate leader (nodes 2))",
        "    at an unknown time  orders-2  op 1:18  process 1  value 1:18  offset unknown  (no fault active)",
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
        "  12,030 sends: 12,000 acknowledged, 0 fail, 30 info; 24,000 records polled",
        "  final reads: 3 of 3 complete; reads of sessions: none",
        "  leader changes observed: 1; ISR changes: 4",
        "  e1: isolate leader (nodes 2), 3.000 s to ?, took effect and is NOT known to be healed; "
        "acknowledged: 4,000 before, 3,000 during, 0 after",
    ]


def test_the_text_of_a_valid_run() -> None:
    text = judge("r2", exercised=Exercised(sends={"ok": 1}, polls=1, final_reads={"ok": 1})).text()
    assert text.startswith(
        "VALID: every promise that was checked was kept  (run r2)\n\nWhat was exercised:\n"
    )
    assert text.endswith("no faults")


def test_the_text_tells_how_available_it_was() -> None:
    lines = AVAILABLE.text().splitlines()
    assert "G0: 1 set of transactions  [note: not judged]" in lines
    assert "  transactions: 1 of 2 complete; commits of offsets: 5 of 5 complete" in lines
    assert lines[lines.index("What was not looked for:") :] == [
        "What was not looked for:",
        "  - Circles were not searched.",
        "",
        "How available it was:",
        "  longest time without an acknowledgement: 1.500 s on t-0, from 2.000 s on",
        "  after the last heal 1 of 2 partitions acknowledged again, the last one after 0.250 s",
        "  steady: 3 sends, 0.0% not acknowledged; median 0.001 s, 99 % 0.010 s, worst 0.500 s",
        "  faults: 1 sends, 100.0% not acknowledged",
        "  worst real-time lag: 0.750 s",
    ]


def test_a_verdict_can_be_read_without_spark() -> None:
    code = (
        "import sys; from analyzers import checks; from analyzers.anomalies import catalogue;"
        "from analyzers.verdict import text, verdict;"
        "sys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_times_and_examples_that_are_none_are_refused() -> None:
    for path, wrong in (
        (("findings", 0, "examples", 0), "x"),
        (("findings", 0, "examples", 0, "time"), "3"),
        (("exercised", "faults", 0, "began"), []),
        (("exercised", "faults", 0, "ended"), "x"),
    ):
        data = json.loads(FULL.to_json())
        place = data
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = wrong
        with pytest.raises(TypeError, match="expected"):
            Verdict.from_json(json.dumps(data))


def test_a_note_is_told_and_decides_nothing() -> None:
    note = Finding(anomaly="int-send-skip", count=2, summary="sends between others")
    assert judge("r", findings=[note]).result == "valid"
    assert "int-send-skip: 2 sends between others  [note: not judged]" in judge("r", findings=[note]).text()
    unseen = Finding(anomaly="unseen", count=1, summary="")
    lost = Finding(anomaly="lost-write", count=1, summary="")
    verdict = judge("r", findings=[note, unseen, lost])
    assert (verdict.result, verdict.findings) == ("invalid", (lost, unseen, note))
    assert judge("r", findings=[note, unseen]).result == "unknown"


def test_a_time_is_told_in_seconds_and_a_key_only_where_there_is_one() -> None:
    place = {"topic": "t", "partition": 0, "time": 1.0, "faults": []}
    example = place | {"offset": 3, "outstanding": 2.5, "key": None}
    text = judge("r", findings=[Finding(anomaly="unseen", count=1, summary="", examples=(example,))]).text()
    assert "offset 3  outstanding 2.500 s  (no fault active)" in text
    assert "key" not in text
