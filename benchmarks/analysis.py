"""Checks compared with DuckDB running plain queries for the same checks.

  .venv/bin/python benchmarks/analysis.py [--of KIND] [--records 10000000] [--rounds 3] [--hot] [--whole]
                                          [--planted N] [--floor] [--history DIRECTORY] [--than hot|ten]
                                          [--facts] [--before CHECKOUT]

Both read the same Parquet files, as compaction leaves them, with two threads; the JVM has 2 GB of heap. Both must
count the same number of every anomaly, and the number that was planted. Rounds alternate. The ratio is that of the
fastest rounds: at most 1, goal 0.7. The first round, in a JVM that has compiled nothing yet, is printed separately.

--of        what the history holds, and so which checks run:
  logs      sends and final reads: the checks of the log, of order and of sessions (default). There are no sessions
            that read; as in `analyze`, checks of such sessions run only if there are any
  groups    transactions, and a group that reads them
  copies    a group that copies records
  pipelines applications, with the outputs that they made of known inputs
  queues    a share group
  readers   readers of a compacted topic, with what leaders answered and searches by time
  transfers transfers between accounts, and snapshots of all accounts
  administrators  topics that administrators change, and what brokers report of them
  coordinators  what coordinators report of groups and transactions
  replicas  what brokers report of logs and their leaders, and the quorum and ZooKeeper of controllers

--planted   the number of each anomaly (default 5). With 0, most facts are ruled out before they are computed
--before    measure the code of another checkout as well, on the same history, in a process of its own before ours
--floor     measure one statement of Spark, too, that groups the rows of the largest table once and checks nothing
--than      compare with another history instead of DuckDB, in the same JVM and heap: there are ten times as many
            records (ten; at most 12 times the time), or, of logs, one has nine tenths of them (hot; at most 2 times)

Of the history of logs only:

--whole     the verdict as users get it (`analyze`), with coverage, availability and all other checks
--facts     measure each fact with its checks instead, without DuckDB

Needs Java, and for the comparison with DuckDB, which the project does not use otherwise: ``pip install
duckdb==2.0.0``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from checkouts import measured_by, processor_seconds  # of this folder: the checkout may have no such module
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from analyzers.catalogue.registry import CHECKS
from analyzers.history.load import load, release
from analyzers.history.sources import sources
from analyzers.judge.analyze import analyze
from analyzers.judge.examine import examine
from analyzers.spark.session import fit, spark_session
from benchmarks import (
    plain,
    plain_administrators,
    plain_coordinators,
    plain_copies,
    plain_groups,
    plain_pipelines,
    plain_queues,
    plain_readers,
    plain_replicas,
    plain_transfers,
)
from benchmarks.administered_histories import make_administered
from benchmarks.coordinated_histories import make_coordinated
from benchmarks.copy_histories import make_copies
from benchmarks.grouped_histories import make_grouped
from benchmarks.histories import Shape, write_compacted
from benchmarks.pipeline_histories import make_pipelines
from benchmarks.plain import QUERIES, counts
from benchmarks.prerequisites import require_history, require_java, require_package
from benchmarks.queue_histories import make_queues
from benchmarks.reader_histories import make_readers
from benchmarks.replica_histories import make_replicas
from benchmarks.transfer_histories import make_transfers

FACTS = {
    "values", "conflicts", "steps", "gaps", "acknowledgements", "session_writes", "session_reads", "session_sends",
}  # fmt: skip
BAR, GOAL = 1.0, 0.7
OTHERS = {"hot": 2.0, "ten": 12.0}

Counts = dict[str, int]
Seconds = dict[str, list[float]]
Measured = tuple[Seconds, Seconds, list[Counts]]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of history, and its checks in plain SQL."""

    make: Callable[[int, int, Path], Counts]
    """Writes a history with this number of records, and this number of each anomaly; returns the numbers of all
    anomalies that it has."""
    views: str
    queries: Mapping[str, str]


def make_logs(records: int, planted: int, run: Path, *, hot: bool = False) -> Counts:
    shape = Shape(records=records, hot=hot, planted=planted)
    write_compacted(shape, run)
    return shape.expected()


KINDS = {
    "logs": Kind(make=make_logs, views=plain.VIEWS, queries=plain.QUERIES),
    "groups": Kind(make=make_grouped, views=plain_groups.VIEWS, queries=plain_groups.QUERIES),
    "copies": Kind(make=make_copies, views=plain_copies.VIEWS, queries=plain_copies.QUERIES),
    "pipelines": Kind(make=make_pipelines, views=plain_pipelines.VIEWS, queries=plain_pipelines.QUERIES),
    "queues": Kind(make=make_queues, views=plain_queues.VIEWS, queries=plain_queues.QUERIES),
    "readers": Kind(make=make_readers, views=plain_readers.VIEWS, queries=plain_readers.QUERIES),
    "transfers": Kind(make=make_transfers, views=plain_transfers.VIEWS, queries=plain_transfers.QUERIES),
    "administrators": Kind(
        make=make_administered, views=plain_administrators.VIEWS, queries=plain_administrators.QUERIES
    ),
    "coordinators": Kind(
        make=make_coordinated, views=plain_coordinators.VIEWS, queries=plain_coordinators.QUERIES
    ),
    "replicas": Kind(make=make_replicas, views=plain_replicas.VIEWS, queries=plain_replicas.QUERIES),
}

UNMEASURED = frozenset(
    {"added-partition-skip", "added-queue-skip", "commit-beyond-end", "silent-partition", "standstill"}
)
"""Checks without a plain query and without an anomaly in these histories: nobody has measured them yet."""


def ours(spark: SparkSession, run: Path, names: Collection[str] = QUERIES.keys()) -> Counts:
    """As `analyze` does it, for these checks: without cycles, and without reports."""
    checks = [check for check in CHECKS if check.name in names]
    examined = examine(spark, [run], examples=8, checks=checks, strict=True, cycles=False, reports=False)
    return {one.anomaly: one.count for one in examined.found}


def whole(spark: SparkSession, run: Path) -> Counts:
    (verdict,) = analyze(spark, [run], strict=True).values()
    return {one.anomaly: one.count for one in verdict.findings}


def measure(calls: dict[str, Callable[[], Counts]], rounds: int) -> Measured:
    """Wall-clock and processor seconds of each round, and the counts of anomalies."""
    walls: Seconds = {name: [] for name in calls}
    cpus: Seconds = {name: [] for name in calls}
    found_counts: list[Counts] = []
    for _ in range(rounds):
        for name, call in calls.items():
            used, began = processor_seconds(), time.monotonic()
            found_counts.append(call())
            walls[name].append(time.monotonic() - began)
            cpus[name].append(processor_seconds() - used)
            print(
                f"  {name:16} {walls[name][-1]:7.2f} s {cpus[name][-1]:7.2f} s of processor time", flush=True
            )
    return walls, cpus, found_counts


def compare(
    spark: SparkSession,
    run: Path,
    expected: Counts,
    other: str,
    make_other: Callable[[Path], Counts],
    judge: Callable[[SparkSession, Path], Counts],
    rounds: int,
) -> None:
    """Print how much longer another history takes. The first verdict only warms up the JVM."""

    def fitted(to: Path) -> Counts:
        fit(spark, rows_of(to))
        return judge(spark, to)

    with tempfile.TemporaryDirectory() as scratch:
        there = Path(scratch) / "run"
        changed = make_other(there)
        assert fitted(run) == expected
        walls, _, found_counts = measure(
            {"balanced": lambda: fitted(run), other: lambda: fitted(there)}, rounds
        )
    assert found_counts == [expected, changed] * rounds, found_counts
    plain, more = min(walls["balanced"]), min(walls[other])
    print(f"{other} {more:.2f} s, balanced {plain:.2f} s: {more / plain:.2f} (bar {OTHERS[other]})")


def rows_of(run: Path, table: str = "*") -> int:
    return sum(pq.read_metadata(file).num_rows for file in run.glob(f"history/{table}/*.parquet"))


GROUPED = {
    "records": "select run, topic, partition, value as what, max(offset) as last from {records}",
    "operations": "select run, topic, partition, op as what, max(end_offset) as last from {operations}",
    "observations": "select run, topic, partition, time as what, max(log_end) as last from {observations}",
}


def floor(spark: SparkSession, run: Path, table: str) -> Counts:
    """What checks on Spark hardly do without: to read the rows of the largest table, and to group them once by their
    log and value, or by their log and operation. Returns the number of groups, which nobody compares."""
    history = load(spark, sources(spark, [run]))
    grouped = history.sql(f"{GROUPED[table]} group by run, topic, partition, what")
    (row,) = grouped.agg(F.count("*").alias("groups"), F.count("last")).collect()
    release(spark, history)
    return {table: row.groups}


def measure_checkout(checkout: Path, run: Path, of: str, rounds: int) -> Measured:
    """As `measure` does it for our checks, of the code of a checkout, in a new process."""
    lines, answer = measured_by(
        checkout, __file__, "--measure", "--of", of, "--history", str(run), "--rounds", str(rounds)
    )
    print("before:", *lines, sep="\n")
    walls, cpus, found_counts = answer
    return walls, cpus, found_counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--of", choices=KINDS, default="logs")
    parser.add_argument("--planted", type=int, default=5)
    parser.add_argument("--hot", action="store_true", help="one log has nine tenths of all records")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--facts", action="store_true")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--than", choices=OTHERS)
    parser.add_argument("--history", type=Path, help="a run directory; default: make one")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.than and (options.history or options.hot or options.floor):
        parser.error("--than makes both histories itself: leave out --history, --hot and --floor")
    if options.facts and options.floor:
        parser.error("--facts is measured without DuckDB, and so without a floor: leave out --floor")
    if options.of != "logs" and (options.hot or options.facts or options.than == "hot" or options.whole):
        parser.error(f"--of {options.of}: leave out --hot, --facts and --whole, which are about logs")
    if options.before and (options.than or options.facts or options.whole):
        parser.error("--before is compared with DuckDB: leave out --than, --facts and --whole")
    kind = KINDS[options.of]
    of_facts = {name: [check.name for check in CHECKS if check.over == name] for name in sorted(FACTS)}
    assert {name for names in of_facts.values() for name in names} == QUERIES.keys(), (
        "plain.py has other checks"
    )
    require_java()
    if not (options.facts or options.than):
        require_package("duckdb", version="2.0.0", purpose="The comparison with DuckDB")
    if options.history and not options.measure:  # with --measure, the parent process has done it
        require_history(options.history)
    with tempfile.TemporaryDirectory() as scratch:
        run, expected = options.history, None
        if run is None:
            run = Path(scratch) / "run"
            make = partial(make_logs, hot=True) if options.hot else kind.make
            expected = make(options.records, options.planted, run)
        before = options.before and measure_checkout(
            options.before.resolve(), run, options.of, options.rounds
        )
        spark = spark_session(size="large", heap="2g", master="local[2]")
        fit(spark, rows_of(run))
        if options.facts:
            measure(
                {name: partial(ours, spark, run, names) for name, names in of_facts.items()}, options.rounds
            )
            return
        judge = whole if options.whole else partial(ours, names=kind.queries)
        if options.measure:
            print(json.dumps(measure({"kafkacheck": lambda: judge(spark, run)}, options.rounds)))
            return
        if options.than:
            assert expected is not None
            is_hot = options.than == "hot"
            more = options.records * (1 if is_hot else 10)
            make_other = partial(partial(make_logs, hot=True) if is_hot else kind.make, more, options.planted)
            compare(spark, run, expected, options.than, make_other, judge, options.rounds)
            return
        calls = {
            "kafkacheck": lambda: judge(spark, run),
            "duckdb": lambda: counts(run, threads=2, views=kind.views, queries=kind.queries),
        }
        walls, cpus, found_counts = measure(calls, options.rounds)
        if options.floor:
            largest = max(GROUPED, key=partial(rows_of, run))
            lowest, _, _ = measure({"floor": lambda: floor(spark, run, largest)}, options.rounds)
    if before:
        found_counts += before[2]
    wrong = [each for each in found_counts if each != (expected if expected is not None else found_counts[0])]
    assert not wrong, f"different counts: {wrong[0]}, expected {expected or found_counts[0]}"
    first = walls["kafkacheck"][0]
    mine, theirs = (min(walls[name]) for name in ("kafkacheck", "duckdb"))
    cpu = min(cpus["kafkacheck"]) / min(cpus["duckdb"])
    print(f"both counted: {found_counts[0]}")
    print(f"first in a fresh JVM {first:.2f} s, {first / theirs:.2f} of DuckDB's best")
    print(f"best of {options.rounds}: kafkacheck {mine:.2f} s, duckdb {theirs:.2f} s")
    print(f"ratio {mine / theirs:.2f} (bar {BAR}, goal {GOAL})")
    if before:
        earlier, used = (each["kafkacheck"] for each in before[:2])
        print(
            f"before: first {earlier[0]:.2f} s, {earlier[0] / theirs:.2f} of DuckDB's best; best {min(earlier):.2f} "
            f"s, ratio {min(earlier) / theirs:.2f}, of processor seconds {min(used) / min(cpus['duckdb']):.2f}"
        )
    if options.floor:
        least = min(lowest["floor"])
        print(
            f"floor {least:.2f} s, {least / theirs:.2f} of DuckDB's best; ours is {mine / least:.2f} floors"
        )
    print(f"ratio of processor seconds, which other processes disturb less: {cpu:.2f}")


if __name__ == "__main__":
    main()
