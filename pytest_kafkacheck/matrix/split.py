"""The history of a run of several cells as one history for each: as if it had been alone on the cluster."""

from __future__ import annotations

import json
import os
import shutil

import pyarrow as pa
import pyarrow.compute as pc

from pytest_kafkacheck.experiment.run_directory import RunDirectory
from workloads.history.schema import TABLES
from workloads.history.segments import read, segments


def split(
    source: RunDirectory, target: RunDirectory, *, run: str, topic: str, others: frozenset[int]
) -> None:
    """Copy what concerns a topic, and the cluster as a whole, into the folder of another run.

    run     the id of the other run.
    topic   its only topic, by its full name.
    others  processes of other cells.
    The history of the source must not be compacted yet.
    """
    folder = target.history / "segments"
    folder.mkdir(parents=True)
    for table, schema in TABLES.items():
        for file in segments(source.history, table):
            rows = _of_cell(read(file, schema), table, topic, others)
            if not len(rows):
                continue
            column = rows.schema.get_field_index("run")
            rows = rows.set_column(column, schema.field("run"), pa.array([run] * len(rows), pa.string()))
            # As the writer of segments leaves them: without the mark that ends a stream.
            batches = (batch.serialize() for batch in rows.to_batches())
            (folder / file.name).write_bytes(b"".join(map(memoryview, (schema.serialize(), *batches))))
    shutil.copy(source.environment, target.environment)
    target.logs.mkdir()
    for log in source.logs.iterdir():
        os.link(log, target.logs / log.name)


def _of_cell(rows: pa.Table, table: str, topic: str, others: frozenset[int]) -> pa.Table:
    """Rows of the topic, and those of no topic that do not come from, or speak of, another cell's process."""
    is_own = pc.equal(rows["topic"], topic)
    is_of_none = pc.is_null(rows["topic"])
    if table == "operations":
        is_of_none = pc.and_(is_of_none, pc.invert(_speaks_of(rows, others)))
    return rows.filter(pc.fill_null(pc.or_kleene(is_own, is_of_none), False))


def _speaks_of(rows: pa.Table, processes: frozenset[int]) -> pa.Array:
    """Whether the process of a row, or the worker that it is about, is one of these."""
    return pa.array(
        [
            process in processes or (f == "worker" and json.loads(value or "{}").get("process") in processes)
            for process, f, value in zip(
                rows["process"].to_pylist(), rows["f"].to_pylist(), rows["value"].to_pylist(), strict=True
            )
        ],
        pa.bool_(),
    )
