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
    warmed  judge a tiny history of ours first, while a cluster boots.
    """

    def __init__(self, *, master: str = "local[*]", warmed: bool = True) -> None:
        self._master = master
        self._warm = warmed
        self._opened: Future[SparkSession] | None = None
        self._warmed: Future[SparkSession] = Future()
        self._lock = threading.Lock()

    def start(self) -> None:
        with self._lock:
            if self._opened is None:
                self._opened, self._warmed = Future(), Future()
                threading.Thread(
                    target=self._fill, args=(self._opened, self._warmed), name="kafkacheck-spark", daemon=True
                ).start()

    def session(self) -> SparkSession:
        """The warmed session. Raises InfrastructureError when Spark could not be started."""
        self.start()
        return self._warmed.result()

    def stop(self) -> None:
        """Whoever ends early, by Ctrl-C say, does not wait for the warming: it fails with the session."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None and opened.exception() is None:
            opened.result().stop()
            self._warmed.exception()

    def _fill(self, opened: Future[SparkSession], warmed: Future[SparkSession]) -> None:
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
            opened.set_result(session)
            if self._warm:
                warm(session)
            warmed.set_result(session)
        except Exception as error:
            told = error
            if not isinstance(error, KafkacheckError):
                told = InfrastructureError(
                    f"Spark with master {self._master!r} could not be started: {error!r}"
                )
                told.__cause__ = error
            warmed.set_exception(told)
            if not opened.done():
                opened.set_exception(told)
