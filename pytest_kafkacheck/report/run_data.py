"""What a report is made of: a run's verdict, experiment, and history, read with pyarrow. Needs no Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from analyzers.history.fault_events import FaultEvent, fault_events
from analyzers.verdict.names import client_names
from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.report.axis import NANOSECONDS, Axis
from workloads.history.compaction.compact import compact
from workloads.history.schema import HARNESS, NEMESIS, TABLES

RECORD_COLUMNS = (
    "process", "f", "type", "invoked", "completed", "topic", "partition", "offset", "value", "leader_epoch",
    "final", "error", "transaction", "node", "intended",
)  # fmt: skip
"""Those of records that a report reads: a run may have millions of rows."""


@dataclass
class Row:
    """An operation of the nemesis, as `fault_events` takes it."""

    op: int
    f: str
    invoked: int
    completed: int | None
    value: str


@dataclass(frozen=True, kw_only=True)
class RunData:
    home: Path
    records: pa.Table
    operations: pa.Table
    observations: pa.Table
    verdict: Verdict | None = None
    experiment: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def axis(self) -> Axis:
        """From the first operation to the last event that is known."""
        records, operations = self.records, self.operations
        times = [
            records["invoked"], records["completed"], operations["invoked"], operations["completed"],
            self.observations["time"],
        ]  # fmt: skip
        firsts = [pc.min(each).as_py() for each in (records["invoked"], operations["invoked"])]
        lasts = [pc.max(each).as_py() for each in times]
        began = self.verdict.began if self.verdict is not None else None
        if began is None:
            began = min((each for each in firsts if each is not None), default=0)
        last = max((each for each in lasts if each is not None), default=began)
        return Axis(began=began, span=max((last - began) // NANOSECONDS + 1, 1))

    @cached_property
    def faults(self) -> tuple[FaultEvent, ...]:
        columns = ("op", "f", "invoked", "completed", "value")
        rows = self.operations.filter(pc.equal(self.operations["process"], NEMESIS))
        return fault_events(Row(**row) for row in rows.select(columns).to_pylist())

    def steps(self, f: str) -> Iterable[dict[str, Any]]:
        """The rows of the harness about `f`, with the value as an object, in order of time."""
        mine = pc.and_(pc.equal(self.operations["process"], HARNESS), pc.equal(self.operations["f"], f))
        for row in self.operations.filter(mine).to_pylist():
            yield row | {"value": json.loads(row["value"] or "{}")}

    @cached_property
    def clients(self) -> dict[int, str]:
        """Names of client processes by number."""
        roles = {
            row["value"]["process"]: row["value"]["role"]
            for row in self.steps("worker")
            if row["value"].get("event") == "started"
        }
        return {**client_names(roles), **(self.verdict.clients if self.verdict else {})}

    @cached_property
    def logs(self) -> tuple[tuple[str, int], ...]:
        """Topic and partition of every log that was written, read, or sampled."""
        found: set[tuple[str, int]] = set()
        for table in (self.records, self.observations):
            some = table.group_by(["topic", "partition"]).aggregate([]).to_pylist()
            found |= {(row["topic"], row["partition"]) for row in some if row["partition"] is not None}
        return tuple(sorted(found))

    @property
    def name(self) -> str:
        """Of the experiment, or of the folder."""
        return str(self.experiment.get("name") or self.home.name)


def read_run(home: Path) -> RunData:
    """Raises UsageError for what is no run, or cannot be read. Compacts a history that still has segments."""
    directory = RunDirectory(home)
    if not directory.history.is_dir():
        raise UsageError(f"{home}: no run (it has no folder history/); runs are kept below .kafkacheck/")
    try:
        if (directory.history / "segments").is_dir():
            compact(home)
        return RunData(
            home=home,
            records=_table(directory.history, "records", RECORD_COLUMNS),
            operations=_table(directory.history, "operations").sort_by("invoked"),
            observations=_table(directory.history, "observations"),
            verdict=directory.read_verdict(),
            experiment=_json(directory.experiment),
            environment=_json(directory.environment),
        )
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UsageError(f"{home}: its history cannot be read ({type(error).__name__}: {error})") from error


def _table(history: Path, name: str, columns: Iterable[str] | None = None) -> pa.Table:
    """Columns that a file of an earlier version lacks are null."""
    schema = TABLES[name]
    chosen = list(columns) if columns is not None else schema.names
    files = sorted((history / name).glob("*.parquet"))
    if not files:
        return schema.empty_table().select(chosen)
    return ds.dataset([str(file) for file in files], schema=schema, format="parquet").to_table(columns=chosen)


def _json(file: Path) -> dict[str, Any]:
    """Empty where the file is missing or no JSON object: the report shows what there is."""
    try:
        read = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}
