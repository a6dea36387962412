"""The warm-up: judges a small history, so that Spark has loaded and compiled the code that the next verdict needs."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from analyzers.history.load import HANDED_OVER
from analyzers.judge.analyze import analyze
from analyzers.spark.internals.quick_start import record_classes
from analyzers.spark.session import fit, scratch_of
from analyzers.spark.settings import INTERPRETED
from workloads.history.schema import HARNESS, NEMESIS, TABLES

RUN = {"run": "warm-up", "topic": "t", "partition": 0, "invoked": 1, "completed": 2, "process": 0}
SEND = RUN | {"f": "send", "type": "ok"}
POLL = RUN | {"f": "poll", "type": "ok", "process": 1, "final": False, "committed": True}

HEALTHY: dict[str, list[dict[str, Any]]] = {
    "records": [
        SEND | {"op": 0, "index": 0, "offset": 0, "value": 0},
        SEND | {"op": 1, "index": 1, "offset": 1, "value": 1, "session": 1, "previous": 0},
        POLL | {"op": 2, "index": 0, "offset": 0, "value": 0},
        POLL | {"op": 2, "index": 1, "offset": 1, "value": 1, "previous": 0, "within": True},
    ],
    "operations": [
        RUN | {"op": 3, "session": 1, "f": "read", "type": "ok", "start_offset": 0, "end_offset": 0},
        RUN | {"op": 4, "f": "final-read", "type": "ok", "start_offset": 0, "end_offset": 0},
        RUN
        | {
            "op": 5,
            "process": NEMESIS,
            "f": "kill",
            "type": "info",
            "value": '{"event": "e", "stage": "inject", "target": "0", "nodes": [0], "effective": true}',
        },
    ],
    "observations": [
        {"run": "warm-up", "topic": "t", "partition": 0, "time": 1, "node": 0, "kind": "partition"}
        | {"leader": 0, "leader_epoch": 0, "isr": [0]},
    ],
}
"""Like most histories: the first look finds nothing suspicious."""

ORDINARY: dict[str, list[dict[str, Any]]] = {
    **HEALTHY,
    "records": [
        *HEALTHY["records"],
        *(
            row | {"index": number, "offset": number, "value": number, "previous": number - 1}
            for number in range(2, 2 + HANDED_OVER // 2)
            for row in (SEND | {"op": 6}, POLL | {"op": 7, "within": True})
        ),
    ],
}
"""As healthy, and with so many rows that Spark reads files, in code that it generates."""

SAMPLE = HEALTHY["observations"][0] | {"node": 1, "leader": 1}
GROUP = RUN | {"process": 1, "type": "ok", "group": "g", "generation": 1}
SUSPICIOUS: dict[str, list[dict[str, Any]]] = {
    "records": [
        *HEALTHY["records"],
        # In a transaction: the first record is never read, and the second one overtakes it.
        SEND | {"op": 5, "index": 2, "offset": 2, "value": 5, "invoked": 8, "completed": 9, "transaction": 9},
        SEND | {"op": 6, "index": 3, "offset": 3, "value": 6, "previous": 2, "transaction": 9},
        # Polled in a group: skips a record, goes back, and finds another value at a known offset.
        POLL | {"op": 7, "index": 2, "offset": 3, "value": 0, "previous": 1, "generation": 1},
        POLL | {"op": 7, "index": 3, "offset": 2, "value": 1, "previous": 3, "generation": 1, "key": 1},
        POLL | {"op": 7, "index": 4, "offset": 3, "value": 1, "previous": 2, "generation": 1, "key": 1},
    ],
    "operations": [
        *HEALTHY["operations"],
        RUN | {"op": 9, "f": "txn", "type": "ok", "value": '{"transactional_id": "t", "outcome": "commit"}'},
        GROUP | {"op": 10, "f": "member", "start_offset": 0, "value": '{"event": "assigned", "member": "m"}'},
        GROUP | {"op": 11, "f": "commit", "end_offset": 1, "value": '{"member": "m"}'},
        RUN
        | {
            "op": 12,
            "process": HARNESS,
            "topic": "compacted",
            "f": "topic",
            "type": "ok",
            "value": '{"event": "created", "config": {"cleanup.policy": "compact"}}',
        },
    ],
    "observations": [
        *HEALTHY["observations"],
        # A topic that demands two replicas, which the leader does not have.
        {
            "run": "warm-up",
            "topic": "t",
            "time": 1,
            "kind": "settings",
            "value": '{"min.insync.replicas": "2"}',
        },
        {"run": "warm-up", "time": 1, "asked": 0, "kind": "group_state", "node": 0, "connection": 0}
        | {"value": '{"group": "g", "state": "Empty", "epoch": 1, "members": {}, "positions": {"t-0": 1}}'},
        {"run": "warm-up", "time": 1, "asked": 0, "kind": "transaction", "node": 0, "connection": 0}
        | {
            "value": '{"transactional_id": "t", "state": "Ongoing", "producer_id": 1, "epoch": 1, "started": 1}'
        },
        # An in-sync follower behind an earlier high watermark, and a log that lost its beginning.
        SAMPLE
        | {
            "time": 2_000_000_000,
            "leader": 0,
            "leader_epoch": 1,
            "isr": [0, 1],
            "log_end": 1,
            "log_start": 0,
        },
        SAMPLE | {"time": 2, "log_start": 1},
        # Another leader in the same epoch, which is not in sync, and whose log ends below an earlier high watermark.
        SAMPLE | {"time": 3, "high_watermark": 9, "log_end": 9},
        SAMPLE | {"time": 5, "high_watermark": 8, "log_end": 3},
    ],
}
"""At least one suspicious row for each fact."""


def warm_up(spark: SparkSession, *, rows: int | None = None, conf: Mapping[str, str] | None = None) -> None:
    """Judge a history of the kind that is expected.

    rows  how many records are expected; None: few. Spark's settings are changed to fit them, except those in `conf`.
    """
    if rows is not None:
        fit(spark, rows, conf=conf)
    _judge(spark, HEALTHY if rows is None or rows <= INTERPRETED else ORDINARY)


def _judge(spark: SparkSession, tables: Mapping[str, list[dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory(prefix="kafkacheck-warm-up-", dir=scratch_of(spark)) as scratch:
        run = Path(scratch)
        for table, rows in tables.items():
            folder = run / "history" / table
            folder.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(rows, schema=TABLES[table]), folder / "0.parquet")
        analyze(spark, [run])


def warm_up_everything(spark: SparkSession) -> None:
    """Judge healthy histories of both kinds, and one that needs every fact."""
    for tables in (HEALTHY, SUSPICIOUS):
        _judge(spark, tables)
    warm_up(spark, rows=INTERPRETED + 1)


if __name__ == "__main__":
    record_classes(sys.argv[1:], warm_up_everything)
