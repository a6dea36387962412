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
    try:
        tasks = jvm.org.apache.spark.executor.IsolatedSessionState.sessions().get("default").replClassLoader()
    except (Py4JError, AttributeError):
        return
    java_thread = jvm.java.lang.Thread
    drivers = java_thread.currentThread().getContextClassLoader()
    if drivers.equals(tasks):
        return
    for thread in java_thread.getAllStackTraces().keySet().toArray():
        if drivers.equals(thread.getContextClassLoader()):
            thread.setContextClassLoader(tasks)
