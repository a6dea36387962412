"""One Spark session for all verdicts of a process, started in the background while a cluster boots."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_kafkacheck.errors import InfrastructureError, KafkacheckError, UsageError
from pytest_kafkacheck.termination import is_interrupted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from analyzers.spark.settings import Size


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """Settings given as ``spark.KEY=VALUE`` each; of two for one key, the later. Raises UsageError for another
    form."""
    settings = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key.startswith("spark."):
            raise UsageError(
                f"Spark setting {pair!r}: expected spark.KEY=VALUE, such as spark.executor.memory=4g"
            )
        settings[key] = value
    return settings


class KeptSpark:
    """One embedded Spark for several commands, each of which starts and stops it as its own."""

    def __init__(self) -> None:
        self._spark: Spark | None = None

    def get(self, *, warmed: bool) -> Spark:
        """warmed: as of `Spark`; only the first call decides on it."""
        if self._spark is None:
            self._spark = Spark(warmed=warmed, is_kept=True)
        return self._spark

    @property
    def is_started(self) -> bool:
        """Whether a command has needed it."""
        return self._spark is not None and self._spark.is_started

    def end(self) -> None:
        if self._spark is not None:
            self._spark.stop(at_once=True)


_kept: list[KeptSpark] = []
"""The one of the block of `keep_spark`."""


@contextmanager
def keep_spark() -> Iterator[KeptSpark]:
    """Commands of the block share one Spark, which ends with the block."""
    kept = KeptSpark()
    _kept.append(kept)
    try:
        yield kept
    finally:
        _kept.remove(kept)
        kept.end()


def kept_spark() -> KeptSpark | None:
    """That of the block of `keep_spark` around this call."""
    return _kept[-1] if _kept else None


class Spark:
    """Starts the session and replaces it when its JVM died or is too small. `start` returns at once, `session` waits.

    master  Spark's, such as ``local[*]`` (embedded), ``spark://host:7077`` or ``sc://host:15002``.
    conf    any settings of Spark.
    plain   use it only through its public interface: the same verdicts, more slowly.
    warmed  judge a small history first, so that the first real verdict is quick. Only of an embedded Spark.
    is_kept `stop` has no effect, except at once: there will be more to judge.
    """

    def __init__(
        self,
        *,
        master: str = "local[*]",
        conf: Mapping[str, str] | None = None,
        plain: bool = False,
        warmed: bool = True,
        is_kept: bool = False,
    ) -> None:
        self._master = master
        self._plain = plain
        self._conf = dict(conf or {})
        self._warms_up = warmed
        self._is_kept = is_kept
        self._opened: Future[SparkSession] | None = None
        self._ready: Future[SparkSession] = Future()
        self._lock = threading.Lock()
        self._size: Size = "small"
        self._expected: int | None = None

    def start(self, *, expected: int | None = None) -> None:
        """Start in the background, unless it was started before.

        expected  the number of rows that the first history will have, for which it is warmed up; None: few.
        """
        with self._lock:
            if self._opened is None:
                self._opened, self._ready, self._expected = Future(), Future(), expected
                threading.Thread(
                    target=self._open, args=(self._opened, self._ready), name="kafkacheck-spark", daemon=True
                ).start()

    def session(self, *, rows: int | None = None) -> SparkSession:
        """The session, warmed up and with settings for `rows` records (None: not known).

        Starts another JVM if the present one has died, and for the first large history: what the optimising compiler
        saves there is more than the start costs. Raises InfrastructureError if Spark could not be started.
        """
        from analyzers.spark.session import end_spark, fit, forget_dead_jvm, is_alive
        from analyzers.spark.settings import is_local, size_of

        if is_local(self._master) and size_of(rows) == "large" and self._size == "small":
            was_started = self._opened is not None
            self._size = "large"
            self._stop()
            if was_started:
                end_spark()
        self.start()
        session = self._ready.result()
        if not is_alive(session):
            forget_dead_jvm()
            with self._lock:
                self._opened = None
        self.start()
        session = self._ready.result()
        if rows is not None:
            fit(session, rows, conf=self._conf)
        return session

    @property
    def is_started(self) -> bool:
        return self._opened is not None

    def stop(self, *, at_once: bool = False) -> None:
        """Stop the session. Does not wait for the warm-up to end by itself: it fails when its session stops.

        at_once  kill an embedded Spark, because the process is about to end; also after an interrupt. To stop takes
                 seconds while it starts or warms up.
        """
        is_last = at_once or is_interrupted()
        if is_last or not self._is_kept:
            self._stop(at_once=is_last)

    def _stop(self, *, at_once: bool = False) -> None:
        from analyzers.spark.settings import is_local

        with self._lock:
            opened, self._opened = self._opened, None
        if at_once and is_local(self._master):
            if opened is not None:
                from analyzers.spark.session import kill_spark

                kill_spark()
        elif opened is not None and opened.exception() is None:
            from analyzers.spark.session import is_alive

            if is_alive(opened.result()):
                opened.result().stop()
            self._ready.exception()

    def _open(self, opened: Future[SparkSession], ready: Future[SparkSession]) -> None:
        from analyzers.spark.session import spark_session
        from analyzers.spark.settings import is_connect, is_local
        from workloads.java_runtime import find_java

        try:
            # A Connect server has its own runtime.
            java = None if is_connect(self._master) else find_java()
            if java is None and not is_connect(self._master):
                raise InfrastructureError(
                    "Spark needs a Java runtime, 17 or later: neither JAVA_HOME nor PATH has one. "
                    "Install one, or on Debian/Ubuntu run `kafkacheck setup` as root."
                )
            session = spark_session(
                master=self._master, java=java, conf=self._conf, size=self._size, plain=self._plain
            )
            opened.set_result(session)
            if self._warms_up and is_local(self._master):
                # Importing the analysis takes time, so only once the JVM has been started.
                from analyzers.judge.warm_up import warm_up

                warm_up(session, rows=self._expected, conf=self._conf)
            ready.set_result(session)
        except Exception as error:
            reported = error
            if not isinstance(error, KafkacheckError):
                reported = InfrastructureError(
                    f"Spark with master {self._master!r} could not be started: {error!r}"
                )
                reported.__cause__ = error
            ready.set_exception(reported)
            if not opened.done():
                opened.set_exception(reported)
