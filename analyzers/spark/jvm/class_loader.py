"""One class loader for all code that an embedded Spark generates.

Spark keeps each class that it generates with the class loader of the thread that asked for it. The driver compiles
the classes of a plan before it starts tasks, and tasks have a class loader of their own, whose parent is the
driver's. So each class is compiled twice.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession


def share_class_loader(spark: SparkSession) -> None:
    """Give the driver's threads the class loader of tasks, which finds the same classes.

    New threads inherit it from the threads that start them. Does nothing the second time, and with Spark before 4.2,
    which does not tell the class loader of tasks.
    """
    jvm: Any = spark._jvm
    tasks, drivers = _of_tasks(jvm), _own(jvm)
    if tasks is not None and not drivers.equals(tasks):
        _replace(jvm, drivers, tasks)


def return_class_loader(jvm: Any) -> None:
    """Undo `share_class_loader` before another application starts in the JVM, whose classes would otherwise be looked
    for in the jars of the earlier one."""
    tasks, drivers = _of_tasks(jvm), _own(jvm)
    if tasks is not None and drivers.equals(tasks):
        _replace(jvm, tasks, tasks.getParent())


def _of_tasks(jvm: Any) -> Any:
    """The class loader of tasks; None if it is not known."""
    try:
        state = jvm.org.apache.spark.executor.IsolatedSessionState.sessions().get("default")
    except (Py4JError, AttributeError):
        return None
    return None if state is None else state.replClassLoader()


def _own(jvm: Any) -> Any:
    """That of this thread."""
    return jvm.java.lang.Thread.currentThread().getContextClassLoader()


def _replace(jvm: Any, old: Any, new: Any) -> None:
    for thread in jvm.java.lang.Thread.getAllStackTraces().keySet().toArray():
        if old.equals(thread.getContextClassLoader()):
            thread.setContextClassLoader(new)
