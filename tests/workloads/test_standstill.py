"""Two reasons to stand still: a fault, and a look."""

from __future__ import annotations

import pytest

from nemesis.tasks import wait_until
from workloads.workers.process import Standstill, State


class Things(list[State]):
    def __init__(self) -> None:
        super().__init__(["running"])
        self.still = Standstill(self.append)

    @property
    def state(self) -> State:
        return self[-1]


def test_a_fault_goes_on_after_a_look() -> None:
    it = Things()
    assert it.still.freeze(60)
    assert (it.state, it.still.is_frozen) == ("frozen", True)
    it.still.pause()
    it.still.thaw()
    assert (it.state, it.still.is_frozen) == ("paused", False)
    assert not it.still.freeze(60)
    it.still.resume()
    assert it.state == "running"


def test_a_look_goes_on_after_a_fault() -> None:
    it = Things()
    assert it.still.freeze(60)
    it.still.pause()
    it.still.resume()
    assert it.state == "frozen"
    assert not it.still.freeze(60)
    it.still.thaw()
    it.still.thaw()
    assert it == ["running", "frozen", "paused", "frozen", "running"]


def test_nothing_stays_frozen() -> None:
    it = Things()
    assert it.still.freeze(0.05)
    assert wait_until(lambda: it.state == "running", limit=10, interval=0.01)
    assert not it.still.is_frozen


def test_what_cannot_be_frozen_runs() -> None:
    def refuse(state: State) -> None:
        raise OSError(f"unable to be {state}")

    still = Standstill(refuse)
    with pytest.raises(OSError, match="frozen"):
        still.freeze(60)
    assert not still.is_frozen
