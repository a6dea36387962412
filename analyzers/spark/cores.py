"""How many tasks a session runs at the same time."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def cores_of(spark: SparkSession) -> int | None:
    """The cores of all machines that run tasks now; None if that is not known, as with Spark Connect.

    A cluster that starts executors on demand has few at first: there, set ``spark.default.parallelism``.
    """
    try:
        return spark.sparkContext.defaultParallelism
    except PySparkException:
        return None
