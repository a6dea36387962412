"""A busy, healthy run is valid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyzers.judge.analyze import analyze
from tests.support.repetitions import repetitions
from workloads.history.schema import TABLES

pytestmark = pytest.mark.spark

OPERATIONS = repetitions(100_000, shorter=30_000)


def healthy(operations: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A busy, healthy run: writers, a tailing reader, a session and final reads. Offsets have gaps."""
    partitions, sends = 4, operations // 2
    ends, last = [0] * partitions, {}
    log: list[list[tuple[int, int, int]]] = [[] for _ in range(partitions)]
    for i in range(sends):
        writer, sequence = i % 5, i // 5
        partition, time = sequence % partitions, i * 1000
        value, offset = writer << 40 | sequence, ends[partition]
        kind = "fail" if i % 211 == 0 else "info" if i % 101 == 0 else "ok"
        row = {"f": "send", "op": value, "value": value, "process": writer, "index": sequence, "type": kind}
        row |= {
            "invoked": time,
            "completed": time + 900,
            "topic": "t",
            "partition": partition,
            "assignment": 0,
        }
        yield (
            "records",
            row
            | {
                "offset": offset if kind == "ok" else None,
                "previous": last.get((writer, partition)),
                "within": False if (writer, partition) in last else None,
                "session": 1 if writer == 0 else None,
            },
        )
        if kind == "ok":
            last[writer, partition] = offset
        if kind != "fail":
            log[partition].append((offset, value, time + 950))
            ends[partition] += 2 if len(log[partition]) % 100 == 0 else 1
    end = sends * 1000 + 10_000
    for partition, entries in enumerate(log):
        for process, session, final in ((10, None, False), (11, 1, False), (12, None, True)):
            previous, op = None, (1 << 62) + partition * 16 + process
            for index, (offset, value, time) in enumerate(entries):
                when = end if final or session else time
                row = {
                    "f": "poll",
                    "type": "ok",
                    "op": op,
                    "value": value,
                    "process": process,
                    "index": index,
                }
                row |= {"invoked": when + 1, "completed": when + 2, "topic": "t", "partition": partition}
                row |= {"offset": offset, "previous": previous, "assignment": partition, "session": session}
                row |= {"within": None if previous is None else True}
                yield "records", row | {"final": final}
                previous = offset
            if final or session:
                yield "operations", {
                    "f": "final-read" if final else "read", "type": "ok", "op": op, "process": process,
                    "session": session, "invoked": end, "completed": end + 3, "topic": "t",
                    "partition": partition, "start_offset": 0, "end_offset": ends[partition],
                }  # fmt: skip


def test_a_busy_healthy_history_is_valid(spark: Any, tmp_path: Path) -> None:
    tables: dict[str, list[dict[str, Any]]] = {"records": [], "operations": []}
    for table, row in healthy(OPERATIONS):
        tables[table].append(row | {"run": "busy"})
    for table, rows in tables.items():
        (tmp_path / "history" / table).mkdir(parents=True)
        pq.write_table(
            pa.Table.from_pylist(rows, schema=TABLES[table]), tmp_path / "history" / table / "0.parquet"
        )
    verdict = analyze(spark, [tmp_path])["busy"]
    assert (verdict.result, verdict.findings, verdict.unknowns) == ("valid", (), ())
    assert sum(verdict.exercised.sends.values()) + verdict.exercised.polls >= OPERATIONS
    assert verdict.exercised.session_reads == {"ok": 4}
