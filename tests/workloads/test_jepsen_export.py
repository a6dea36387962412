"""An exported run is read back as the same operations, and is a history that Jepsen could have recorded."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workloads.history.jepsen.export import export_edn
from workloads.history.jepsen.operations import Op, read
from workloads.history.schema import NEMESIS, TABLES


def write(folder: Path, records: list[dict[str, Any]], operations: list[dict[str, Any]]) -> Path:
    for table, rows in {"records": records, "operations": operations}.items():
        (folder / "history" / table).mkdir(parents=True, exist_ok=True)
        pq.write_table(
            pa.Table.from_pylist(rows, schema=TABLES[table]), folder / "history" / table / "part-0.parquet"
        )
    return folder


def record(f: str, op: int, **more: Any) -> dict[str, Any]:
    row = {"run": "r", "op": op, "index": op, "process": 1, "f": f, "type": "ok", "invoked": 10 * op}
    row |= {"completed": 10 * op + 5, "topic": "t", "partition": 0, "offset": op, "value": op}
    return row | {"assignment": 0 if f == "send" else 1} | more


def exported(folder: Path) -> list[Op]:
    file = folder / "history.edn"
    rows = export_edn(folder, file)
    ops = list(read(file))
    assert rows == len(ops)
    return ops


def shown(ops: list[Op]) -> list[tuple[Any, ...]]:
    return [(op.process, op.type, op.f, [(p.call, p.key, p.offset, p.value) for p in op.pairs]) for op in ops]


def test_sends_polls_and_faults(tmp_path: Path) -> None:
    records = [
        record("send", 1, partition=1),
        record("send", 2, type="info", completed=None, offset=None),
        record("poll", 3, offset=0),
        record("poll", 3, offset=1, index=4),
        record("poll", 5, offset=0, assignment=2),
    ]
    fault = {
        "run": "r",
        "op": 99,
        "process": NEMESIS,
        "f": "kill",
        "type": "info",
        "invoked": 12,
        "completed": 13,
    }
    fault["value"] = '{"event": "e", "stage": "inject", "nodes": [2]}'
    ops = exported(write(tmp_path, records, [fault]))
    assert shown(ops) == [
        (1, "invoke", "send", []),
        ("nemesis", "info", "kill", []),
        (1, "ok", "send", [("send", "1", 1, "1")]),
        (1, "invoke", "send", []),
        (1, "info", "send", [("send", "0", None, "2")]),
        *[(1, kind, "assign", []) for kind in ("invoke", "ok", "invoke", "ok")],
        (1, "invoke", "poll", []),
        (1, "ok", "poll", [("poll", "0", 0, "3"), ("poll", "0", 1, "3")]),
        *[(1, kind, "assign", []) for kind in ("invoke", "ok", "invoke", "ok")],
        (1, "invoke", "poll", []),
        (1, "ok", "poll", [("poll", "0", 0, "5")]),
    ]
    assert [op.keys for op in ops if op.f == "assign" and op.type == "ok"] == [(), ("0",)] * 2


def test_a_member_in_another_generation_is_assigned_again(tmp_path: Path) -> None:
    """It may have lost the partition in between, so what it polls next is no step from what it polled before."""
    records = [record("poll", op, generation=generation) for op, generation in ((1, 1), (2, 1), (3, 3))]
    ops = exported(write(tmp_path, records, []))
    assert [op.f for op in ops if op.type == "ok"] == [
        "assign",
        "assign",
        "poll",
        "poll",
        "assign",
        "assign",
        "poll",
    ]


@pytest.mark.parametrize(
    ("kind", "outcome", "expected"),
    [("ok", "commit", "ok"), ("ok", "abort", "fail"), ("info", "commit", "info")],
)
def test_a_transaction_is_one_operation(tmp_path: Path, kind: str, outcome: str, expected: str) -> None:
    txn = {"run": "r", "op": 50, "process": 1, "f": "txn", "type": kind, "invoked": 0, "completed": 90}
    txn["value"] = f'{{"transactional_id": "a", "epoch": 0, "outcome": "{outcome}"}}'
    records = [record("send", 1, transaction=50), record("send", 2, transaction=50)]
    ops = exported(write(tmp_path, records, [txn]))
    assert shown(ops)[1] == (1, expected, "txn", [("send", "0", 1, "1"), ("send", "0", 2, "2")])


def test_a_folder_without_a_history(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a run directory: it has no history"):
        export_edn(tmp_path, tmp_path / "out")


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for op in range(draw(st.integers(1, 12))):
        f = draw(st.sampled_from(["send", "poll"]))
        began = draw(st.integers(0, 30))
        ended = draw(st.one_of(st.none(), st.integers(began, 40)))
        kind = draw(st.sampled_from(["ok", "fail", "info"]))
        more = {"process": draw(st.integers(1, 2)), "invoked": began, "completed": ended, "type": kind}
        for number in range(1 if f == "send" else draw(st.integers(1, 3))):
            offset = draw(st.integers(0, 5)) if f == "poll" else draw(st.one_of(st.none(), st.integers(0, 5)))
            where = {"partition": draw(st.integers(0, 1)), "offset": offset, "index": 10 * op + number}
            rows.append(record(f, op, **more, **where))
    return rows


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(histories())
def test_an_exported_run_is_read_back(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    ops = exported(write(tmp_path, records, []))
    keys = sorted({row["partition"] for row in records})

    def described(f: str, kind: str, partition: int, offset: int | None, value: int) -> tuple[Any, ...]:
        return f, kind, keys.index(partition), offset, value

    ours = Counter(described(r["f"], r["type"], r["partition"], r["offset"], r["value"]) for r in records)
    theirs = Counter(
        (p.call, op.type, int(p.key), p.offset, int(p.value or "")) for op in ops for p in op.pairs
    )
    assert theirs == ours
    # Each operation keeps its times. `read` has checked that the operations of a process do not overlap.
    spans = defaultdict(set)
    for row in records:
        spans[row["op"]].add((row["invoked"], row["completed"] or row["invoked"]))
    ended = Counter((op.invoked_time, op.time) for op in ops if op.type != "invoke" and op.f != "assign")
    assert ended == Counter(span for each in spans.values() for span in each)
