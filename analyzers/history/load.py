"""Loads the tables of histories as Spark DataFrames."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from analyzers.history.buckets import bucketed_table, buckets_to_use, confined_to
from analyzers.history.gather import NO_COPIES, Gathered, copies, gather, only_run, row_counts
from analyzers.history.run_directories import MANY as MANY_DIRECTORIES
from analyzers.history.run_directories import RunDirectories
from analyzers.history.shared_tables import SharedTables
from analyzers.history.sources import Source, spark_schema
from analyzers.spark.exact_paths import parquet_files
from analyzers.spark.internals.kept_plans import KeptPlans, kept_plans
from analyzers.spark.session import is_embedded, scratch_of
from analyzers.spark.settings import ONE_PIECE
from analyzers.spark.statements import sql_literal
from workloads.history.schema import TABLES

MANY, FEW_BYTES = 8, 64 << 20
"""From this number of files, with at most this many bytes together, all files of a table are copied into one: every
scan of every check would otherwise open all of them. Not of a table in buckets, which is read by buckets."""

HANDED_OVER = 5_000
"""Rows up to which a history is passed to Spark as rows, so that Spark reads no files. Spark's optimiser computes
filters and projections of such rows by itself, interpreted, in each statement again: 40,000 rows take twice the time
of a file. No plans are kept for such histories: 412 records took 1.4 s with them, and 1.1 s without."""

MANY_RUNS = 50
"""Above this number, a condition that names all runs takes longer than it saves."""

SCHEMAS = {table: spark_schema(schema) for table, schema in TABLES.items()}


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """How the tables of a history were loaded."""

    in_one_piece: bool = False
    """Whether each table is one partition, so that nothing has to be moved to group or to join it."""
    has_many_runs: bool = False
    """Whether there are more than `MANY_RUNS` directories."""
    row_counts: Mapping[str, int] = field(default_factory=dict)
    """Rows by file, of those of which they are known."""
    operations_here: pa.Table | None = None
    """The operations, if they were read in this process."""
    kept: KeptPlans | None = None
    """Where the plans of `History.rows` are kept, if they read these tables."""
    tables: tuple[DataFrame, ...] = ()
    """Those that the kept plans read."""
    directories: RunDirectories | None = None
    """Where the runs lie, if there are many directories and Spark reads their files."""
    registered: str | None = None
    """The name of the table with the records, if one was created in Spark."""
    scratch: tempfile.TemporaryDirectory[str] | None = None
    """Folder of the copied files, if there are any."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the tallies say of all runs together. Facts leave out what no run has."""

    kinds: frozenset[str]
    """See `analyzers.judge.tally.Tally.kinds`."""
    sessions: str = "true"
    """SQL condition of the records of sessions about which facts may say something."""
    lengths: Callable[[], pa.Table] | None = None
    """The table ``{lengths}``: run, topic, partition, top, until and isolated (see `analyzers.facts.removals`) of
    each log with a record, also of other runs. None where the tally does not know them."""


@dataclass(frozen=True, kw_only=True)
class History:
    """One or many runs, in the columns of `workloads.history.schema`."""

    records: DataFrame
    operations: DataFrame
    observations: DataFrame
    loaded: Loaded = Loaded()
    known: Known | None = None
    """None: nothing was counted, so any run may have anything."""
    value_filter: str = "true"
    """SQL condition of the records that facts about single values or offsets need (set by the first look)."""
    is_running: bool = False
    """Whether the run goes on, and this is a part of its history: what may still be removed counts as removed."""
    shared: SharedTables[History] | None = None
    """The tables of the whole history that this one is, or is a part of; None: facts compute their own."""

    def sharing(self) -> History:
        """The same, as the whole history whose tables facts share."""
        shared: SharedTables[History] = SharedTables()
        shared.whole = replace(self, shared=shared)
        return shared.whole

    def has(self, kind: str) -> bool:
        """Whether some run may have this kind of operation, or of what `analyzers.facts.fact` names."""
        return self.known is None or kind in self.known.kinds

    @property
    def sessions(self) -> str:
        """See `Known.sessions`."""
        return self.known.sessions if self.known else "true"

    @property
    def in_one_piece(self) -> bool:
        """See `Loaded.in_one_piece`."""
        return self.loaded.in_one_piece

    def sql(self, statement: str, **more: DataFrame) -> DataFrame:
        """Run one statement over ``{records}``, ``{operations}``, ``{observations}`` and, where known, ``{lengths}``,
        and over more tables by name.

        Spark analyses a statement once, but a plan built from DataFrames again with each step. For small histories
        that takes longer than everything else.
        """
        named: dict[str, Any] = {name: getattr(self, name) for name in TABLES if f"{{{name}}}" in statement}
        named |= more
        if self.known and self.known.lengths and "{lengths}" in statement:
            lengths = self.records.sparkSession.createDataFrame(self.known.lengths())
            named["lengths"] = lengths.coalesce(1) if self.in_one_piece else lengths
        return self.records.sparkSession.sql(statement, **named)

    def rows(self, statement: str) -> list[Row]:
        """As `sql`, with the result. The plan of the statement is kept for the next history where `is_kept`."""
        if self.loaded.kept is None or not self.is_kept:
            return self.sql(statement).collect()
        spark = self.records.sparkSession

        def build(tables: Mapping[str, DataFrame]) -> DataFrame:
            named: dict[str, Any] = {name: tables[name] for name in tables if f"{{{name}}}" in statement}
            return spark.sql(statement, **named)

        return self.loaded.kept.rows(statement, build)

    @property
    def is_kept(self) -> bool:
        """Whether this is the history as it was loaded, in a session that keeps plans."""
        tables = (self.records, self.operations, self.observations)
        return self.loaded.kept is not None and self.loaded.tables == tables

    def of_runs(self, runs: Collection[str]) -> History:
        """The part with the rows of these runs. Where `directories` are known, files of others are left out."""
        tables = self.loaded.directories.tables(runs) if self.loaded.directories else {}
        named = F.col("run").isin(sorted(runs))
        frames = {table: tables.get(table, getattr(self, table)).where(named) for table in TABLES}
        return replace(self, **frames, loaded=replace(self.loaded, directories=None))

    def of_logs(self, logs: Collection[tuple[str, str | None, int | None]]) -> History:
        """The part with the records of these logs (run, topic, partition), the answers of brokers about them, and
        everything else of their runs. Without topic and partition: only what is of no log."""
        partitions: dict[tuple[str, str], list[int]] = {}
        for run, topic, partition in logs:
            if topic is not None and partition is not None:
                partitions.setdefault((run, topic), []).append(partition)
        # As one text: with Spark Connect, hundreds of columns would be nested too deeply for Python's protobuf.
        conditions = [
            f"run = {sql_literal(run)} and topic = {sql_literal(topic)} and partition in ({str(some)[1:-1]})"
            for (run, topic), some in sorted(partitions.items())
        ]
        within = " or ".join(conditions) or "false"
        part = self.of_runs({run for run, _, _ in logs})
        return replace(
            part,
            records=part.records.where(within),
            observations=part.observations.where(f"kind <> 'partition' or {within}"),
        )

    def shared_sql(self, statement: str) -> DataFrame:
        """As `sql`, for a statement with few rows that several facts read. May also return rows of runs that are not
        in this part of a history."""
        return self.sql(statement) if self.shared is None else self.shared.table(statement)

    def shared_rows(self, name: str, make: Callable[[History], DataFrame]) -> DataFrame:
        """What `make` computes, once for all facts that ask for this name, and then of the whole history: may also
        return rows of runs that are not in this part. Facts about small histories compute it themselves, which takes
        less than a job."""
        if self.shared is None or self.in_one_piece:
            return make(self)
        return self.shared.rows(name, make)


def load(spark: SparkSession, runs: Sequence[Source]) -> History:
    """The tables of all runs together. A table without files is empty. Call `release` when they are no longer needed.

    Records in buckets (see `workloads.history.parquet`) are read as a bucketed table, so that grouping by log needs
    no shuffle.
    """
    tables = {table: _files(runs, table) for table in TABLES}
    is_local = all(run.local for run in runs)
    frames: dict[str, Any]
    size = sum(size for files in tables.values() for size in files.values())
    is_small = is_local and size <= FEW_BYTES
    in_buckets = buckets_to_use(spark, tables["records"]) is not None
    # The machines of a cluster would not find the copy.
    scattered = [
        table
        for table, files in tables.items()
        if _is_scattered(files) and not (in_buckets and table == "records")
    ]
    copied = copies(runs) if is_small else NO_COPIES
    gathered = {
        table: gather(tables[table], table, copied) for table in scattered if is_local and is_embedded(spark)
    }
    counts = {
        table: gathered[table].counts if table in gathered else row_counts(files, copied)
        for table, files in tables.items()
        if is_small or table in gathered
    }
    how: dict[str, Any] = {
        "row_counts": {file: n for of in counts.values() for file, n in of.items()},
        "has_many_runs": len(runs) > MANY_RUNS,
    }
    rows = sum(how["row_counts"].values())
    if is_small and rows <= HANDED_OVER:
        gathered = {
            table: gathered.get(table) or gather(files, table, copied) for table, files in tables.items()
        }
        frames = {table: _passed_as_rows(spark, each).coalesce(1) for table, each in gathered.items()}
        how |= {"in_one_piece": True, "operations_here": gathered["operations"].rows}
        return History(**frames, loaded=Loaded(**how))
    name = f"kafkacheck_{secrets.token_hex(8)}" if in_buckets else None
    if gathered:
        how["scratch"] = tempfile.TemporaryDirectory(prefix="kafkacheck-gathered-", dir=scratch_of(spark))
        folder = Path(how["scratch"].name)
        tables |= {table: each.write(folder / f"{table}.parquet") for table, each in gathered.items()}
    if "operations" in gathered:
        how["operations_here"] = gathered["operations"].rows
    frames = {table: _read(spark, table, files) for table, files in tables.items()}
    if is_small and rows <= ONE_PIECE:
        pieces = {table: frame.coalesce(1) for table, frame in frames.items()}
        return _with_kept_plans(spark, tables, History(**pieces, loaded=Loaded(**how, in_one_piece=True)))
    if name:
        records = bucketed_table(spark, name, runs)
        # Spark treats a folder that it cannot find as empty. Rows must not go missing unnoticed, so files are
        # counted.
        if len(records.inputFiles()) == len(tables["records"]):
            frames["records"] = records
        else:
            spark.sql(f"drop table {name}")
            name = None
    read = {table: frame for table, frame in frames.items() if tables[table] and table not in gathered}
    if read and len(runs) >= MANY_DIRECTORIES:

        def part(some: Sequence[Source]) -> Mapping[str, DataFrame]:
            return {
                table: confined_to(spark, name, runs, some)
                if table == "records" and name
                else _read(spark, table, _files(some, table))
                for table in read
            }

        how["directories"] = RunDirectories(runs, read, part)
    return History(**frames, loaded=Loaded(**how, registered=name))


def _with_kept_plans(
    spark: SparkSession, files: Mapping[str, Mapping[str, int]], history: History
) -> History:
    # The machines of a cluster would not find the links.
    kept = kept_plans(spark, SCHEMAS) if is_embedded(spark) else None
    if kept is None or not kept.take(files, run=only_run(file for of in files.values() for file in of)):
        return history
    read = (history.records, history.operations, history.observations)
    return replace(history, loaded=replace(history.loaded, kept=kept, tables=read))


def release(spark: SparkSession, history: History) -> None:
    """Let the next history use the kept plans, drop the table that was created in Spark, and remove the copied files.
    The files of the runs stay."""
    loaded = history.loaded
    if loaded.kept:
        loaded.kept.give_back()
    if loaded.registered:
        spark.sql(f"drop table if exists {loaded.registered}")
    if loaded.scratch:
        loaded.scratch.cleanup()


def _files(runs: Sequence[Source], table: str) -> dict[str, int]:
    return {file: size for run in runs for file, size in run.files[table].items()}


def _is_scattered(files: Mapping[str, int]) -> bool:
    """Whether there are many small files (see `MANY`)."""
    return len(files) >= MANY and sum(files.values()) <= FEW_BYTES


def _read(spark: SparkSession, table: str, files: Mapping[str, int]) -> DataFrame:
    schema = spark_schema(TABLES[table])
    if not files:
        # Not createDataFrame: even without rows it starts a Python process.
        nulls = (F.lit(None).cast(field.dataType).alias(field.name) for field in schema)
        return spark.range(0).select(*nulls)
    return parquet_files(spark, files, schema)


def _passed_as_rows(spark: SparkSession, gathered: Gathered) -> DataFrame:
    return spark.createDataFrame(gathered.rows, spark_schema(gathered.rows.schema))
