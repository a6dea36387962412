"""SIGTERM, as continuous integration sends it, unwinds like Ctrl-C, and neither of them gets lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_interrupted = threading.Event()


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM: Python's default is to die at once and leave containers behind.

    Python swallows an exception that happens to rise in a destructor, such as those of Py4J's many objects. So it is
    remembered, for `raise_if_interrupted`. Without effect off the main thread, and on signals that somebody else
    handles.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    defaults: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    taken = [number for number, default in defaults.items() if signal.getsignal(number) is default]
    _interrupted.clear()
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, defaults[number])


def raise_if_interrupted() -> None:
    """Raise the KeyboardInterrupt that Python has swallowed. For loops that wait."""
    if _interrupted.is_set() and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def _interrupt(*_: object) -> None:
    _interrupted.set()
    raise KeyboardInterrupt
