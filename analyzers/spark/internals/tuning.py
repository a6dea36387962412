"""Less work for an embedded Spark: one class loader for generated code, and none of Hadoop's default settings."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

from analyzers.spark.environment import has_jvm
from analyzers.spark.internals.shortcut import Shortcut

CLASS_LOADER = Shortcut("one class loader")
"""Spark keeps each class that it generates with the class loader of the thread that asked for it. The driver compiles
the classes of a plan before it starts tasks, and tasks have a class loader of their own, whose parent is the
driver's. So each class is compiled twice."""

HADOOP_DEFAULTS = Shortcut("no defaults of Hadoop")
"""There are some 1,100, nearly all of them for file systems and services elsewhere. Spark copies and serialises them
for each scan of a table: a tenth of the processor time of a verdict on an ordinary history."""

PREFIX = "spark.hadoop."
BUFFER = "io.file.buffer.size"
"""Spark sets it for everybody."""

_dropped: WeakKeyDictionary[SparkContext, tuple[Any, Any]] = WeakKeyDictionary()
"""By application: its settings of Hadoop, and a copy with all of them, as they were before."""
_lock = threading.Lock()


def share_class_loader(spark: SparkSession) -> None:
    """Give the driver's threads the class loader of tasks, which finds the same classes.

    New threads inherit it from the threads that start them. Does nothing the second time.
    """

    def share() -> None:
        jvm: Any = spark._jvm
        tasks, drivers = _of_tasks(jvm), _own(jvm)
        if tasks is not None and not drivers.equals(tasks):
            _replace(jvm, drivers, tasks)

    CLASS_LOADER.either(share, lambda: None)


def return_class_loader(jvm: Any) -> None:
    """Undo `share_class_loader` before another application starts in the JVM, whose classes would otherwise be looked
    for in the jars of the earlier one."""

    def return_it() -> None:
        tasks, drivers = _of_tasks(jvm), _own(jvm)
        if tasks is not None and drivers.equals(tasks):
            _replace(jvm, tasks, tasks.getParent())

    CLASS_LOADER.either(return_it, lambda: None)


def _of_tasks(jvm: Any) -> Any:
    """The class loader of tasks; None before the first task."""
    state = jvm.org.apache.spark.executor.IsolatedSessionState.sessions().get("default")
    return None if state is None else state.replClassLoader()


def _own(jvm: Any) -> Any:
    """That of this thread."""
    return jvm.java.lang.Thread.currentThread().getContextClassLoader()


def _replace(jvm: Any, old: Any, new: Any) -> None:
    for thread in jvm.java.lang.Thread.getAllStackTraces().keySet().toArray():
        if old.equals(thread.getContextClassLoader()):
            thread.setContextClassLoader(new)


def drop_defaults(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Keep only Spark's own settings of Hadoop, and those among the application's `settings`.

    Does nothing where the site has settings of its own, in ``core-site.xml``.
    """

    def drop() -> None:
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
            _dropped[spark.sparkContext] = (
                configuration,
                jvm.org.apache.hadoop.conf.Configuration(configuration),
            )
            configuration.clear()
            for key, value in kept.items():
                configuration.set(key, value)

    HADOOP_DEFAULTS.either(drop, lambda: restore_defaults(spark))


def restore_defaults(spark: SparkSession) -> None:
    """Before anything is read that may lie on another file system. Does nothing where no settings are missing."""
    with _lock:
        if has_jvm(spark) and (dropped := _dropped.pop(spark.sparkContext, None)) is not None:
            configuration, settings = dropped
            configuration.addResource(settings)
