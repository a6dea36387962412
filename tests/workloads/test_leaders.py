"""Ends of logs come from the leader of the highest known epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from workloads.clients import requests
from workloads.clients.connection import Address
from workloads.clients.leaders import Leaders
from workloads.clients.requests import EARLIEST, LATEST, Leadership

LOG = ("t", 0)
OTHER = ("t", 1)


BROKERS = {1: Address("old", 1), 2: Address("new", 2)}


class FakeBrokers:
    """Metadata and ends by host; a host without them closes the connection."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.views: dict[str, Leadership] = {}
        self.ends: dict[str, Callable[[int, int], tuple[int, int]]] = {}
        self.asked: list[tuple[str, int]] = []
        monkeypatch.setattr(requests, "metadata", self._metadata)
        monkeypatch.setattr(requests, "offsets", self._offsets)

    def _metadata(self, ask: Any, topics: Iterable[str]) -> dict[Any, Leadership]:
        assert tuple(topics) == ("t",)
        host = ask.args[0][0]
        if host not in self.views:
            raise ConnectionResetError(host)
        return {LOG: self.views[host]}

    def _offsets(
        self,
        ask: Any,
        epochs: Mapping[Any, int],
        *,
        at: int = LATEST,
        committed: bool = False,  # noqa: ARG002
    ) -> dict[Any, tuple[int, int]]:
        host = ask.args[0][0]
        self.asked.append((host, epochs[LOG]))
        if host not in self.ends:
            raise TimeoutError(host)
        return {LOG: self.ends[host](epochs[LOG], at)}


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> FakeBrokers:
    return FakeBrokers(monkeypatch)


@pytest.fixture
def leaders() -> Leaders:
    return Leaders(BROKERS, ["t"], stop=threading.Event())


def epoch_is(epoch: int, end: int) -> Callable[[int, int], tuple[int, int]]:
    """As a broker answers: error 74 (fenced) to epochs older than its own, 75 (unknown) to newer ones."""
    return lambda asked, at: (
        (0, end if at == LATEST else 0) if asked == epoch else (74 if asked < epoch else 75, -1)
    )


def test_the_leader_of_the_highest_epoch_gives_the_end(brokers: FakeBrokers, leaders: Leaders) -> None:
    brokers.views = {"old": Leadership(1, 4, (1, 2)), "new": Leadership(2, 5, (2,))}
    brokers.ends = {"old": epoch_is(4, 55), "new": epoch_is(5, 173)}
    assert leaders.offset(LOG, limit=1) == 173
    assert leaders.offset(LOG, at=EARLIEST, limit=1) == 0
    assert brokers.asked == [("new", 5), ("new", 5)]
    assert (leaders.leader(LOG), leaders.leader(OTHER)) == (2, None)


def test_a_frozen_leader_is_not_asked_once_a_newer_epoch_is_known(
    brokers: FakeBrokers, leaders: Leaders
) -> None:
    brokers.views = {"old": Leadership(1, 4, (1, 2))}
    brokers.ends = {"old": epoch_is(4, 55), "new": epoch_is(5, 173)}
    assert leaders.offset(LOG, limit=1) == 55
    with pytest.raises(TimeoutError, match="no broker knows leader epoch 5; the highest is 4"):
        leaders.offset(LOG, epoch=5, limit=0.3)
    brokers.views["new"] = Leadership(2, 5, (2,))
    assert leaders.offset(LOG, epoch=5, limit=1) == 173


def test_a_leader_that_knows_its_successor_leads_to_it(brokers: FakeBrokers, leaders: Leaders) -> None:
    brokers.views = {"old": Leadership(1, 4, (1, 2))}
    brokers.ends = {"old": epoch_is(4, 55), "new": epoch_is(5, 173)}
    leaders.refresh()
    brokers.views = {"old": Leadership(2, 5, (2,)), "new": Leadership(2, 5, (2,))}
    brokers.ends["old"] = epoch_is(5, -1)
    assert leaders.offset(LOG, limit=1) == 173


def test_epochs_begin_again_with_a_topic_that_is_created_again(
    monkeypatch: pytest.MonkeyPatch, brokers: FakeBrokers
) -> None:
    """Broker 3 was restarted, and does not know of it yet."""
    monkeypatch.setitem(BROKERS, 3, Address("late", 3))
    leaders = Leaders(BROKERS, ["t"], stop=threading.Event())
    brokers.views = dict.fromkeys(("old", "new", "late"), Leadership(3, 7, (3,), topic_id="a"))
    brokers.ends = {"late": epoch_is(7, 55)}
    assert leaders.offset(LOG, epoch=7, limit=1) == 55
    brokers.views |= dict.fromkeys(("old", "new"), Leadership(1, 0, (1,), topic_id="b"))
    brokers.ends = {"old": epoch_is(0, 3)}
    assert leaders.offset(LOG, epoch=7, limit=1) == 3
    assert leaders.offset(LOG, least=55, limit=1) == 3, "offsets begin again, too"
    assert leaders.epoch(LOG) == 0
    brokers.views.pop("old"), brokers.views.pop("new")
    leaders.refresh()
    assert leaders.epoch(LOG) == 0, "the id of the deleted topic is not believed again"


def test_a_time_after_all_records_has_no_offset(brokers: FakeBrokers, leaders: Leaders) -> None:
    """The answer is -1, without an error: it must not count as one below what the caller knows."""
    brokers.views = {"old": Leadership(1, 4, (1, 2))}
    brokers.ends = {"old": lambda asked, at: (0, -1 if at > 1000 else 7)}  # noqa: ARG005 - as a broker
    assert leaders.offset(LOG, at=1000, limit=1) == 7
    assert leaders.offset(LOG, at=1001, limit=1) == -1


def test_an_end_below_what_the_caller_knows_is_that_of_another_leader(
    brokers: FakeBrokers, leaders: Leaders
) -> None:
    brokers.views = {"old": Leadership(1, 4, (1, 2))}
    brokers.ends = {"old": epoch_is(4, 55), "new": epoch_is(5, 173)}
    assert leaders.offset(LOG, least=55, limit=1) == 55
    with pytest.raises(TimeoutError, match="broker 1 answered 55 in epoch 4, and 56 is known"):
        leaders.offset(LOG, least=56, limit=0.3)
    brokers.views["new"] = Leadership(2, 5, (2,))
    assert leaders.offset(LOG, least=56, limit=1) == 173


@pytest.mark.parametrize(
    ("views", "said"),
    [
        ({}, "no broker names a leader: None"),
        ({"old": Leadership(-1, 3, ())}, "no broker names a leader"),
        ({"old": Leadership(1, 3, (1,))}, "last: old"),
        ({"old": Leadership(2, 3, (1,))}, "broker 2 answered FencedLeaderEpochError"),
    ],
)
def test_no_answer_in_time(
    brokers: FakeBrokers, leaders: Leaders, views: dict[str, Leadership], said: str
) -> None:
    brokers.views, brokers.ends = views, {"new": epoch_is(9, 0)}
    with pytest.raises(TimeoutError, match=said):
        leaders.offset(LOG, limit=0.2)


def test_a_stop_ends_the_wait(brokers: FakeBrokers) -> None:
    assert not brokers.views
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(TimeoutError):
        Leaders(BROKERS, ["t"], stop=stop).offset(LOG, limit=60)
