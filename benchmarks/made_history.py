"""Writes a synthetic history, in the schema of real ones, from SQL. Needs the package duckdb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.compaction.sorted_records import with_previous
from workloads.history.parquet import BUCKETS, WHOLE, bucket, file_name, write
from workloads.history.schema import OBSERVATIONS, OPERATIONS, RECORDS

RUN = "synthetic"


@dataclass(frozen=True, kw_only=True)
class MadeHistory:
    """Statements and queries in DuckDB's SQL; each may refer to `parameters` by name, such as ``$transactions``.

    A column that a query leaves out has the value in `constants`, or null. The run is filled in. So is the topic of
    rows with a partition, unless the query has topics.
    """

    topic: str
    """Of operations and observations whose query names none."""
    logs: Sequence[tuple[str, int]]
    """Topic and partition of each log with records."""
    tables: str
    """Statements that prepare tables and macros for the queries, each ended by a semicolon and a line break."""
    records: str
    """The records of the log ``$topic``, ``$partition``, in the order of process, f, assignment and index."""
    operations: str
    observations: str
    parameters: Mapping[str, int]
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Of observations: column to value."""


def write_made(made: MadeHistory, run: Path) -> None:
    """Write it as compaction leaves a history."""
    import duckdb  # only here, so that the names of the checks can be used without it

    history = run / "history"
    for table in ("records", "operations", "observations"):
        (history / table).mkdir(parents=True)
    connection = duckdb.connect()

    def used(statement: str, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
        return {name: value for name, value in parameters.items() if f"${name}" in statement} or None

    def rows(query: str, schema: pa.Schema, **constants: Any) -> pa.Table:
        parameters = used(query, {**made.parameters, **constants})
        found = connection.sql(query, params=parameters).to_arrow_table()
        unknown = {*found.column_names} - {*schema.names}
        assert not unknown, f"columns that the history does not have: {unknown}"
        columns = [
            found[field.name] if field.name in found.column_names
            else pa.repeat(pa.scalar(constants.get(field.name), field.type), len(found))
            for field in schema
        ]  # fmt: skip
        return pa.table(columns, names=schema.names).cast(schema)

    def of_log(table: pa.Table) -> pa.Table:
        """With the topic of rows with a partition, where the query named none."""
        if pc.any(pc.is_valid(table["topic"])).as_py():
            return table
        topic = pc.if_else(pc.is_valid(table["partition"]), made.topic, None).cast(pa.string())
        return table.set_column(table.schema.get_field_index("topic"), "topic", topic)

    def file_of(log: tuple[str, int]) -> str:
        return file_name(bucket(RUN, *log, buckets=BUCKETS), BUCKETS)

    try:
        for statement in filter(str.strip, made.tables.split(";\n")):
            connection.execute(statement, used(statement, made.parameters))
        write(
            history / "operations" / WHOLE, [of_log(rows(made.operations, OPERATIONS, run=RUN))], OPERATIONS
        )
        seen = of_log(rows(made.observations, OBSERVATIONS, run=RUN, **made.constants))
        write(history / "observations" / WHOLE, [seen], OBSERVATIONS)
        for name, logs in groupby(sorted(made.logs, key=lambda log: (file_of(log), log)), key=file_of):
            of_logs = (
                rows(made.records, RECORDS, run=RUN, topic=topic, partition=partition)
                for topic, partition in logs
            )
            write(history / "records" / name, with_previous(of_logs), RECORDS)
    finally:
        connection.close()
