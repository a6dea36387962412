"""Why an analysis crashed, in one line."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JNetworkError

from analyzers.spark.session import forget_dead_jvm
from analyzers.spark.statements import error_summary

DYING = 20.0
"""Seconds to wait for the end of a JVM that seems to have run out of memory. Spark does not end it at once."""

SIGNS_OF_DEATH = ("OutOfMemoryError", "stopped SparkContext", "SparkContext was shut down")
"""When one of several concurrent jobs runs out of memory, the others fail with a stopped context."""


def describe(error: Exception) -> str:
    """The head and the root cause of an error in one short line, or how the JVM ended if that is the cause.

    A request sent to a JVM that is shutting down fails with it. So if the error suggests that, wait for the JVM to
    end."""
    try:
        text = str(error)
    except Exception:  # Py4J asks the JVM for the text
        text = ""
    is_dying = (
        not text
        or any(sign in text for sign in SIGNS_OF_DEATH)
        or isinstance(error, (Py4JNetworkError, OSError))
    )
    cause = forget_dead_jvm(wait=DYING if is_dying else 0)
    if cause is not None:
        return cause
    return f"{type(error).__name__}: {error_summary(text) or 'without a message'}"


@contextmanager
def without_py4j_log() -> Iterator[None]:
    """Py4J logs a lost connection with its whole traceback, and also raises it: drop the log record."""

    def is_wanted(record: logging.LogRecord) -> bool:
        return "while sending command" not in record.getMessage()

    names = (None, "py4j.java_gateway", "py4j.clientserver")
    loggers = [logging.getLogger(name) for name in names]
    for logger in loggers:
        logger.addFilter(is_wanted)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_wanted)
