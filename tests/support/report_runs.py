"""Runs for the report: tables planted row by row, and a recorded run with the verdict that its story tells."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from analyzers.causes.explainer import UNCLEAN_ELECTION
from analyzers.causes.registry import KINDS
from analyzers.verdict.finding import Cause, Cut, Election, Finding, Step
from analyzers.verdict.verdict import Verdict, judge
from pytest_kafkacheck.report.run_data import RunData
from workloads.history.schema import HARNESS, OBSERVATIONS, OPERATIONS, RECORDS

SECOND = 1_000_000_000
BEGAN = 1_000 * SECOND
"""Of planted runs, ns."""

RECORDED = Path(__file__).parents[1] / "data" / "runs"
UNCLEAN_BEGAN = 22_286_673_499_347
"""Of the recorded run `unclean`, ns."""

LOST = range(128, 258)
"""Its offsets that were cut, see tests/data/stories/unclean.txt."""


def planted(
    *,
    records: Iterable[Mapping[str, Any]] = (),
    operations: Iterable[Mapping[str, Any]] = (),
    observations: Iterable[Mapping[str, Any]] = (),
    verdict: Verdict | None = None,
    **more: Any,
) -> RunData:
    """Of rows with times in seconds since the begin; `value` of an operation is an object."""
    return RunData(
        home=Path("planted"),
        records=ds.dataset(_table(records, RECORDS)),
        operations=_table(operations, OPERATIONS),
        observations=_table(observations, OBSERVATIONS),
        verdict=verdict,
        **more,
    )


def _table(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    times = {"invoked", "completed", "time", "intended"}
    made = []
    for row in rows:
        ns = {name: BEGAN + round(row[name] * SECOND) for name in times & row.keys() if row[name] is not None}
        value = {"value": json.dumps(row["value"])} if isinstance(row.get("value"), dict) else {}
        made.append({**row, **ns, **value})
    return pa.Table.from_pylist(made, schema)


def send(value: int, at: float, took: float | None = 0.01, **more: Any) -> dict[str, Any]:
    """Acknowledged in partition 0, unless `more` says otherwise."""
    completed = None if took is None else at + took
    row = {
        "f": "send",
        "type": "ok" if took is not None else "info",
        "process": 0,
        "topic": "t",
        "partition": 0,
    }
    return {**row, "value": value, "offset": value, "invoked": at, "completed": completed, **more}


def poll(value: int, at: float, **more: Any) -> dict[str, Any]:
    row = {"f": "poll", "type": "ok", "process": 1, "topic": "t", "partition": 0, "final": False}
    return {**row, "value": value, "offset": value, "invoked": at, "completed": at, **more}


def step(f: str, at: float, **value: Any) -> dict[str, Any]:
    """A row of the harness."""
    return {
        "f": f,
        "type": "info",
        "process": HARNESS,
        "op": -1,
        "invoked": at,
        "completed": at,
        "value": value,
    }


def sample(
    node: int, at: float, *, leader: int, epoch: int = 0, isr: Iterable[int] = (1, 2), end: int = 0
) -> dict[str, Any]:
    return {
        "process": 9, "time": at, "node": node, "kind": "partition", "topic": "t", "partition": 0, "leader": leader,
        "leader_epoch": epoch, "isr": list(isr), "high_watermark": end, "log_end": end,
    }  # fmt: skip


def unclean(home: Path, **changes: str) -> Path:
    """The recorded run `unclean` with a verdict, in a folder of its own.

    changes  texts of the verdict, such as its topic's name, and what replaces them.
    """
    shutil.copytree(RECORDED / "unclean", home)
    text = unclean_verdict(home).to_json()
    for old, new in changes.items():
        text = text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
    (home / "verdict.json").write_text(text)
    return home


def unclean_verdict(home: Path) -> Verdict:
    rows = pq.read_table(home / "history" / "records").to_pylist()
    found = {row["value"] for row in rows if row["final"]}
    lost = [
        row
        for row in rows
        if row["f"] == "send" and row["type"] == "ok" and row["value"] not in found and row["offset"] in LOST
    ]
    assert len(lost) == len(LOST)
    examples = tuple(
        {
            "topic": row["topic"], "partition": 0, "time": (row["completed"] - UNCLEAN_BEGAN) / 1e9,
            "process": row["process"], "op": row["op"], "offset": row["offset"], "value": row["value"],
            "faults": ["partition leader (nodes 3)"],
        }
        for row in sorted(lost, key=lambda row: row["completed"])[:5]
    )  # fmt: skip
    (topic,) = {row["topic"] for row in rows}
    steps = (
        Step(
            time=5.8,
            text=f"broker 3 (leader of {topic}-0, epoch 0) is cut off from replication",
            is_fault=True,
        ),
        Step(time=11.8, text=f"broker 3 (leader of {topic}-0, epoch 0) is killed", is_fault=True),
        Step(time=33.4, text=f"broker 1 leads {topic}-0, epoch 1, ISR {{1}}; its log ends at 128"),
        Step(time=43.4, text="broker 3 follows broker 1 and has truncated its log from 258 to 128"),
    )
    kind = KINDS["unclean.leader.election.enable=true"]
    cause = Cause(
        kind=kind.happened,
        name=kind.name,
        changes=kind.changes,
        why=kind.why,
        change=kind.change,
        source=kind.source,
        logs=(f"{topic}-0",),
        findings={"lost-write": len(lost)},
        circumstances=(UNCLEAN_ELECTION,),
        faults=("partition-0", "kill-1"),
        cuts=(Cut(node=3, log_end=258, offset=128, epoch=0, time=43.4),),
        election=Election(leader=1, epoch=1, time=33.4, isr=(1,)),
        steps=steps,
    )
    summary = "acknowledged writes missing from the log at the end"
    return judge(
        "a291cba7",
        findings=[Finding(anomaly="lost-write", count=len(lost), summary=summary, examples=examples)],
        causes=[cause],
        clients={0: "producer 0", 1: "reader 0", 2: "session 0", 3: "probe 0", 4: "final 0"},
        settings={"acks": "all", "min.insync.replicas": "1", "unclean.leader.election.enable": "true"},
        began=UNCLEAN_BEGAN,
    )
