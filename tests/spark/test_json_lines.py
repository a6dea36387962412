"""``kafkacheck analyze FILE.jsonl``: histories of other programs, and own runs through JSON lines and back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analyzers.catalogue.registry import CHECKS
from analyzers.facts.registry import inputs
from analyzers.judge.analyze import analyze
from pytest_kafkacheck.cli import main as cli
from tests.support.fact_inputs import inputs_of_facts
from tests.support.json_lines import Row, final_read, poll, send, write_lines
from tests.support.random_histories.groups import group_history
from tests.support.random_histories.logs import draw_histories, log_history
from tests.support.random_histories.queues import queue_history
from tests.support.random_histories.transactions import transaction_history
from tests.support.repetitions import repetitions
from tests.support.round_trip import comparable, through_lines
from workloads.history.lines.export import export_lines
from workloads.history.lines.imports import import_lines
from workloads.history.schema import HARNESS, VALUE_BITS

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_of_tests")]

RUNS = Path(__file__).parents[1] / "data" / "runs"

FOUND = ("lost-write", "unfenced-commit")
"""Anomalies that the recorded runs of the day have."""


def judged(
    tmp_path: Path, *rows: Row | str, name: str = "h.jsonl", header: Any = None
) -> tuple[int, dict[str, Any]]:
    """The exit status, and the entry of the file in the JSON."""
    file, out = write_lines(tmp_path / name, *rows, header=header), tmp_path / "out.json"
    status = cli.main(["analyze", str(file), "--json", str(out)])
    (entry,) = json.loads(out.read_text())
    assert entry["file"] == str(file)
    return status, entry


STRANGER = 900 << VALUE_BITS
"""A value that no random history sends."""

TEN_LINES = [
    send("order-1", 1, 0),
    send("order-2", 2, 1),
    send("order-3", 3, 2),
    send("order-4", 4, 3),
    send("order-5", 5, type="fail"),
    poll(6, "order-1", "order-2"),
    *final_read(20, "order-1", "order-2", "order-3", "order-4"),
    poll(8, "order-3", first=2),
]  # fmt: skip
"""With line 1, ten lines."""


@pytest.mark.parametrize("name", ["h.jsonl", "h.jsonl.gz"])
def test_a_history_of_ten_lines_is_valid(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(TEN_LINES) == 9
    status, entry = judged(tmp_path, *TEN_LINES, name=name)
    assert (status, entry["valid"], entry["unknowns"], entry["run"]) == (cli.AS_EXPECTED, True, [], "h")
    assert f"kept   {tmp_path / name}" in capsys.readouterr().out


def test_a_lost_write_is_found_and_its_line_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The final read ends behind the write, which an earlier reader did not get either."""
    rows = [row for row in TEN_LINES if row["f"] == "send"]
    last = {"f": "poll", "process": "last", "final": True, "topic": "t", "partition": 0, "type": "ok", "invoked": 21,
            "completed": 22, "records": [{"offset": n, "value": f"order-{n + 1}"} for n in (0, 1, 3)]}  # fmt: skip
    status, entry = judged(tmp_path, *rows, *final_read(20, end=4), last)
    assert (status, entry["valid"], entry["bad-error-types"]) == (cli.NOT_AS_EXPECTED, False, ["lost-write"])
    assert entry["errors"]["lost-write"]["count"] == 1
    out = capsys.readouterr().out
    assert 'line 4 (lost-write): {"f": "send"' in out
    assert "order-3" in out
    assert f"kafkacheck explain {tmp_path / 'h.jsonl'}" in out
    assert cli.main(["explain", str(tmp_path / "h.jsonl")]) == cli.AS_EXPECTED
    assert "lost-write/1 of 1" in capsys.readouterr().out
    cli.main(["analyze", str(tmp_path / "h.jsonl"), "-v"])
    assert "writer's 3rd write" in capsys.readouterr().out, "the client has the name that the file gives it"


def test_the_example_of_the_documents_is_what_they_say(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "json_lines.md").read_text()
    lines = page.partition("```json\n")[2].partition("```")[0].splitlines()
    assert len(lines) == 10
    status, entry = judged(tmp_path, *lines[1:], header=lines[0])
    assert (status, entry["error-types"], entry["unknowns"]) == (cli.NOT_AS_EXPECTED, ["lost-write"], [])


def test_what_is_missing_makes_a_history_unknown(tmp_path: Path) -> None:
    """Each part that a verdict needs, left out."""
    txn = {
        "f": "txn",
        "op": "x",
        "process": "w",
        "type": "fail",
        "outcome": "commit",
        "transactional_id": "x",
    }
    txn |= {"invoked": 3, "completed": 4}
    fault = {
        "f": "fault",
        "fault": "isolate",
        "event": "e",
        "target": "leader",
        "effective": True,
        "nodes": [1],
    }
    fault |= {"completed": 31}
    heal = fault | {"stage": "heal", "invoked": 40, "completed": 41, "active": {"surely": [31, 40]}}
    cases: dict[str, tuple[list[Row], str]] = {
        "final read": ([send("a", 1, 0), poll(5, "a")], "there was no final read of it"),
        "send": ([*final_read(9, end=0)], "The history holds no records"),
        "acknowledgement": ([send("a", 1), *final_read(9, end=0)], "No send was acknowledged"),
        "offset": ([{k: v for k, v in send("a", 1, 0).items() if k != "offset"}, *final_read(9, "a")],
                   "does not contain offset of 1 of 1 acknowledged sends"),
        "commit": ([send("a", 1, 0), txn, *final_read(9, "a")], "no commit was acknowledged, of 1 transactions"),
        "end of a client": (
            [send("a", 1, 0), *final_read(9, "a"),
             {"f": "worker", "process": "writer", "role": "producer", "event": "started", "invoked": 0}],
            "does not say how clients ended (producer",
        ),
        "a phase": ([send("a", 1, 0), {"f": "phase", "phase": "end", "invoked": 30}, *final_read(9, "a")],
                    "no record that these phases of the run began: steady, recovery, final"),
        "heal": ([send("a", 1, 0), fault | {"stage": "inject", "invoked": 30}, *final_read(50, "a")], "isolate"),
        "send after the fault": (
            [send("a", 1, 0), fault | {"stage": "inject", "invoked": 30}, heal, *final_read(50, "a")],
            "no send was acknowledged after the end of isolate leader (e",
        ),
    }  # fmt: skip
    out = tmp_path / "out.json"
    files = [str(write_lines(tmp_path / f"{name}.jsonl", *rows)) for name, (rows, _) in cases.items()]
    assert cli.main(["analyze", *files, "--json", str(out)]) == cli.UNKNOWN
    entries = {Path(entry["file"]).stem: entry for entry in json.loads(out.read_text())}
    for name, (_, reason) in cases.items():
        entry = entries[name]
        assert entry["valid"] == "unknown", name
        assert any(reason in each for each in entry["unknowns"]), (name, entry["unknowns"])


def in_unit(row: Any, factor: float) -> Any:
    """The row with its times in another unit."""
    times = {name: row[name] * factor for name in ("invoked", "completed", "time") if name in row}
    return row | times


def test_files_that_are_as_good_as_others(tmp_path: Path) -> None:
    """Each is valid: other units, another name, and lines of the harness without phases."""
    worker = {"f": "worker", "process": "writer", "role": "producer"}
    harness = [
        worker | {"event": "started", "invoked": 0}, worker | {"event": "stopped", "invoked": 15},
        {"f": "recovery", "invoked": 16, "limit": 30},
        {"f": "comparison", "topic": "t", "partition": 0, "invoked": 40, "nodes": [1, 2], "equal": 4},
    ]  # fmt: skip
    of_queue = {"process": "c", "type": "ok", "topic": "t", "partition": 0, "group": "q", "completed": 19}
    of_queue |= {"invoked": 18}
    queue = [of_queue | {"f": "queue", "end_offset": 4, "lock": 15_000, "delivery_limit": 5, "began": 4}]
    queue += [of_queue | {"f": "delivery", "op": "d", "start_offset": 3, "value": "order-4"}]
    queue += [of_queue | {"f": "acknowledgement", "delivery": "d", "kind": "accept", "start_offset": 3}]
    cases = {
        "ms.jsonl": ("ms", TEN_LINES),
        "s.txt": ("s", [in_unit(row, 0.001) for row in TEN_LINES]),
        "us": ("us", [in_unit(row, 1000) for row in TEN_LINES]),
        "harness.jsonl": ("ms", [*TEN_LINES, *harness]),
        "queue.jsonl": ("ms", [*TEN_LINES, *queue]),
    }
    for name, (unit, rows) in cases.items():
        write_lines(tmp_path / name, *rows, header={"kafkacheck_history": 1, "unit": unit})
    out = tmp_path / "out.json"
    assert (
        cli.main(["analyze", *[str(tmp_path / name) for name in cases], "--json", str(out)])
        == cli.AS_EXPECTED
    )
    assert len(json.loads(out.read_text())) == len(cases)


def test_a_file_says_what_it_has_to_show_and_what_is_allowed(tmp_path: Path) -> None:
    header = {"kafkacheck_history": 1, "unit": "ms", "run": "mine"}
    status, entry = judged(tmp_path, *TEN_LINES, header=header | {"requires": ["transactions"]})
    assert (status, entry["run"]) == (cli.UNKNOWN, "mine")
    lost = [*TEN_LINES[:4], *final_read(20, end=4)]
    assert judged(tmp_path, *lost, header=header | {"allow": ["lost-write"]})[0] == cli.AS_EXPECTED


def test_a_bad_file_beside_a_good_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write_lines(tmp_path / "good.jsonl", *TEN_LINES)
    bad = write_lines(tmp_path / "bad.jsonl", {"f": "nothing"})
    assert cli.main(["analyze", str(bad), str(good)]) == cli.UNKNOWN
    assert f"{bad}: line 2: f: expected one of send" in capsys.readouterr().err
    assert cli.main(["analyze", str(bad)]) == cli.USAGE
    for field, name in (("requires", "transactionz"), ("allow", "lost-writes")):
        header = {"kafkacheck_history": 1, "unit": "ms", field: [name]}
        assert (
            cli.main(["analyze", str(write_lines(tmp_path / "x.jsonl", *TEN_LINES, header=header))])
            == cli.USAGE
        )
        assert "x.jsonl: line 1: " in capsys.readouterr().err


@pytest.mark.nightly  # by day, runs of tests/cluster go through them
def test_recorded_runs_have_the_same_verdicts_through_json_lines(spark: Any, tmp_path: Path) -> None:
    """Only the numbers of operations differ."""
    natives, imported = [], []
    recorded_runs = sorted(each for each in RUNS.iterdir() if each.is_dir())
    for run in recorded_runs[:: repetitions(1, shorter=5)]:
        natives.append(tmp_path / "native" / run.name)
        shutil.copytree(run, natives[-1])
        imported.append(through_lines(natives[-1], tmp_path / "imported" / run.name))
    few = CHECKS[:: repetitions(1, shorter=4)]
    checks = [check for check in CHECKS if check in few or check.name in FOUND]
    native, again = (analyze(spark, homes, checks=checks) for homes in (natives, imported))
    assert len(native) == repetitions(len(recorded_runs), shorter=2)
    for run_id, verdict in native.items():
        assert verdict.findings, "otherwise the comparison shows little"
        assert comparable(again[run_id]) == comparable(verdict)


def consistent(story: Any) -> Any:
    """Without what no run records: a process that goes back in time or to an earlier generation, a transaction that
    nobody began or that does not decide about its sends, an event of a member of no group, a poll of nothing, a value
    that is intact although its send names another partition, keys in a topic whose settings are not known."""
    story.has_phases = False
    story.records.sort(key=lambda row: row["invoked"])
    members = [row for row in story.records if row.get("generation") is not None]
    for process in {row["process"] for row in members}:
        of_process = [row for row in members if row["process"] == process]
        for row, generation in zip(of_process, sorted(row["generation"] for row in of_process), strict=True):
            row["generation"] = generation
    decided = {row["op"]: row for row in story.operations if row["f"] == "txn"}
    homes = {row["value"]: (row["topic"], row["partition"]) for row in story.records if row["f"] == "send"}
    for row in story.records:
        of = decided.get(row.get("transaction"))
        if of is None:
            row["transaction"] = None
        elif row["f"] == "send" and row["type"] != "fail":
            committed = json.loads(of["value"])["outcome"] == "commit"
            by_outcome = {"ok": row["type"] if committed else "fail", "fail": "fail", "info": "info"}
            row["type"] = by_outcome[of["type"]]
            if row["type"] != "info":
                row["completed"] = max(row["completed"], of["completed"])
        if row["value"] is None and row.get("error") not in ("foreign", "corrupt"):
            row["value"] = STRANGER
        if row["f"] == "poll" and row.get("error") not in ("foreign", "corrupt"):
            home = homes.get(row["value"])
            row["error"] = None if home in (None, (row["topic"], row["partition"])) else "misrouted"
    for row in story.operations:
        if row["f"] == "member":
            row.setdefault("group", "g")
        if row["f"] == "commit":
            value = json.loads(row["value"])
            value.pop("transaction", None)
            row["value"] = json.dumps(value)
    for topic in sorted({row["topic"] for row in story.records}):
        value = json.dumps({"event": "created", "config": {"cleanup.policy": "delete"}})
        story.operation("topic", process=HARNESS, topic=topic, partition=None, value=value, at=(0, 0))
    return story


def recorded(run: Path) -> list[str]:
    """The records of a run, in an order that does not depend on their numbers."""
    rows = [
        row | {"final": bool(row["final"])} for row in pq.read_table(run / "history" / "records").to_pylist()
    ]
    numbers = ("run", "op", "index", "value", "transaction", "source")
    return sorted(str({name: row[name] for name in sorted(row) if name not in numbers}) for row in rows)


@pytest.mark.nightly
def test_random_histories_have_the_same_findings_through_json_lines(
    spark: Any, story: Any, write: Any, tmp_path: Path
) -> None:
    natives, imported, stories = [], [], {}
    for strategy in (log_history, group_history, transaction_history, queue_history):
        for name, each in draw_histories(strategy(story), repetitions(25, shorter=10)).items():
            if not each.records:
                continue
            run = f"{strategy.__name__}-{name}"
            stories[run] = consistent(each)
            natives.append(write(tmp_path / "native" / run, {run: each}))
            file = tmp_path / f"{run}.jsonl"
            export_lines(natives[-1], file)
            imported.append(tmp_path / "imported" / run)
            import_lines(file, imported[-1])
            assert recorded(imported[-1]) == recorded(natives[-1]), run
    native, again = analyze(spark, natives, examples=0), analyze(spark, imported, examples=0)
    found, found_again = (
        {run: {each.anomaly: each.count for each in verdict.findings} for run, verdict in verdicts.items()}
        for verdicts in (native, again)
    )
    assert sum(map(bool, found.values())) > 0.4 * len(found), "most of them must have findings"
    for run, counts in found.items():
        assert found_again[run] == counts, (run, stories[run].rows(run))


@pytest.mark.nightly
def test_the_printed_needs_of_checks_are_those_of_their_facts(spark: Any) -> None:
    """If not: ``python -m tests.support.fact_inputs``. By day, the names of the facts are compared."""
    assert inputs_of_facts(spark) == inputs()
