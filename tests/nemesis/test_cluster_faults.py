"""Schedules that are carried out on one cluster at the same time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis.cluster_faults import ClusterFaults
from nemesis.event import Event
from nemesis.schedule import Schedule
from nemesis.topology import Topology
from pytest_kafkacheck import configure, cpu, isolate, kill, partition, pause
from tests.support.fake_cluster.cluster import FakeCluster
from tests.support.fake_cluster.events import EVENTS
from tests.support.fake_cluster.manual_clock import ManualClock
from tests.support.fake_cluster.run import FakeRun
from tests.support.repetitions import repetitions

Begin = Callable[..., FakeRun]


@pytest.fixture
def faults(cluster) -> ClusterFaults:
    return ClusterFaults(cluster.nodes)


@pytest.fixture
def begin(cluster, stop, faults) -> Begin:
    """Carry out a schedule beside what follows, from that many seconds on."""

    def carry_out(after: float, *events: Event) -> FakeRun:
        run = FakeRun(cluster, stop, faults=faults)

        def work() -> None:
            stop.wait(after)
            run.carry_out(*events)

        stop.start(work, "schedule")
        return run

    return carry_out


def named(event: Event) -> Event:
    return event.named(f"inner-{event.fault.name}")


@pytest.mark.parametrize(
    ("outer", "inner", "is_at_work"),
    [
        (pause(1, at=0, lasting=20), pause(1, at=0, lasting=5), lambda node: node.state() == "paused"),
        (kill(1, at=0, lasting=20), kill(1, at=0, lasting=5), lambda node: node.state() == "stopped"),
        (isolate(1, at=0, lasting=20), isolate(1, at=0, lasting=5), lambda node: node.table is not None),
        (isolate(1, at=0, lasting=20), partition(1, at=0, lasting=5), lambda node: node.table is not None),
        (cpu(1, at=0, lasting=20, cores=0.5), cpu(1, at=0, lasting=5, cores=0.3), lambda node: node.cores),
    ],
    ids=["pause", "kill", "isolate", "partition", "cpu"],
)  # fmt: skip
def test_the_end_of_a_schedule_leaves_what_another_one_wants(
    cluster, stop, begin, faults, outer, inner, is_at_work
) -> None:
    around, within = begin(0, outer), begin(5, named(inner))
    seen = []
    stop.arrange(4, lambda: seen.append(faults.is_idle))
    stop.arrange(15, lambda: seen.append(bool(is_at_work(cluster.nodes[1]))))
    stop.wait(100)
    assert seen == [False, True]
    assert all(around.effective().values()), around.rows
    assert all(within.effective().values()), within.rows
    assert {row["value"]["stage"] for row in (*around.rows, *within.rows)} == {"inject", "heal"}
    assert faults.is_idle
    assert cluster.clean()


def test_the_schedule_that_ends_last_withdraws_what_a_failed_heal_left(cluster, stop, begin) -> None:
    """The node that is cut off takes no filters from 6 s to 15 s."""
    around, within = begin(0, pause(2, at=0, lasting=20)), begin(0, named(isolate(1, at=0, lasting=8)))
    stop.arrange(6, lambda: setattr(cluster.nodes[3], "nft_error", "busy"))
    stop.arrange(15, lambda: setattr(cluster.nodes[3], "nft_error", None))
    stop.wait(100)
    heals = [row for row in within.rows if row["value"]["stage"] == "heal"]
    assert [row["value"]["effective"] for row in heals] == [False, False], (
        "its own, and the look at what is left"
    )
    assert "busy" in str(within.rows[-1])
    assert all(around.effective().values())
    assert cluster.clean()


def test_a_node_that_another_schedule_keeps_from_serving_explains_a_heal(begin, stop) -> None:
    begin(0, pause(1, at=0, lasting=120))
    within = begin(5, named(kill(1, at=0, lasting=5)))
    stop.wait(300)
    assert all(within.effective().values()), within.rows


def test_an_event_waits_for_the_heal_of_another_schedule(cluster, stop, begin) -> None:
    """The pause should end at 5 s, and it takes 3 s to end it."""
    at_once = cluster.nodes[1].thaw
    cluster.nodes[1].thaw = lambda: (stop.wait(3), at_once())
    begin(0, pause(1, at=0, lasting=5))
    within = begin(1, named(kill(1, at=4, lasting=5)))
    stop.wait(100)
    assert within.times("inject") == {"inner-kill": pytest.approx(8, abs=0.1)}


@settings(max_examples=repetitions(60, shorter=20), deadline=None)
@given(EVENTS, EVENTS, st.floats(0, 40), st.none() | st.floats(0, 40))
def test_any_two_schedules_leave_nothing_and_record_every_stage_once(outer, inner, after, stopped) -> None:
    stop = ManualClock()
    cluster = FakeCluster(stop)
    faults = ClusterFaults(cluster.nodes)
    runs = FakeRun(cluster, stop, faults=faults), FakeRun(cluster, stop, faults=faults)
    first = Schedule.of(outer)
    second = Schedule.of(inner, taken=(event.id for event in first.events))

    def work() -> None:
        stop.wait(after)
        runs[1].carry_out(*second.events)

    if stopped is not None:
        stop.arrange(stopped, stop.set)
    beside = stop.start(work, "second")
    runs[0].carry_out(*first.events)
    beside.result()
    assert cluster.clean()
    assert faults.is_idle
    for run, schedule in zip(runs, (first, second), strict=True):
        assert set(run.effective()) == {
            (e.id, stage) for e in schedule.events for stage in ("inject", "heal")
        }
        assert len(run.rows) == 2 * len(schedule.events)
        assert all(row["error"] is None for row in run.rows)
        if stopped is None:
            # A pause of a broker that another event has stopped has no effect.
            ineffective = {event for (event, _), effective in run.effective().items() if not effective}
            assert ineffective <= {e.id for e in schedule.events if e.fault.name == "pause"}


def test_what_lies_ahead_is_told_in_seconds_from_now(stop, faults, begin) -> None:
    begin(0, pause(1, at=2, lasting=8), isolate(2, at=30, lasting=5), kill(3, after="isr-shrink", lasting=5))
    stop.wait(6)
    ahead = {event.id: (event.at, event.lasting) for event in faults.ahead(stop.time())}
    assert ahead == {"pause-0": (0, pytest.approx(4, abs=0.1)), "isolate-1": (24, 5), "kill-2": (0, 5)}
    stop.wait(6)
    assert "pause-0" not in {event.id for event in faults.ahead(stop.time())}


def test_a_schedule_is_checked_beside_others() -> None:
    topology = Topology(brokers=(1, 2, 3), controllers=(1, 2, 3), topics={"log": 1}, replicas=3)
    held = [configure({"retention.ms": "1000"}, lasting=60).named("configure-0")]
    again = Schedule.of([configure({"retention.ms": "5000"}, at=9, lasting=5)], taken=["configure-0"])
    assert [event.id for event in again.events] == ["configure-1"]
    again.check(topology)
    with pytest.raises(ValueError, match=r"'configure-1' and 'configure-0': .*each restores at its end"):
        again.check(topology, beside=held)
    with pytest.raises(ValueError, match=r"event 'configure-0': an event of this id is at work already"):
        Schedule.of(held, taken=["configure-0"])
