"""What a view of an instance takes for its moment, by what brokers report; and near misses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from nemesis.views import MOMENTS, Moment
from pytest_kafkacheck.experiment.applications import instance_view
from pytest_kafkacheck.experiment.applications.instance_view import BrokersInstanceView
from pytest_kafkacheck.experiment.applications.plan import ApplicationPlan
from tests.pytest_kafkacheck.test_application_outputs import COMMITTED, batch, invoices, marker
from workloads.clients.coordination import NotClassic
from workloads.clients.described_groups import GroupMember
from workloads.clients.protocol import Log
from workloads.tokens import token

SOURCE, SINK = ("orders-r", 0), ("invoices-r", 0)

PLAN = ApplicationPlan(
    run="r",
    source="orders-r",
    sink="invoices-r",
    group="g-r",
    identify=None,
    clients={0: "g-r-0", 1: "g-r-1"},
)


class Brokers:
    """Topics with one partition, and a group, as `Connections` shows them. Implements it."""

    logs = (SINK, SOURCE)

    def __init__(self) -> None:
        self.records: dict[Log, list[tuple[int, bytes]]] = {SOURCE: [], SINK: []}
        self.ends = {SOURCE: 0, SINK: 0}
        self.position: int | None = -1
        """-1 for none, None where it is part of an unfinished transaction."""
        self.owner: str | None = "g-r-0"
        self.state: str | Exception = "Stable"
        self.moving: set[Log] = set()
        self.open: dict[int, str] | None = {}
        self.add(SOURCE, *(token("r", value).encode() for value in range(10)))

    def add(self, log: Log, *values: bytes, producer: int = -1) -> None:
        self._append(log, batch(self.ends[log], *values, producer=producer), len(values))

    def end(self, producer: int, kind: int = COMMITTED) -> None:
        self._append(SINK, marker(self.ends[SINK], kind, producer=producer), 1)

    def _append(self, log: Log, data: bytes, count: int) -> None:
        self.records[log].append((self.ends[log], data))
        self.ends[log] += count

    def starts(self) -> dict[Log, int]:
        return dict.fromkeys(self.logs, 0)

    def read(self, start: Mapping[Log, int]) -> dict[Log, Any]:
        return {
            log: SimpleNamespace(
                records=b"".join(data for first, data in self.records[log] if first >= at),
                high_watermark=self.ends[log],
                error_code=0,
            )
            for log, at in start.items()
        }

    def wait_records(self, start: Mapping[Log, int], limit: float) -> dict[Log, Any]:  # noqa: ARG002 - there at once
        return self.read(start)

    def ongoing(self, producers: Any) -> Mapping[int, str] | None:
        return (
            None if self.open is None else {each: self.open[each] for each in producers if each in self.open}
        )

    def ask_coordinator(self, request: Callable[[Any], Any]) -> Any:
        return request(self)

    def close(self) -> None:
        pass


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    made = Brokers()

    def member() -> dict[Log, GroupMember]:
        return {} if made.owner is None else {SOURCE: GroupMember("m", made.owner, None)}

    def state(*_: str) -> str:
        if isinstance(made.state, Exception):
            raise made.state
        return made.state

    monkeypatch.setattr(instance_view, "owners", lambda *_: member())
    monkeypatch.setattr(
        instance_view, "stable_positions", lambda *_: {} if made.position == -1 else {SOURCE: made.position}
    )
    monkeypatch.setattr(instance_view, "moving", lambda *_: {log: member()[SOURCE] for log in made.moving})
    monkeypatch.setattr(instance_view.coordination, "state", lambda *_: state())
    return made


class Instance:
    """incarnation  of app:0."""

    def __init__(self, brokers: Brokers, moment: Moment, incarnation: Hashable = 1) -> None:
        self.incarnation = incarnation
        self.view = BrokersInstanceView(
            PLAN,
            0,
            moment,
            ask=brokers,
            incarnation=lambda: self.incarnation,
            turn=threading.Lock(),  # type: ignore[arg-type]
        )
        self.view.wait(0)

    def sees(self) -> bool:
        self.view.wait(0)
        return self.view.look().comes


def test_an_output_behind_the_position_is_not_committed(brokers: Brokers) -> None:
    app = Instance(brokers, "uncommitted-output")
    assert not app.sees()
    brokers.add(SINK, *invoices(0, 1, 2))
    assert app.sees(), "no position is committed at all"
    brokers.position = 2
    sight = app.view.look()
    assert (
        sight.seen
        == "output 2 of invoices-r-0, of input 2 of orders-r-0, was acknowledged; the committed position is 2"
    )
    assert sight.facts == {
        "count": 1,
        "position": 2,
        "input": {"topic": "orders-r", "partition": 0, "offset": 2},
        "output": {"topic": "invoices-r", "partition": 0, "offset": 2},
    }
    brokers.position = 3
    assert not app.sees()


def test_outputs_of_a_transaction_are_uncommitted_only_in_it(brokers: Brokers) -> None:
    uncommitted, inside = Instance(brokers, "uncommitted-output"), Instance(brokers, "open-transaction")
    ahead = Instance(brokers, "committed-ahead")
    brokers.add(SINK, *invoices(0, 1), producer=7)
    brokers.open = {7: "copier"}
    brokers.position = None
    assert (uncommitted.sees(), inside.sees(), ahead.sees()) == (False, True, False)
    brokers.open = None
    assert inside.sees(), "brokers before Kafka 3.0 do not say it"
    brokers.open = {}
    assert not inside.sees(), "its end is decided"
    brokers.end(7)
    assert (uncommitted.sees(), inside.sees(), ahead.sees()) == (False, False, False), (
        "its position is not there yet"
    )
    brokers.position = 2
    assert (uncommitted.sees(), inside.sees(), ahead.sees()) == (False, False, False)


def test_a_position_before_its_outputs_is_ahead(brokers: Brokers) -> None:
    brokers.position = 2
    app = Instance(brokers, "committed-ahead")
    assert not app.sees(), "it was there before"
    brokers.position = 5
    sight = app.view.look()
    assert sight.seen == "position 5 of orders-r-0 is committed; inputs 2 to 4 have no acknowledged output"
    assert (sight.facts["count"], sight.facts["position"]) == (3, 5)
    brokers.add(SINK, *invoices(2, 3))
    assert app.sees()
    brokers.add(SINK, *invoices(4))
    assert not app.sees()


def test_outputs_that_came_before_the_first_look_are_outputs(brokers: Brokers) -> None:
    """Their commit comes after it."""
    brokers.add(SINK, *invoices(0, 1))
    brokers.add(SINK, *invoices(2), producer=7)
    app = Instance(brokers, "committed-ahead")
    brokers.position = 3
    assert not app.sees()


@pytest.mark.parametrize("moment", ["uncommitted-output", "open-transaction", "committed-ahead"])
def test_what_an_earlier_process_left_is_no_moment_of_the_next(brokers: Brokers, moment: Moment) -> None:
    app = Instance(brokers, moment)
    brokers.open = {7: "copier"}
    brokers.add(SINK, *invoices(0), producer=7)
    brokers.add(SINK, *invoices(1))
    brokers.position = 5 if moment == "committed-ahead" else -1
    assert app.sees()
    app.incarnation = None
    assert not app.view.wait(0)
    app.incarnation = 2
    assert not app.sees()
    brokers.add(SINK, *invoices(1), producer=7)
    brokers.add(SINK, *invoices(2))
    brokers.position = 8 if moment == "committed-ahead" else -1
    assert app.sees()


@pytest.mark.parametrize("owner", ["g-r-1", "g-r-10", None])
def test_partitions_of_others_do_not_count(brokers: Brokers, owner: str | None) -> None:
    brokers.owner = owner
    app = Instance(brokers, "uncommitted-output")
    brokers.add(SINK, *invoices(0))
    assert not app.sees()
    brokers.owner = "g-r-0"
    assert not app.sees(), "the owner before it wrote that"
    brokers.add(SINK, *invoices(0))
    assert app.sees()


def test_any_of_the_moments_is_in_flight(brokers: Brokers) -> None:
    app = Instance(brokers, "in-flight")
    assert not app.sees()
    brokers.position = 1
    assert "position 1" in app.view.look().seen
    brokers.add(SINK, *invoices(0, 1))
    assert "output 1" in app.view.look().seen
    brokers.position, brokers.open = 2, {7: "copier"}
    assert not app.sees()
    brokers.add(SINK, *invoices(2), producer=7)
    assert "a transaction that has not ended" in app.view.look().seen


def test_a_rebalance_that_begins_is_a_revocation(brokers: Brokers) -> None:
    app = Instance(brokers, "revocation")
    assert not app.sees()
    brokers.state, brokers.owner = "PreparingRebalance", None
    sight = app.view.look()
    assert sight.comes
    assert sight.seen == "group g-r is PreparingRebalance; app:0 has to give back orders-r-0"
    brokers.state = "CompletingRebalance"
    assert not app.sees()


def test_a_rebalance_is_no_revocation_for_an_instance_that_has_nothing(brokers: Brokers) -> None:
    brokers.owner = "g-r-1"
    app = Instance(brokers, "revocation")
    brokers.state, brokers.owner = "PreparingRebalance", None
    assert not app.sees()


def test_a_rebalance_is_no_revocation_for_an_instance_that_lost_all_before(brokers: Brokers) -> None:
    app = Instance(brokers, "revocation")
    brokers.owner = "g-r-1"
    assert not app.sees()
    brokers.state, brokers.owner = "PreparingRebalance", None
    assert not app.sees()


def test_a_group_of_the_next_generation_takes_single_partitions_away(brokers: Brokers) -> None:
    brokers.state = NotClassic("it is not")
    app = Instance(brokers, "revocation")
    assert not app.sees()
    brokers.moving = {SOURCE}
    assert app.sees()


def test_every_moment_has_a_way_to_wait_for_it(brokers: Brokers) -> None:
    assert not any(Instance(brokers, moment).sees() for moment in MOMENTS)
