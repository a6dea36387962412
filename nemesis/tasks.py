"""Work that goes on side by side, and waits with a limit. Tests replace threads and time by tasks in fake time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Task(Protocol[T_co]):
    """Work that was started."""

    def done(self) -> bool: ...

    def result(self) -> T_co:
        """Waits for its end. Raises what it raised."""


class Start(Protocol):
    """Starts work beside its caller. The name is for logs and stacks."""

    def __call__(self, work: Callable[[], T], name: str) -> Task[T]: ...


def in_thread(work: Callable[[], T], name: str) -> Future[T]:
    """The usual `Start`."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as problem:
            future.set_exception(problem)

    # The process may end without it: a request to a broker or to the engine may stay unanswered for long.
    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def side_by_side(start: Start, works: Sequence[Callable[[], T]], name: str) -> list[T]:
    """Their results, in order, after all have ended. Raises what one raised, or a group of what several raised."""
    if len(works) < 2:
        return [work() for work in works]
    tasks: list[Task[Any]] = [start(work, f"{name}-{number}") for number, work in enumerate(works)]
    results: list[T] = []
    problems: list[BaseException] = []
    for task in tasks:
        try:
            results.append(task.result())
        except BaseException as problem:
            problems.append(problem)
    if problems:
        raise problems[0] if len(problems) == 1 else BaseExceptionGroup("several nodes failed", problems)
    return results


def wait_until(
    condition: Callable[[], bool],
    *,
    limit: float,
    interval: float = 0.1,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
    abandon: Callable[[], bool] = lambda: False,
) -> bool:
    """Whether the condition became true within `limit` seconds. It is evaluated at least once.

    interval  seconds between two evaluations.
    sleep     waits that many seconds, or less.
    abandon   returns whether to end the wait early.
    """
    deadline = clock() + limit
    while not condition():
        left = deadline - clock()
        if left <= 0 or abandon():
            return False
        sleep(min(interval, left))
    return True


def run_with_deadline(limit: float, work: Callable[[], object], *, name: str) -> None:
    """Call `work` on a thread of that name and wait for it. An exception of `work` is raised here.

    Raises TimeoutError after `limit` seconds. The thread then goes on until `work` returns or the process ends.
    """
    task = in_thread(work, name)
    wait([task], limit)
    if not task.done():
        raise TimeoutError(f"it took more than {limit:.0f} s")
    task.result()
