"""Spark, started in the background while a cluster boots."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING

from pytest_kafkacheck.errors import InfrastructureError, KafkacheckError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from analyzers.spark.settings import Size


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """Settings given as ``spark.KEY=VALUE`` each, the later one holding. Raises UsageError naming what is not."""
    settings = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key.startswith("spark."):
            raise UsageError(
                f"Spark setting {pair!r}: expected spark.KEY=VALUE, such as spark.executor.memory=4g"
            )
        settings[key] = value
    return settings


class Spark:
    """One session for all verdicts of a process. `start` returns at once, `session` waits.

    master  Spark's, such as ``local[*]`` (embedded), ``spark://host:7077`` or ``sc://host:15002``.
    conf    any settings of Spark.
    warmed  judge a tiny history of ours first, while a cluster boots.
    """

    def __init__(
        self, *, master: str = "local[*]", conf: Mapping[str, str] | None = None, warmed: bool = True
    ) -> None:
        self._master = master
        self._conf = dict(conf or {})
        self._warm = warmed
        self._opened: Future[SparkSession] | None = None
        self._warmed: Future[SparkSession] = Future()
        self._lock = threading.Lock()
        self._size: Size = "small"

    def start(self) -> None:
        """Start in the background. How large the history will be is not known yet: most are small."""
        with self._lock:
            if self._opened is None:
                self._opened, self._warmed = Future(), Future()
                threading.Thread(
                    target=self._fill, args=(self._opened, self._warmed), name="kafkacheck-spark", daemon=True
                ).start()

    def session(self, *, rows: int | None = None) -> SparkSession:
        """The session, warmed and fit for so many rows (None: not known); another one where its JVM has died.

        For a large history the small JVM is replaced: what the optimising compiler saves then is more than the
        start. Raises InfrastructureError when Spark could not be started.
        """
        from analyzers.spark.session import cause_of_death, end, fit, is_alive
        from analyzers.spark.settings import is_local, size_of

        if is_local(self._master) and size_of(rows) == "large" and self._size == "small":
            began = self._opened is not None
            self._size = "large"
            self.stop()
            if began:
                end()
        self.start()
        session = self._warmed.result()
        if not is_alive(session):
            cause_of_death()
            with self._lock:
                self._opened = None
        self.start()
        session = self._warmed.result()
        if rows is not None:
            fit(session, rows, conf=self._conf)
        return session

    def stop(self) -> None:
        """Whoever ends early, by Ctrl-C say, does not wait for the warming: it fails with the session."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None and opened.exception() is None:
            from analyzers.spark.session import is_alive

            if is_alive(opened.result()):
                opened.result().stop()
            self._warmed.exception()

    def _fill(self, opened: Future[SparkSession], warmed: Future[SparkSession]) -> None:
        from analyzers.spark.session import spark_session
        from analyzers.spark.settings import is_connect, is_local
        from pytest_kafkacheck.setup.java import find_java

        try:
            # A Connect server has a runtime of its own.
            java = None if is_connect(self._master) else find_java()
            if java is None and not is_connect(self._master):
                raise InfrastructureError(
                    "Spark needs a Java runtime, 17 or later: neither JAVA_HOME nor PATH has one. "
                    "Install one, or on Debian/Ubuntu run `kafkacheck setup` as root."
                )
            session = spark_session(master=self._master, java=java, conf=self._conf, size=self._size)
            opened.set_result(session)
            if self._warm and is_local(self._master):
                # Loading the analysis takes time, so only after the JVM has been started.
                from analyzers.judge.warm_up import warm_up

                warm_up(session)
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
