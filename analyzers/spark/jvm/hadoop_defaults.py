"""Hadoop's default settings, which an embedded Spark does without until it reads another file system.

There are some 1,100, nearly all of them for file systems and services elsewhere. Spark copies and serialises them for
each scan of a table: a tenth of the processor time of a verdict on an ordinary history.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

PREFIX = "spark.hadoop."
BUFFER = "io.file.buffer.size"
"""Spark sets it for everybody."""

_dropped: WeakKeyDictionary[SparkContext, Any] = WeakKeyDictionary()
"""By application: all settings, as they were before."""
_lock = threading.Lock()


def drop_defaults(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Keep only Spark's own settings of Hadoop, and those among the application's `settings`.

    Does nothing where the site has settings of its own, in ``core-site.xml``.
    """
    jvm: Any = spark._jvm
    configuration = spark._jsc.hadoopConfiguration()
    if configuration.getResource("core-site.xml") is not None:
        return
    kept = {key.removeprefix(PREFIX): value for key, value in settings.items() if key.startswith(PREFIX)}
    kept[BUFFER] = configuration.get(BUFFER)
    # Both load classes that add resources, after which each configuration reads all of its resources again.
    jvm.org.apache.hadoop.mapred.JobConf(False)
    jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass("file", configuration)
    with _lock:
        _dropped[spark.sparkContext] = jvm.org.apache.hadoop.conf.Configuration(configuration)
        configuration.clear()
        for key, value in kept.items():
            configuration.set(key, value)


def restore_defaults(spark: SparkSession) -> None:
    """Before anything is read that may lie on another file system. Does nothing where no settings are missing."""
    with _lock:
        context = getattr(spark, "_sc", None)  # a session of Spark Connect has none
        if context is not None and (settings := _dropped.pop(context, None)) is not None:
            spark._jsc.hadoopConfiguration().addResource(settings)
