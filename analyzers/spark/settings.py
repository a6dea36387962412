"""Spark's settings, by the size of the histories to be judged. benchmarks/README.md has the measurements."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

Size = Literal["small", "large"]

LARGE = 2_000_000
"""Rows from which the optimising compiler of the JVM saves more time than it takes."""

# Nearly all grouping is by (run, topic, partition). Without adaptive plans a small history takes half the time, a
# large one the same. From 128 groups in a task, Spark's default, it would sort all findings to choose the first ones
# of each log: runs with many logs, and many runs, have more. Adaptive plans join partitions of up to 1 MB by default:
# a table with some rows for each log would be one task, for which all other machines wait. Opening a file counts as
# 4 MB by default, and no task reads less; but 4 million rows may take 3 MB. For the same reason no table is broadcast
# for its size: statements name those that are small. Nor do they name any for a hash join of shuffled rows: neither
# table can be spilled to disk, and 25 million rows of a share group took more than 2 GB.
SQL: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1KB",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.files.openCostInBytes": "64KB",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "4096",
}

# On a cluster a partition that is far larger than the others keeps all other machines waiting: adaptive plans divide
# it. The threshold of listing is Spark's own.
CLUSTER_SQL: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "32",
}

INTERPRETED = 20_000
"""Rows of all tables up to which plans are interpreted: generating and compiling code takes longer than it saves."""

ONE_PIECE = 500_000
"""Rows of all tables up to which each has one partition, so that nothing is shuffled or broadcast. Distributing the
work of a statement takes longer than doing it, and three statements run side by side anyway."""

ROWS_PER_PARTITION = 500_000
MOST = 200
"""Shuffle partitions. On a cluster the most are `ROUNDS` for each core, if that is more."""

ROUNDS = 4

# Small: no optimising compiler (C2), and none of its profiling. Large: C2 compiles methods that are called for every
# row, but not the code that builds plans, whose compilation would take much of the processor time of a first verdict.
OPTIMISED_FROM = {
    "Tier4InvocationThreshold": 200_000,
    "Tier4MinInvocationThreshold": 50_000,
    "Tier4CompileThreshold": 400_000,
    "Tier4BackEdgeThreshold": 160_000,
}
COMPILER: Mapping[Size, tuple[str, ...]] = {
    "small": ("-XX:TieredStopAtLevel=1",),
    "large": tuple(f"-XX:{name}={calls}" for name, calls in OPTIMISED_FROM.items()),
}


# G1, the default with two cores, does some of its work beside the program. That is no gain where statements run side
# by side on all cores. And it moves no object of half a region (1 MB) or more, such as pages of 2 MB and the arrays
# of sorts: with 84 million rows it ran out of memory, where the parallel collector left up to 1.3 of 2 GB in use.
COLLECTOR = "-XX:+UseParallelGC"


def sql_settings(rows: int | None, *, cores: int | None = None, is_cluster: bool = False) -> dict[str, str]:
    """The settings of a session for a number of rows, of all tables; None if it is not known.

    cores       cores that run tasks, on all machines; default: those of this machine.
    is_cluster  whether tasks run on other machines. With large histories, plans are adaptive then, and many folders
                are listed by tasks.
    """
    known = rows or 0
    is_interpreted, is_one_piece = known <= INTERPRETED, known <= ONE_PIECE
    on_cluster = CLUSTER_SQL if is_cluster and not is_one_piece else {}
    return {
        **SQL,
        **on_cluster,
        "spark.sql.shuffle.partitions": str(
            1 if is_one_piece else _partitions(known, cores or os.cpu_count() or 1)
        ),
        "spark.sql.codegen.wholeStage": str(not is_interpreted).lower(),
        "spark.sql.codegen.factoryMode": "NO_CODEGEN" if is_interpreted else "FALLBACK",
        # Tables with one partition are joined in place. To broadcast one of them would be another job.
        "spark.sql.optimizer.disableHints": str(is_one_piece).lower(),
        # Inferring constraints from filters and keys saves reading rows, of which there are few, and makes planning
        # slower.
        "spark.sql.constraintPropagation.enabled": str(not is_interpreted).lower(),
    }


def _partitions(rows: int, cores: int) -> int:
    return min(max(MOST, ROUNDS * cores), max(2 * cores, rows // ROWS_PER_PARTITION))


def size_of(rows: int | None) -> Size:
    return "large" if rows is not None and rows >= LARGE else "small"


def is_local(master: str) -> bool:
    """Whether Spark is embedded: it runs in a JVM of this process."""
    return master.startswith("local") and not master.startswith("local-cluster")


def is_connect(master: str) -> bool:
    return master.startswith("sc://")


def core_settings(master: str, *, scratch: Path, heap: str) -> dict[str, str]:
    """The settings for starting Spark: it prints nothing and leaves nothing in the working directory."""
    settings = {
        "spark.driver.memory": heap,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(scratch),
        # Each operator that sorts or groups takes at least one page, and an analysis has dozens side by side. Spark's
        # own choice, 32 MB for a heap of 2 GB, takes most of the heap for pages that are nearly empty.
        "spark.buffer.pageSize": "2m",
        # One analysis has some hundred generated classes. A class that is evicted from the cache is compiled again.
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # Otherwise a flipped bit is read as another value.
        "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    }
    if is_local(master):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        # What is broadcast, such as Hadoop's configuration for each scan of a table, does not leave the JVM.
        settings |= {"spark.broadcast.compress": "false", "spark.broadcast.checksum": "false"}
    return settings


def java_options(size: Size, *, scratch: Path, archive: Path | None) -> tuple[str, ...]:
    """Options of the driver's JVM. `archive`: the class archive, see `analyzers.spark.internals.quick_start`."""
    # The JVM's own size without C2, 48 MB, is full after three verdicts: then it discards compiled methods, and for a
    # time compiles none.
    code = "-XX:ReservedCodeCacheSize=256m"
    # auto: the JVM ignores an archive that is damaged or does not fit.
    shared = () if archive is None else (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds=off")
    # Without it, Spark stops in a JVM that goes on running and answers every request with an error.
    ends = "-XX:+ExitOnOutOfMemoryError"
    return (f"-Djava.io.tmpdir={scratch}", ends, code, COLLECTOR, *COMPILER[size], *shared)
