"""Shortcuts through Spark's private parts, each with the plain way beside it, which gives the same result."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import TypeVar

import pyspark
from py4j.protocol import Py4JNetworkError

from analyzers.spark.statements import error_summary

SWITCH = "KAFKACHECK_PLAIN_SPARK"
"""Environment variable: with ``1`` no shortcut is used."""

JVM_IS_GONE = (Py4JNetworkError, ConnectionError)
"""The JVM does not answer. The plain way would have to ask it, too."""

T = TypeVar("T")
log = logging.getLogger(__name__)
_lock = threading.Lock()
_is_plain = False


class Shortcut:
    """Used until it fails for the first time in this process, and not at all where all are switched off.

    ``KEPT_PLANS.either(lambda: plan.run(), lambda: spark.sql(statement).collect())``
    """

    def __init__(self, name: str) -> None:
        """name: for the warning."""
        self.name = name
        self.has_failed = False

    @property
    def is_on(self) -> bool:
        return not (self.has_failed or is_plain())

    def either(
        self,
        quick: Callable[[], T],
        plain: Callable[[], T],
        *,
        raises: tuple[type[Exception], ...] = JVM_IS_GONE,
    ) -> T:
        """The result of `quick`, or of `plain` where the shortcut is off or `quick` fails.

        If both fail, the shortcut is not to blame: the error of `plain` is raised. raises: errors of `quick` that are
        raised without trying `plain`.
        """
        if not self.is_on:
            return plain()
        try:
            return quick()
        except raises:
            raise
        except Exception as error:
            failure = error
        result = plain()
        self._switch_off(failure)
        return result

    def _switch_off(self, error: Exception) -> None:
        with _lock:
            had_failed, self.has_failed = self.has_failed, True
        if had_failed:
            return
        try:
            reason = error_summary(str(error))
        except Exception:  # Py4J asks the JVM for the text
            reason = ""
        log.warning(
            "The shortcut %r is not possible with Spark %s (%s: %s), so this process does without it. Verdicts are "
            "the same and take longer. The option --plain-spark or %s=1 switches all shortcuts off.",
            self.name, pyspark.__version__, type(error).__name__, reason or "no message", SWITCH,
        )  # fmt: skip


def is_plain() -> bool:
    """Whether all shortcuts are switched off."""
    return _is_plain or os.environ.get(SWITCH, "").lower() not in ("", "0", "off")


def set_plain(plain: bool) -> None:
    """Switch all shortcuts of this process off, or on again."""
    global _is_plain
    _is_plain = plain
