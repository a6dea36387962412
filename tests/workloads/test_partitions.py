"""Partitions that are added during a run: when clients know them, who writes to them, from where they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from workloads.clients import requests
from workloads.clients.connection import Address
from workloads.clients.protocol import Log
from workloads.clients.requests import Leadership
from workloads.declaration import declaration_of
from workloads.roles.context import WorkerContext
from workloads.roles.copier import target
from workloads.roles.reader import with_added
from workloads.roles.transact import records_of_random_logs
from workloads.stored import built_in
from workloads.workers import partitions
from workloads.workers.partitions import follow_partitions, known

LOG, OTHER, ADDED = ("t-r", 0), ("u-r", 0), ("t-r", 1)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[WorkerContext]:
    order = {
        "role": "producer", "process": 4, "session": None, "run": "r", "home": str(tmp_path),
        "library": "kafka-python", "brokers": {"1": ["one", 1], "2": ["two", 2]}, "topics": {"t-r": 1, "u-r": 1},
        "options": {"size": 60},
    }  # fmt: skip
    one = WorkerContext(order, report=print)
    yield one
    one.close()


def test_a_partition_is_known_once_two_answers_have_it() -> None:
    topics = {"t": 2, "u": 1}
    assert known(topics, {}, {"t": 4, "u": 1}) == {"t": 2, "u": 1}
    assert known(topics, {"t": 3, "u": 1}, {"t": 4, "u": 2}) == {"t": 3, "u": 1}
    # A broker that lags behind, and one that does not know the topic.
    assert known(topics, {"t": 1}, {"t": 1}) == topics


def test_a_worker_asks_one_broker_after_another_until_it_is_stopped(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    seen: list[tuple[Log, ...]] = []
    answers: Iterator[Any] = iter([{LOG, OTHER, ADDED}, OSError("no answer"), {LOG, OTHER, ADDED}, {LOG}])

    def ask(address: Address, *_: object, **__: object) -> None:
        asked.append(address.host)

    def metadata(ask: Any, topics: Mapping[str, int]) -> dict[Log, Leadership]:
        assert [*topics] == ["t-r", "u-r"]
        ask("metadata")
        seen.append(context.logs)
        found = next(answers)
        if len(asked) == 4:
            context.stop.set()
        if isinstance(found, OSError):
            raise found
        return dict.fromkeys(found, Leadership(1, 0, (1,)))

    monkeypatch.setattr(partitions, "INTERVAL", 0)
    monkeypatch.setattr(partitions, "ask", ask)
    monkeypatch.setattr(requests, "metadata", metadata)
    follow_partitions(context)
    assert asked == ["one", "two", "one", "two"]
    assert seen == [(LOG, OTHER)] * 3 + [(LOG, ADDED, OTHER)]
    assert context.logs == (LOG, ADDED, OTHER)
    assert context.logs_of("t") == (LOG, ADDED)


def test_transactors_and_copiers_choose_among_the_known_ones(context: WorkerContext) -> None:
    before, _ = records_of_random_logs(context, Random(1))
    context.topics["t-r"] = 2
    after, _ = records_of_random_logs(context, Random(1))
    assert ADDED not in before
    assert ADDED in after
    assert {target(context.logs_of("t"), value) for value in range(4)} == {LOG, ADDED}


class FakeConsumer:
    def __init__(self, start: Mapping[Log, int], *, assignment: int = 0, committed: bool = False) -> None:
        self.positions, self.assignment, self.committed = dict(start), assignment, committed
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


def test_a_reader_goes_on_with_a_partition_that_was_added_from_its_first_record(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "consumer", FakeConsumer)
    first: Any = FakeConsumer({LOG: 7, OTHER: 5}, assignment=3)
    assert with_added(context, first, committed=True) is first
    context.topics["t-r"] = 2
    second: Any = with_added(context, first, committed=True)
    assert first.is_closed
    assert second.positions == {LOG: 7, OTHER: 5, ADDED: 0}
    assert (second.assignment, second.committed) == (4, True)
    assert with_added(context, second, committed=True) is second


def test_workloads_that_need_a_fixed_number_of_partitions_say_why() -> None:
    fixed = {name for name, kind in built_in().items() if kind.declaration.fixed_partitions}
    assert fixed == {"Bank", "Compacted", "Pipeline"}
    assert not declaration_of(object()).fixed_partitions
