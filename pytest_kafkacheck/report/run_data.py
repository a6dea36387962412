"""What a report is made of: a run's verdict, experiment, and history, read with pyarrow. Needs no Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from analyzers.history.fault_events import FaultEvent, fault_events
from analyzers.verdict.verdict import Verdict
from analyzers.verdict.wording import client_names
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.kept_runs.run_summary import json_object
from pytest_kafkacheck.report.axis import NANOSECONDS, Axis
from workloads.history.compaction.compact import compact
from workloads.history.schema import HARNESS, NEMESIS, TABLES


@dataclass
class Row:
    """An operation of the nemesis, as `fault_events` takes it."""

    op: int
    f: str
    invoked: int
    completed: int | None
    value: str


@dataclass(frozen=True, kw_only=True)
class Extent:
    """Of the records; times in ns."""

    first: int | None
    last: int | None
    logs: frozenset[tuple[str, int]]


@dataclass(frozen=True, kw_only=True)
class RunData:
    home: Path
    records: ds.Dataset
    """Read in batches, or in part: a run may have more of them than there is memory."""
    operations: pa.Table
    observations: pa.Table
    verdict: Verdict | None = None
    experiment: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)

    def record_batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """All records, a part at a time."""
        for batch in self.records.to_batches(columns=list(columns), batch_readahead=2, fragment_readahead=1):
            if len(batch):
                yield pa.Table.from_batches([batch])

    def some_records(
        self,
        columns: Sequence[str] | dict[str, pc.Expression],
        chosen: pc.Expression,
        most: int | None = None,
    ) -> pa.Table:
        """Holds only what is chosen, and the first `most` of it. columns: names, or expressions by name."""
        wanted = columns if isinstance(columns, dict) else list(columns)
        if most is None:
            return self.records.to_table(columns=wanted, filter=chosen)
        return self.records.head(most, columns=wanted, filter=chosen)

    @cached_property
    def axis(self) -> Axis:
        """From the first operation to the last event that is known."""
        operations, extent = self.operations, self._extent
        firsts = [extent.first, pc.min(operations["invoked"]).as_py()]
        others = (operations["invoked"], operations["completed"], self.observations["time"])
        lasts = [extent.last, *(pc.max(each).as_py() for each in others)]
        began = self.verdict.began if self.verdict is not None else None
        if began is None:
            began = min((each for each in firsts if each is not None), default=0)
        last = max((each for each in lasts if each is not None), default=began)
        return Axis(began=began, span=max((last - began) // NANOSECONDS + 1, 1))

    @cached_property
    def _extent(self) -> Extent:
        """Of the records, in one pass over few columns."""
        firsts: list[int | None] = []
        lasts: list[int | None] = []
        logs: set[tuple[str, int]] = set()
        for part in self.record_batches(("invoked", "completed", "topic", "partition")):
            firsts.append(pc.min(part["invoked"]).as_py())
            lasts += [pc.max(part[name]).as_py() for name in ("invoked", "completed")]
            logs |= _logs(part)
        return Extent(
            first=min((each for each in firsts if each is not None), default=None),
            last=max((each for each in lasts if each is not None), default=None),
            logs=frozenset(logs),
        )

    @cached_property
    def faults(self) -> tuple[FaultEvent, ...]:
        columns = ("op", "f", "invoked", "completed", "value")
        rows = self.operations.filter(pc.equal(self.operations["process"], NEMESIS))
        return fault_events((Row(**row) for row in rows.select(columns).to_pylist()), self.clients)

    def steps(self, f: str) -> Iterable[dict[str, Any]]:
        """The rows of the harness about `f`, with the value as an object, in order of time."""
        mine = pc.and_(pc.equal(self.operations["process"], HARNESS), pc.equal(self.operations["f"], f))
        for row in self.operations.filter(mine).to_pylist():
            yield row | {"value": json.loads(row["value"] or "{}")}

    @cached_property
    def clients(self) -> dict[int, str]:
        """Names of client processes by number."""
        started = [row["value"] for row in self.steps("worker") if row["value"].get("event") == "started"]
        names = client_names(
            {each["process"]: each["role"] for each in started},
            {each["process"]: each["instance"] for each in started if "instance" in each},
        )
        return {**names, **(self.verdict.clients if self.verdict else {})}

    @cached_property
    def logs(self) -> tuple[tuple[str, int], ...]:
        """Topic and partition of every log that was written, read, or sampled."""
        return tuple(sorted(self._extent.logs | _logs(self.observations)))

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
            records=_dataset(directory.history, "records"),
            operations=_dataset(directory.history, "operations").to_table().sort_by("invoked"),
            observations=_dataset(directory.history, "observations").to_table(),
            verdict=directory.read_verdict(),
            experiment=json_object(directory.experiment),
            environment=json_object(directory.environment),
        )
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UsageError(f"{home}: its history cannot be read ({type(error).__name__}: {error})") from error


def _dataset(history: Path, name: str) -> ds.Dataset:
    """Columns that a file of an earlier version lacks are null. Raises ArrowException for a file that is none."""
    schema = TABLES[name]
    files = sorted((history / name).glob("*.parquet"))
    for file in files:
        pq.read_metadata(file)
    if not files:
        return ds.dataset(schema.empty_table())
    return ds.dataset([str(file) for file in files], schema=schema, format="parquet")


def _logs(table: pa.Table) -> set[tuple[str, int]]:
    """Topic and partition of each log that a table names."""
    rows = table.group_by(["topic", "partition"]).aggregate([]).to_pylist()
    return {(row["topic"], row["partition"]) for row in rows if row["partition"] is not None}
