"""Prefetching yields the same items and leaves no thread behind, however the iteration ends."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing

import pytest

from workloads.history.compaction.compact import prefetched


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("prefetch")]


def test_another_thread_makes_the_same_items_in_order() -> None:
    makers = set()

    def items() -> Generator[int | None]:
        for item in (0, None, 2, None):
            makers.add(threading.current_thread())
            yield item

    assert list(prefetched(items())) == [0, None, 2, None]
    assert len(makers) == 1
    assert threading.current_thread() not in makers
    assert list(prefetched(_ for _ in ())) == []
    assert threads() == []


def test_only_one_item_is_made_in_advance() -> None:
    made = [threading.Event() for _ in range(3)]

    def items() -> Generator[int]:
        for at, event in enumerate(made):
            event.set()
            yield at

    with closing(prefetched(items())) as found:
        assert next(found) == 0
        assert made[1].wait(10)
        assert not made[2].wait(0.1)
        assert next(found) == 1
        assert made[2].wait(10)


def test_an_exception_is_raised_with_its_origin_and_ends_the_thread() -> None:
    closed = []

    def items() -> Generator[int]:
        try:
            yield 1
            raise OSError("disk is full")
        finally:
            closed.append(threading.current_thread())

    found = prefetched(items())
    assert next(found) == 1
    with pytest.raises(OSError, match="disk is full") as raised:
        next(found)
    assert "items" in [entry.name for entry in raised.traceback]
    assert len(closed) == 1
    assert threads() == []


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_stopping_early_leaves_no_thread_and_closes_the_items(taken: int) -> None:
    closed = []

    def items() -> Generator[int]:
        try:
            yield from range(100)
        finally:
            closed.append(True)

    found = prefetched(items())
    with closing(found):
        for _ in range(taken):
            next(found)
    assert threads() == []
    assert closed == ([True] if taken else []), "an iteration that was not begun has nothing to close"
