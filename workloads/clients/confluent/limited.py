"""Calls of the library that do not keep to a limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def call_within(limit: float, function: Callable[[], T]) -> T:
    """What the function returns or raises. After `limit` seconds it raises TimeoutError, and the call goes on in its
    thread, which does not keep the process alive."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(function())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return answer.result(limit)
