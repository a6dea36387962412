"""Where a session runs: its JVM, its cores, and a scratch folder, which is removed however the process ends."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analyzers.spark.settings import is_local

PREFIX = "kafkacheck-spark-"


def make_scratch() -> Path:
    """A new folder, locked as long as this process lives. Removes the folders of processes that were killed."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    for each in folder.parent.glob(f"{PREFIX}*/lock"):
        with contextlib.suppress(OSError), each.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(each.parent, ignore_errors=True)
    # Never closed: the lock lasts as long as the process. The file gets the name `lock` only once it is locked.
    fcntl.flock(os.open(folder / "locking", os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_EX)
    (folder / "locking").rename(folder / "lock")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def scratch_of(spark: SparkSession) -> str | None:
    """The scratch folder of a session that was started here; None for another one."""
    folder: str = spark.conf.get("spark.local.dir", "") or ""
    return folder if Path(folder).name.startswith(PREFIX) and Path(folder).is_dir() else None


def is_embedded(spark: SparkSession) -> bool:
    """Whether all tasks run in the JVM of this process, so that they find what it writes to the scratch folder."""
    return scratch_of(spark) is not None and is_local(spark.conf.get("spark.master", "") or "")


def has_jvm(spark: SparkSession) -> bool:
    """Whether the driver is a JVM of this process. False with Spark Connect."""
    try:
        return spark.sparkContext is not None
    except PySparkException:
        return False


def cores_of(spark: SparkSession) -> int | None:
    """The cores of all machines that run tasks now; None if that is not known, as with Spark Connect.

    A cluster that starts executors on demand has few at first: there, set ``spark.default.parallelism``.
    """
    return spark.sparkContext.defaultParallelism if has_jvm(spark) else None
