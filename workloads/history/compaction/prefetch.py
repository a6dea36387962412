"""Two steps of a pipeline at once: while one item is worked on, the next is made in a thread."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def prefetched(items: Generator[T]) -> Generator[T]:
    """The same items; at most one is made before it is asked for.

    What making one raises is raised here, where it would have been. However this ends, by the last item, an
    exception or `close`, the thread has ended then, and `items` is closed; that waits for the item being made.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as pool:
        try:
            coming = pool.submit(_next, items)
            while made := coming.result():
                coming = pool.submit(_next, items)
                # Taken out of the list, so that it is held by nobody but the caller.
                yield made.pop()
        finally:
            # In the same thread, and so after whatever is being made there.
            pool.submit(items.close).result()


def _next(items: Generator[T]) -> list[T]:
    """The next one, or none."""
    for item in items:
        return [item]
    return []
