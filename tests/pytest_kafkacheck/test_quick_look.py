"""Looks at brokers of which some are silent."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.quick_look import PATIENCE, Asker, QuickLook
from workloads.clients.connection import Address
from workloads.clients.requests import Ask, Leadership

LOG = ("t", 0)


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

    def ask(address: Address, _: object, *, timeout: float) -> None:
        if address == silent:
            time.sleep(timeout)
            raise OSError("no answer")

    monkeypatch.setattr(metadata_views, "ask", ask)
    monkeypatch.setattr(
        metadata_views.requests, "metadata", lambda asking, _: (asking(None), seen(2, 4, (2, 3)))[1]
    )
    look = QuickLook(lambda: {1: silent, 2: other})
    assert look.leader(*LOG) == 2
    assert look.isr(*LOG) == (2, 3)


def test_the_leaders_own_view_counts_among_those_of_one_epoch() -> None:
    views = {1: seen(2, 4, (1, 2, 3)), 2: seen(2, 4, (2,)), 3: seen(3, 3, (3,))}
    newest = metadata_views.newest(views, LOG)
    assert newest is not None
    assert newest.isr == (2,)
    assert metadata_views.newest({}, LOG) is None
