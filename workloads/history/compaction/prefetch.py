"""Runs two steps of a pipeline at once: while the caller works on one item, a thread makes the next."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def prefetched(items: Generator[T]) -> Generator[T]:
    """The same items; at most one of them is made before the caller requests it.

    An exception raised while making an item is raised here, at that item. At the end, whether by the last item, an
    exception or `close`, the thread has ended and `items` is closed; `close` waits for the item that is being made.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as pool:
        try:
            future = pool.submit(_next, items)
            while item := future.result():
                future = pool.submit(_next, items)
                # Taken out of the list, so that only the caller keeps the item in memory.
                yield item.pop()
        finally:
            # In the same thread, so after the item that is being made there.
            pool.submit(items.close).result()


def _next(items: Generator[T]) -> list[T]:
    """The next item in a list, or an empty list at the end."""
    for item in items:
        return [item]
    return []
