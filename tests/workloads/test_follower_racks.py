"""A session that reads from followers chooses a rack with one, and without the leader."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from workloads.clients import requests
from workloads.clients.connection import Address
from workloads.clients.requests import Leadership
from workloads.roles import session
from workloads.roles.context import WorkerContext
from workloads.roles.session import FollowerRacks

LOG = ("t", 0)


class FakeContext:
    def __init__(self) -> None:
        self.brokers = {node: Address(f"b{node}", node) for node in (1, 2, 3)}
        self.stop = threading.Event()


@pytest.fixture
def context() -> Any:
    return FakeContext()


def answer(
    monkeypatch: pytest.MonkeyPatch, racks: dict[int, str] | None, *states: Leadership | None
) -> list[str]:
    """Broker 1 is down. Others answer with these racks, and with one state after another, the last one for ever."""
    asked: list[str] = []
    left = list(states)

    def from_up(ask: Any) -> str:
        host: str = ask.args[0].host
        if host == "b1":
            raise ConnectionResetError(host)
        return host

    def metadata(ask: Any, topics: list[str]) -> dict[Any, Leadership]:
        asked.append(from_up(ask))
        assert topics == ["t"]
        state = left.pop(0) if len(left) > 1 else left[0]
        return {} if state is None else {LOG: state}

    def known(ask: Any) -> dict[int, str]:
        from_up(ask)
        if racks is None:
            raise TimeoutError
        return racks

    monkeypatch.setattr(requests, "metadata", metadata)
    monkeypatch.setattr(requests, "racks", known)
    return asked


def test_racks_of_followers_take_turns(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, {1: "a", 2: "b", 3: "c"}, Leadership(2, 0, (1, 2, 3)))
    racks = FollowerRacks(cast(WorkerContext, context))
    assert {racks.choose(LOG), racks.choose(LOG)} == {"a", "c"}
    assert asked == ["b2", "b2"]


@pytest.mark.parametrize(
    "not_yet",
    [
        Leadership(2, 0, (2,)),
        Leadership(2, 0, (2, 4)),
        Leadership(-1, 0, (1, 3)),
        None,
    ],
)
def test_it_waits_for_a_follower_in_sync_in_another_rack(
    context: Any, monkeypatch: pytest.MonkeyPatch, not_yet: Leadership | None
) -> None:
    monkeypatch.setattr(session, "ASK_AGAIN", 0.01)
    answer(monkeypatch, {1: "a", 2: "b", 4: "b"}, not_yet, not_yet, not_yet, Leadership(2, 1, (1, 2)))
    assert FollowerRacks(cast(WorkerContext, context)).choose(LOG) == "a"


def test_a_stop_ends_the_wait(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, {1: "a", 2: "b"}, Leadership(2, 0, (2,)))
    racks = FollowerRacks(cast(WorkerContext, context))
    context.stop.set()
    assert racks.choose(LOG) is None


def test_brokers_without_racks_are_refused(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, {}, None)
    with pytest.raises(ValueError, match=r"no broker has a rack \(broker\.rack\)"):
        FollowerRacks(cast(WorkerContext, context))


def test_brokers_that_do_not_answer_are_an_error(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, None, None)
    monkeypatch.setattr(session, "START_LIMIT", 0)
    with pytest.raises(TimeoutError, match="no broker named the racks within 0 s"):
        FollowerRacks(cast(WorkerContext, context))
