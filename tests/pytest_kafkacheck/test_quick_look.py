"""Looks at brokers of which some are silent."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from nemesis.views import Elected
from pytest_kafkacheck.cluster.kafka import metadata_views, quick_look
from pytest_kafkacheck.cluster.kafka.quick_look import Asker, QuickLook
from workloads.clients import coordination, requests
from workloads.clients.connection import Address
from workloads.clients.requests import Ask, Leadership, Quorum

LOG = ("t", 0)

PATIENCE = 1.0
"""Seconds, more than in use: the threads of those that answer may have to wait for a busy machine."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_look, "PATIENCE", PATIENCE)


def seen(leader: int, epoch: int, isr: tuple[int, ...]) -> metadata_views.View:
    return {LOG: Leadership(leader=leader, leader_epoch=epoch, replicas=(1, 2, 3), isr=isr)}


@pytest.fixture
def silent() -> Iterator[Address]:
    """Takes connections and never answers, as a paused broker does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Address("127.0.0.1", server.getsockname()[1])


def test_a_silent_broker_delays_a_look_once_and_is_asked_once(silent: Address) -> None:
    ask_each, asked = Asker(), []
    may_answer = threading.Event()

    def request(_: Ask) -> str:
        asked.append(threading.current_thread())
        if len(asked) == 1:
            may_answer.wait(10)
            raise OSError("no answer")
        return "here"

    one = {1: silent}
    began = time.monotonic()
    assert ask_each(one, request) == {}
    assert time.monotonic() - began >= PATIENCE
    for _ in range(20):
        assert ask_each(one, request) == {}
    assert len(asked) == 1
    may_answer.set()
    asked[0].join(10)
    assert ask_each(one, request) == {}, "its request failed"
    assert ask_each(one, request) == {1: "here"}


def test_the_answer_of_a_slow_broker_counts_in_a_later_look(silent: Address) -> None:
    ask_each, asked = Asker(), []
    may_answer = threading.Event()

    def request(_: Ask) -> int:
        asked.append(threading.current_thread())
        may_answer.wait(10)
        return len(asked)

    assert ask_each({1: silent}, request) == {}
    may_answer.set()
    asked[0].join(10)
    assert ask_each({1: silent}, request) == {1: 1}
    assert ask_each({1: silent}, request) == {1: 2}, "asked anew"


def test_a_broker_that_answers_is_heard_beside_a_silent_one(
    silent: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Address("127.0.0.1", 1)

    class Answers(FakeConnection):
        def ask(self, request: Any) -> Any:
            if self.address == silent:
                time.sleep(self.timeout)
                raise TimeoutError("no answer")
            return request

    monkeypatch.setattr(quick_look, "Connection", Answers)
    monkeypatch.setattr(requests, "metadata", lambda asking, _: (asking(None), seen(2, 4, (2, 3)))[1])
    look = QuickLook(lambda: {1: silent, 2: other})
    assert look.leader(*LOG) == 2
    assert look.isr(*LOG) == (2, 3)
    assert look.elected_leader(*LOG) == Elected(2, 4)
    look.close()


class FakeConnection:
    """Answers with the request, until `broken` has the address."""

    made: ClassVar[list[FakeConnection]] = []
    broken: ClassVar[set[Address]] = set()

    def __init__(self, address: Address, *, timeout: float) -> None:
        self.address, self.timeout, self.is_closed = address, timeout, False
        self.made.append(self)

    def ask(self, request: Any) -> Any:
        assert not self.is_closed
        if self.address in self.broken:
            self.broken.discard(self.address)
            raise ConnectionResetError("restarted")
        return request

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> type[FakeConnection]:
    class Counted(FakeConnection):
        made: ClassVar[list[FakeConnection]] = []
        broken: ClassVar[set[Address]] = set()

    monkeypatch.setattr(quick_look, "Connection", Counted)
    return Counted


FIRST, SECOND = Address("127.0.0.1", 1), Address("127.0.0.1", 2)


def test_looks_share_a_connection_to_each_broker(connections: type[FakeConnection]) -> None:
    ask_each = Asker()
    for number in range(5):
        assert ask_each({1: FIRST, 2: SECOND}, lambda ask, number=number: ask(number)) == {
            1: number,
            2: number,
        }
    assert sorted(each.address for each in connections.made) == [FIRST, SECOND]
    connections.broken.add(FIRST)
    assert ask_each({1: FIRST, 2: SECOND}, lambda ask: ask("again")) == {1: "again", 2: "again"}
    assert len(connections.made) == 3, "the restarted broker answers over a new connection"
    assert ask_each({1: SECOND}, lambda ask: ask("moved")) == {1: "moved"}
    assert [each.address for each in connections.made if not each.is_closed] == [SECOND, SECOND]
    ask_each.close()
    assert all(each.is_closed for each in connections.made)


def test_a_connection_is_closed_after_the_question_that_is_under_way(
    connections: type[FakeConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    may_answer, asked = threading.Event(), []

    def ask(_: FakeConnection, request: Any) -> Any:
        asked.append(threading.current_thread())
        may_answer.wait(10)
        return request

    monkeypatch.setattr(connections, "ask", ask)
    ask_each = Asker()
    assert ask_each({1: FIRST}, lambda ask: ask(1)) == {}
    ask_each.close()
    assert not connections.made[0].is_closed
    may_answer.set()
    asked[0].join(10)
    assert connections.made[0].is_closed


def test_most_brokers_decide_who_the_coordinator_is(
    connections: type[FakeConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broker 1 was cut off, and believes that it is the coordinator still."""
    names = {1: 1, 2: 3, 3: 3, 4: None}
    states = {1: "Empty", 2: None, 3: "Stable", 4: None}
    brokers = {node: Address("127.0.0.1", node) for node in names}
    monkeypatch.setattr(connections, "ask", lambda self, _: self.address.port)
    monkeypatch.setattr(coordination, "coordinator", lambda ask, kind, name: names[ask((kind, name))])
    monkeypatch.setattr(coordination, "state", lambda ask, kind, name: states[ask((kind, name))])
    look = QuickLook(lambda: brokers)
    assert look.coordinator("group", "g") == 3
    assert look.state("group", "g") == "Stable"
    states[3] = None
    assert look.state("group", "g") is None
    names.update(dict.fromkeys(names, None))  # type: ignore[arg-type]
    assert look.coordinator("transaction", "t") is None
    assert look.state("transaction", "t") is None
    look.close()


def test_the_coordinator_may_be_silent(
    connections: type[FakeConnection], silent: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers, may_answer = {1: silent, 2: SECOND}, threading.Event()

    def names(ask: Ask, *_: object) -> int:
        if ask(None) == silent.port:
            may_answer.wait(10)
        return 1

    monkeypatch.setattr(connections, "ask", lambda self, _: self.address.port)
    monkeypatch.setattr(coordination, "coordinator", names)
    monkeypatch.setattr(coordination, "state", lambda *_: "Stable")
    look = QuickLook(lambda: brokers)
    assert look.coordinator("group", "g") == 1
    assert look.state("group", "g") is None
    may_answer.set()
    look.close()


def test_a_broker_serves_if_it_answers_and_nobody_reports_it_as_fenced(
    connections: type[FakeConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    unfenced = {1: {1, 2, 3}, 2: {1, 2}, 3: {1, 2, 3}}
    brokers = {node: Address("127.0.0.1", node) for node in (1, 2, 3, 4)}
    monkeypatch.setattr(connections, "ask", lambda self, _: self.address.port)
    monkeypatch.setattr(requests, "quorum", lambda _: Quorum(8, 4, 20, {8: 20, 9: 11}))

    def unfenced_brokers(ask: Ask) -> set[int]:
        if (node := ask(None)) == 4:
            raise ConnectionResetError("it boots")
        return unfenced[node]

    monkeypatch.setattr(metadata_views, "unfenced_brokers", unfenced_brokers)
    look = QuickLook(lambda: brokers, controllers=(8, 9, 10))
    assert look.serving_nodes() == {1: True, 2: True, 3: False, 4: False, 8: True, 9: False, 10: False}
    look.close()


def test_a_controller_is_known_with_its_epoch(
    connections: type[FakeConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ask", lambda self, _: self.address.port)
    monkeypatch.setattr(requests, "quorum", lambda ask: Quorum(ask(None), 4 + ask(None), 0, {}))
    look = QuickLook(lambda: {1: FIRST, 2: SECOND})
    assert look.elected_controller() == Elected(2, 6)
    assert look.controller() == 2
    assert QuickLook(dict).elected_controller() == Elected(None, -1)
    look.close()


def test_the_leaders_own_view_counts_among_those_of_one_epoch() -> None:
    views = {1: seen(2, 4, (1, 2, 3)), 2: seen(2, 4, (2,)), 3: seen(3, 3, (3,))}
    newest = metadata_views.newest(views, LOG)
    assert newest is not None
    assert newest.isr == (2,)


def test_the_smallest_isr_counts_while_the_leader_is_silent() -> None:
    """No response has the partition epoch, and the number of a node says nothing about the age of its view."""
    views = {1: seen(2, 4, (2, 3)), 3: seen(2, 4, (1, 2, 3)), 4: seen(2, 3, (2,))}
    for order in (views, dict(reversed(views.items()))):
        newest = metadata_views.newest(order, LOG)
        assert newest is not None
        assert newest.isr == (2, 3)


def test_nothing_is_newest_where_no_broker_knows_the_partition() -> None:
    assert metadata_views.newest({}, LOG) is None
