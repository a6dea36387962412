"""Exports a run as a history of Jepsen's Kafka workload.

Each send and each poll that returned records becomes an operation; a transaction becomes one operation with all its
records. A key stands for a topic and partition. A process of Jepsen does one thing at a time, so a process of ours
with concurrent operations becomes several. Faults become operations of the process ``nemesis``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workloads.history.compaction.compact import compact
from workloads.history.jepsen.edn import dumps
from workloads.history.schema import NEMESIS, TABLES

Key = tuple[str, int]
RECORD = (
    "op",
    "index",
    "process",
    "f",
    "type",
    "invoked",
    "completed",
    "topic",
    "partition",
    "offset",
    "value",
)
ORDER = ("process", "invoked", "index")


@dataclass(frozen=True, kw_only=True, slots=True)
class Exported:
    """One operation, before it is split into invocation and completion."""

    process: int
    f: str
    type: str
    invoked: int
    completed: int
    mops: tuple[Any, ...] = ()
    """Micro-operations as known at completion, or the keys of an assign."""
    assignment: tuple[int | None, int | None] | None = None
    """Of a poll: its assignment and its generation."""


def export_edn(run: Path, file: Path) -> int:
    """Write a run directory's history to a file. Returns the number of rows. Segments are compacted first.

    Raises FileNotFoundError for a folder without a history, ValueError for several runs or another format.
    """
    if (run / "history" / "segments").is_dir():
        compact(run)
    records, operations = (_table(run, name) for name in ("records", "operations"))
    ids = set(pc.unique(records["run"]).to_pylist()) | set(pc.unique(operations["run"]).to_pylist())
    if len(ids) > 1:
        raise ValueError(f"{run} holds {len(ids)} runs, but a history of Jepsen has only one")
    keys = _keys(records)
    done = list(exported(records, operations, keys))
    with file.open("w", encoding="utf-8") as out:
        for (topic, partition), key in keys.items():
            out.write(f"; key {key} is {topic}-{partition}\n")
        index = -1
        for index, row in enumerate(rows(done)):
            out.write(dumps(row | {"index": index}) + "\n")
    return index + 1


def exported(records: pa.Table, operations: pa.Table, keys: dict[Key, int]) -> Iterator[Exported]:
    """The operations of clients, of each process one after another, and of the nemesis."""
    outcomes = _transactions(operations)
    first_free = 1 + max((process for process in pc.unique(records["process"]).to_pylist()), default=0)
    columns = [*RECORD, "assignment", "generation", "transaction"]
    table = records.select(columns).sort_by([(name, "ascending") for name in ORDER])
    by_process: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for batch in table.to_batches(max_chunksize=1 << 16):
        for row in batch.to_pylist():
            by_process[row["process"]].append(row)
    for process, mine in sorted(by_process.items()):
        yield from _sequential(_operations(mine, keys, outcomes), process, first_free)
    yield from _faults(operations)


def rows(done: Iterable[Exported]) -> Iterator[dict[str, Any]]:
    """Invocations and completions ordered by time."""
    moments: list[tuple[int, bool, int, bool, Exported]] = []
    for number, op in enumerate(done):
        # At the same time, completions come first, so that a process can continue at once. An operation that took no
        # time still begins before it ends.
        moments.append((op.invoked, True, number, False, op))
        if op.process >= 0:
            moments.append((op.completed, op.completed == op.invoked, number, True, op))
    moments.sort(key=lambda moment: moment[:4])
    for time, _, _, is_completion, op in moments:
        yield _row(op, time, is_completion=is_completion)


def _row(op: Exported, time: int, *, is_completion: bool) -> dict[str, Any]:
    if op.process < 0:
        return {"type": ":info", "process": ":nemesis", "f": f":{op.f}", "value": list(op.mops), "time": time}
    is_known = is_completion or op.f == "assign"
    value = list(op.mops) if is_known else [_requested(mop) for mop in op.mops]
    kind = op.type if is_completion else "invoke"
    return {"type": f":{kind}", "process": op.process, "f": f":{op.f}", "value": value, "time": time}


def _requested(mop: Sequence[Any]) -> list[Any]:
    return [":poll"] if mop[0] == ":poll" else [":send", mop[1], mop[2][1]]


def _operations(
    mine: list[dict[str, Any]], keys: dict[Key, int], outcomes: dict[int, str]
) -> Iterator[Exported]:
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in mine:
        transaction = row["transaction"]
        name = ("txn", transaction) if transaction is not None else (row["f"], row["op"])
        groups[name].append(row)
    for (f, op), group in groups.items():
        group.sort(key=lambda row: row["index"])
        invoked = min(row["invoked"] for row in group)
        types = {row["type"] for row in group}
        kind = outcomes.get(op, "info") if f == "txn" else types.pop() if len(types) == 1 else "info"
        ends = [row["completed"] for row in group if row["completed"] is not None]
        yield Exported(
            process=group[0]["process"],
            f=f,
            type=kind,
            invoked=invoked,
            completed=max([invoked, *ends]),
            mops=tuple(_mops(group, keys)),
            assignment=next(
                ((row["assignment"], row["generation"]) for row in group if row["f"] == "poll"), None
            ),
        )


def _mops(group: list[dict[str, Any]], keys: dict[Key, int]) -> Iterator[list[Any]]:
    """The micro-operations of an operation. Consecutive polled records become one poll."""
    polled: dict[int, list[Any]] = {}
    for row in group:
        key, pair = keys[row["topic"], row["partition"]], [row["offset"], row["value"]]
        if row["f"] == "poll":
            polled.setdefault(key, []).append(pair)
            continue
        if polled:
            yield [":poll", polled]
            polled = {}
        yield [":send", key, pair]
    if polled:
        yield [":poll", polled]


def _sequential(operations: Iterable[Exported], process: int, stride: int) -> Iterator[Exported]:
    """Put each operation on the first free lane of its process, and a new assignment or generation before it as an
    assign: a member may have lost the partition in between.

    Lane n of process p becomes process p + n * stride. The assign of the keys follows an assign of no keys: in Jepsen
    a consumer keeps its position for keys that it had before, while ours takes new positions.
    """
    lanes: list[tuple[int, tuple[int | None, int | None] | None]] = []
    for op in sorted(operations, key=lambda op: (op.invoked, op.completed)):
        lane = next((n for n, (busy, _) in enumerate(lanes) if busy <= op.invoked), len(lanes))
        if lane == len(lanes):
            lanes.append((op.invoked, None))
        ours = replace(op, process=process + lane * stride)
        assigned = lanes[lane][1]
        if op.assignment is not None and op.assignment != assigned:
            assigned = op.assignment
            for wanted in ((), tuple(_polled(op))):
                yield replace(ours, f="assign", type="ok", completed=op.invoked, mops=wanted, assignment=None)
        lanes[lane] = (op.completed, assigned)
        yield ours


def _polled(op: Exported) -> list[int]:
    return sorted({key for mop in op.mops if mop[0] == ":poll" for key in mop[1]})


def _transactions(operations: pa.Table) -> dict[int, str]:
    """The outcome of each transaction by operation: an aborted one is ``fail``."""
    table = operations.filter(pc.equal(operations["f"], "txn")).select(["op", "type", "value"])
    outcomes = {}
    for row in table.to_pylist():
        aborted = json.loads(row["value"] or "{}").get("outcome") == "abort"
        outcomes[row["op"]] = "fail" if row["type"] == "ok" and aborted else row["type"]
    return outcomes


def _faults(operations: pa.Table) -> Iterator[Exported]:
    table = operations.filter(pc.equal(operations["process"], NEMESIS))
    for row in table.select(["f", "invoked", "value"]).to_pylist():
        value = json.loads(row["value"] or "{}")
        at = row["invoked"]
        mops = (value.get("stage"), value.get("nodes"))
        yield Exported(process=NEMESIS, f=row["f"], type="info", invoked=at, completed=at, mops=mops)


def _keys(records: pa.Table) -> dict[Key, int]:
    """A number for each log: the keys of Jepsen's workload are numbers."""
    logs = records.select(["topic", "partition"]).group_by(["topic", "partition"]).aggregate([])
    pairs = sorted(zip(logs["topic"].to_pylist(), logs["partition"].to_pylist(), strict=True))
    return {pair: key for key, pair in enumerate(pairs)}


def _table(run: Path, name: str) -> pa.Table:
    schema, history = TABLES[name], run / "history"
    if not history.is_dir():
        raise FileNotFoundError(f"{run} is not a run directory: it has no history")
    parts = [pq.read_table(part, schema=schema) for part in sorted((history / name).glob("*.parquet"))]
    return pa.concat_tables([schema.empty_table(), *parts])
