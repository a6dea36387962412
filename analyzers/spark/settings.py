"""What Spark is told, by the size of what is judged; why and how much it matters is in docs/spark.md."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

Size = Literal["small", "large"]

LARGE = 2_000_000
"""Records from which the optimising compiler is worth the time that it takes."""

# A history is grouped on (run, topic, partition) over and over: a plan fixed up front halves the time of a
# small history and costs a large one nothing.
SQL: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
}

INTERPRETED = 20_000
"""Records up to which a plan is interpreted: compiling its code takes longer than the code then saves."""

ONE_PIECE = 200_000
"""Records up to which nothing is divided, so that nothing is shuffled or broadcast: to divide the work of one
statement takes longer than to do it, and there are three side by side."""

ROWS_PER_PARTITION = 500_000
FEWEST, MOST = 2, 200

# Small: no compiler that optimises, and none of its bookkeeping. Large: it optimises what is called for every row,
# and leaves be what only plans, which takes much of the processor time of a first verdict.
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


def sql_settings(rows: int | None, *, cores: int | None = None) -> dict[str, str]:
    """Those of a session, for so many records; None while the number is not known.

    cores  that run tasks, on all machines; default: this machine's.
    """
    known = rows or 0
    interpreted, whole = known <= INTERPRETED, known <= ONE_PIECE
    return {
        **SQL,
        "spark.sql.shuffle.partitions": str(1 if whole else _partitions(known, cores or os.cpu_count() or 1)),
        "spark.sql.codegen.wholeStage": str(not interpreted).lower(),
        "spark.sql.codegen.factoryMode": "NO_CODEGEN" if interpreted else "FALLBACK",
        # A table in one piece is joined where it is: to hand the other side around would be a job of its own.
        "spark.sql.optimizer.disableHints": str(whole).lower(),
        "spark.sql.autoBroadcastJoinThreshold": "-1" if whole else "10MB",
        # What follows from filters and keys spares rows, of which there are few, and takes part of the planning.
        "spark.sql.constraintPropagation.enabled": str(not interpreted).lower(),
    }


def _partitions(rows: int, cores: int) -> int:
    if rows < ROWS_PER_PARTITION:
        return FEWEST
    return min(MOST, max(2 * cores, rows // ROWS_PER_PARTITION))


def size_of(rows: int | None) -> Size:
    return "large" if rows is not None and rows >= LARGE else "small"


def is_local(master: str) -> bool:
    """Whether Spark runs within this process' own JVM."""
    return master.startswith("local") and not master.startswith("local-cluster")


def is_connect(master: str) -> bool:
    return master.startswith("sc://")


def core_settings(master: str, *, scratch: Path, heap: str) -> dict[str, str]:
    """Those of a Spark that is started here: silent, and nothing left in the working directory."""
    settings = {
        "spark.driver.memory": heap,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(scratch),
        # One analysis has some hundred generated classes; what falls out of the cache is compiled again.
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # A flipped bit is damage, and not another value.
        "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    }
    if is_local(master):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def java_options(size: Size, *, scratch: Path, archive: Path | None) -> tuple[str, ...]:
    """Of the driver's JVM. `archive`: of loaded classes, see `analyzers.spark.quick_start`."""
    # An archive that does not fit, or is broken, is passed over: that is what auto means.
    shared = () if archive is None else (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds=off")
    return (f"-Djava.io.tmpdir={scratch}", *COMPILER[size], *shared)
