"""What can be judged while a run goes on: findings that nothing recorded before or later refutes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from analyzers.checks import CHECKS, Check
from analyzers.facts import NEEDS
from analyzers.history.load import load, release
from analyzers.history.sources import sources
from analyzers.judge.find import Crashed, Found, find
from workloads.history.layout import WHOLE
from workloads.history.parquet import write
from workloads.history.schema import TABLES

EXAMPLES = 3

_ROW = "a row says so by itself"
_STEP = "a step between two rows that are neighbours for certain (see `certain` of the window)"
_TWO = "two rows that are there; more rows only add such pairs"

LIVE: Mapping[str, str] = {
    "foreign-record": _ROW,
    "corrupt-record": _ROW,
    "duplicate": _TWO,
    "inconsistent-offsets": _TWO + "; but which of the two it is, see `EITHER`",
    "offset-reuse": _TWO + "; but which of the two it is, see `EITHER`",
    "G1a": _TWO + ": that a send failed is final, and so is that its value was read",
    "future-read": _TWO + ": a completion puts the send later, never earlier",
    "realtime-order": _TWO,
    "monotonic-reads": _TWO + ": what was reached before only gets more",
    "monotonic-writes": _TWO + ": what was written before only gets more",
    "writes-follow-reads": _TWO + ": what was read before only gets more",
    "nonmonotonic-poll": _STEP,
    "int-nonmonotonic-poll": _STEP,
    "nonmonotonic-send": _STEP,
    "int-nonmonotonic-send": _STEP,
    "poll-skip": _STEP + ", over a record that is known: more rows only add such records",
    "int-poll-skip": _STEP + ", over a record that is known: more rows only add such records",
    "int-send-skip": _STEP + ", over a record that is known: more rows only add such records",
    "precommitted-read": _TWO + ": when the end of a transaction was asked for is told once",
}
"""Anomaly to the reason for which a finding in a part of the history is one in the whole."""

LATER: Mapping[str, str] = {
    "lost-write": "whoever read it may have read it earlier, or be about to write that down",
    "unseen": "somebody may yet see it",
    "expired": "told by the final read",
    "phantom-read": "the send may lie before the window",
    "read-your-writes": "the poll that showed the write may lie in a segment that is still open",
    "torn-transaction": "the reader may have found the missing part outside the window",
    "read-above-lso": "a later leader epoch makes the answers of the one before count no more",
    "zombie-write": "a later init of its own explains a higher epoch",
    "double-ownership": "how an assignment ended decides until when it was certainly in force",
    "group-skip": "somebody in the group may have polled it outside the window",
    "commit-regression": "a reset explains it, and another process writes that down",
    "fenced-commit": "the newest generation may turn out to be of the same member",
    "excess-duplicates": "a reset explains them, and another process writes that down",
}
"""Anomaly to what may refute a finding in a part of the history. Cycles and bounds are judged in the end, too."""

EITHER = frozenset({"inconsistent-offsets", "offset-reuse"})
"""An offset with two values has them for ever; who saw which of them when, and in which epoch, tells one from the
other, and may be told later. The whole history has one of them if a part has."""


def find_live(
    spark: SparkSession, tables: Mapping[str, pa.Table], *, told: Mapping[str, int]
) -> tuple[list[Found], list[Crashed]]:
    """What the checks in `LIVE` find in windows of histories, each a run of its own.

    tables  by name, as `workloads.history.window` makes them.
    told    anomaly to ns: only what happened later is counted.
    """
    transactional = pc.any(pc.equal(tables["operations"]["f"], "txn")).as_py()
    checks = [
        _after(check, told.get(check.anomaly))
        for check in CHECKS
        if check.anomaly in LIVE and (transactional or NEEDS.get(check.over) != "txn")
    ]
    with tempfile.TemporaryDirectory(prefix="kafkacheck-live-") as folder:
        for name, table in tables.items():
            place = Path(folder) / "history" / name
            place.mkdir(parents=True)
            write(place / WHOLE, [table], TABLES[name])
        history = load(spark, sources(spark, [Path(folder)]))
        try:
            return find(history, checks, examples=EXAMPLES)
        finally:
            release(spark, history)


def _after(check: Check, time: int | None) -> Check:
    return check if time is None else replace(check, where=f"({check.where}) and ({check.time}) > {time}")
