"""Spark, started in the background while a cluster boots."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from pytest_kafkacheck.errors import InfrastructureError, KafkacheckError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Spark:
    """One session for all verdicts of a process. `start` returns at once, `session` waits.

    master  Spark's, such as ``local[*]`` (embedded) or ``spark://host:7077``.
    """

    def __init__(self, *, master: str = "local[*]") -> None:
        self._master = master
        self._future: Future[SparkSession] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        with self._lock:
            if self._future is None:
                self._future = Future()
                threading.Thread(
                    target=self._fill, args=(self._future,), name="kafkacheck-spark", daemon=True
                ).start()

    def session(self) -> SparkSession:
        """The warmed session. Raises InfrastructureError when Spark could not be started."""
        self.start()
        assert self._future is not None
        return self._future.result()

    def stop(self) -> None:
        with self._lock:
            future, self._future = self._future, None
        if future is not None and future.exception() is None:
            future.result().stop()

    def _fill(self, future: Future[SparkSession]) -> None:
        from analyzers.session import spark_session, warm
        from pytest_kafkacheck.setup.java import find_java

        try:
            java = find_java()
            if java is None:
                raise InfrastructureError(
                    "Spark needs a Java runtime, 17 or later: neither JAVA_HOME nor PATH has one. "
                    "Install one, or on Debian/Ubuntu run `kafkacheck setup` as root."
                )
            session = spark_session(master=self._master, java=java)
            warm(session)
            future.set_result(session)
        except KafkacheckError as error:
            future.set_exception(error)
        except Exception as error:
            text = f"Spark with master {self._master!r} could not be started: {error!r}"
            wrapped = InfrastructureError(text)
            wrapped.__cause__ = error
            future.set_exception(wrapped)
