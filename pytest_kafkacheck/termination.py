"""SIGTERM ends a session as Ctrl-C does, with all clean-up, and neither of the two is lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_signals: list[float] = []
"""When each came, by time.monotonic(); those of the outermost block below."""

CLEANING_UP = "interrupted: cleaning up, which takes some seconds …"


def _to_terminal(line: str) -> None:
    """Past Python's buffers, which the signal may have interrupted, and in place of a line of status."""
    start = b"\r\x1b[2K" if os.isatty(2) else b""
    os.write(2, start + f"kafkacheck: {line}\n".encode())


_announce: list[Callable[[str], None]] = [_to_terminal]
"""The last one is called with a line at the first signal, before anything is cleaned up."""


@contextmanager
def announced_by(announce: Callable[[str], None]) -> Iterator[None]:
    """Let this function say that a signal has come. It is called in the handler of the signal."""
    _announce.append(announce)
    try:
        yield
    finally:
        _announce.remove(announce)


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM, which continuous integration sends when it cancels a job.

    By default SIGTERM ends Python at once, and containers stay behind. The signal is also remembered, for
    `raise_if_interrupted`: Python drops an exception that is raised in a destructor, and Py4J's many objects have
    destructors. Has no effect off the main thread, and on a signal for which the program has a handler of its own.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    defaults: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    handled = [number for number, default in defaults.items() if signal.getsignal(number) is default]
    if not handled:  # within another such block, which forgets the signal at its own end
        yield
        return
    _signals.clear()
    for number in handled:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, defaults[number])
        # Whatever the same process does next was not interrupted.
        _signals.clear()


@contextmanager
def interrupts_before_errors() -> Iterator[None]:
    """Raise KeyboardInterrupt in place of an error of the block, if a signal came before it.

    Clean-up after an interrupt can fail, and a session that was interrupted is to end as such. The error is the
    context of the KeyboardInterrupt. An error that was raised while an interrupt was handled counts as well: the
    signal may have gone to a handler of another package, such as that of PySpark.
    """
    try:
        yield
    except Exception as error:
        if _follows_interrupt(error):
            raise KeyboardInterrupt from error
        raise_if_interrupted()
        raise


def _follows_interrupt(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def forget() -> None:
    """What follows was not interrupted: the program has caught the interrupt, and the outermost block goes on."""
    _signals.clear()


def is_interrupted() -> bool:
    """Whether a signal has come in the block of `terminated_like_interrupted`: only clean-up is left to do."""
    return bool(_signals)


def since_interrupt() -> float:
    """Seconds since the first signal; 0 without one."""
    return time.monotonic() - _signals[0] if _signals else 0.0


def raise_if_interrupted() -> None:
    """Raise the KeyboardInterrupt that Python has dropped. For loops that wait."""
    if _signals and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def _interrupt(*_: object) -> None:
    if not _signals:
        with suppress(Exception):  # such as a write within a write
            _announce[-1](CLEANING_UP)
    _signals.append(time.monotonic())
    raise KeyboardInterrupt
