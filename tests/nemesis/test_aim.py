"""Aimed faults: an instance of an application is frozen, looked at, and hit if it is at the moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from nemesis.schedule import Schedule
from nemesis.topology import Topology
from nemesis.watch import LONGEST_FREEZE
from pytest_kafkacheck import isolate, kill, pause, stop
from tests.support.fake_cluster.run import FakeRun

OUTPUT = "uncommitted-output:app:0"

APPLICATION = Topology(
    brokers=(1,), topics={"orders": 1}, clients={"producer": 1, "app": 2}, commands=frozenset({"app"})
)


@pytest.fixture
def aimed(fake_run: FakeRun) -> FakeRun:
    """Process 1 is instance 0 of an application."""
    clients = fake_run.clients
    clients.running[1] = "app"
    clients.numbers[1] = 0
    clients.clock = fake_run.stop.time
    return fake_run


def sights(run: FakeRun, *answers: bool | OSError) -> None:
    run.clients.sights = iter(answers)


def steps(run: FakeRun) -> list[str]:
    return [each for each in run.clients.log if not each.startswith("view")]


def met(run: FakeRun, event: str) -> Any:
    return run.value(event, "inject")["evidence"].get("met")


def test_an_instance_at_its_moment_is_hit_while_it_stands_still(aimed: FakeRun) -> None:
    sights(aimed, True, True)
    aimed.carry_out(kill("app:0", after=OUTPUT, lasting=2))
    assert steps(aimed)[:2] == ["freeze 1", "kill 1"]
    assert met(aimed, "kill-client-0") == {
        "moment": "uncommitted-output", "instance": "app:0", "seen": "output 7 of sink-0", "count": 3, "frozen": True,
        "tries": 1,
    }  # fmt: skip
    assert aimed.effective() == {("kill-client-0", "inject"): True, ("kill-client-0", "heal"): True}


@pytest.mark.parametrize("answers", [(False, True, True), (True, False, True, True)])
def test_an_instance_beside_its_moment_goes_on_and_is_tried_again(
    aimed: FakeRun, answers: Iterable[bool]
) -> None:
    """The second look counts: what was under way at the first one has taken effect by then."""
    sights(aimed, *answers)
    aimed.carry_out(kill("app:0", after=OUTPUT, lasting=2))
    assert steps(aimed)[:4] == ["freeze 1", "thaw 1", "freeze 1", "kill 1"]
    assert met(aimed, "kill-client-0")["tries"] == 2


@pytest.mark.parametrize(
    ("event", "taken"),
    [(pause("app:0", after=OUTPUT, lasting=2), "pause 1"), (isolate("app:0", after=OUTPUT, lasting=2), "isolate 1"),
     (stop("app:0", after=OUTPUT, lasting=2), "stop 1")],
)  # fmt: skip
def test_an_instance_goes_on_once_the_fault_is_at_work(aimed: FakeRun, event: Any, taken: str) -> None:
    sights(aimed, True, True)
    aimed.carry_out(event)
    assert steps(aimed)[:3] == ["freeze 1", taken, "thaw 1"]
    assert all(aimed.effective().values())


def test_a_moment_that_never_comes_leaves_the_instance_alone(aimed: FakeRun) -> None:
    sights(aimed, *[False] * 5)
    aimed.carry_out(kill("app:0", after=f"{OUTPUT} within 5", lasting=2))
    assert steps(aimed) == ["freeze 1", "thaw 1"] * 5
    assert aimed.value("kill-client-0", "inject")["evidence"] == {
        "trigger": "uncommitted-output:app:0 did not come within 5 s",
        "seen_instead": "each output is before a position",
    }
    assert aimed.clients.views[0].is_closed


def test_a_fault_some_time_after_the_moment_does_not_hold_the_instance(aimed: FakeRun) -> None:
    sights(aimed, True, True)
    aimed.carry_out(kill("app:0", after=OUTPUT, at=3, lasting=2))
    assert steps(aimed)[:3] == ["freeze 1", "thaw 1", "kill 1"]
    assert aimed.times("inject")["kill-client-0"] == pytest.approx(3, abs=0.2)


def test_an_instance_that_cannot_be_frozen_is_looked_at(aimed: FakeRun) -> None:
    aimed.clients.fails["freeze"] = OSError("unable to freeze")
    sights(aimed, True, False, True, True)
    aimed.carry_out(kill("app:0", after=OUTPUT, lasting=2))
    assert steps(aimed)[:3] == ["freeze 1", "freeze 1", "kill 1"]
    assert met(aimed, "kill-client-0")["frozen"] is False


def test_an_instance_that_stands_still_already_is_not_at_its_moment(aimed: FakeRun) -> None:
    sights(aimed, *[True] * 200)
    aimed.carry_out(pause("app:0", at=0, lasting=4), kill("app:0", at=0, after=OUTPUT, lasting=1))
    assert aimed.times("inject")["kill-client-1"] == pytest.approx(4, abs=0.3)


def test_no_answer_lets_the_instance_go_on(aimed: FakeRun) -> None:
    sights(aimed, True, OSError("no broker answers"), True, True)
    aimed.carry_out(kill("app:0", after=OUTPUT, lasting=2))
    assert steps(aimed)[:4] == ["freeze 1", "thaw 1", "freeze 1", "kill 1"]


def test_a_freeze_that_ended_by_itself_before_the_fault_does_not_count(aimed: FakeRun) -> None:
    """Another event that restores the same, or a slow engine, may let the fault wait for longer."""
    sights(aimed, True, True, True, True)
    usual, waits = aimed.cluster.quick, [LONGEST_FREEZE + 0.5]

    def slow() -> Any:
        if waits:
            aimed.stop.wait(waits.pop())
        return usual()

    aimed.cluster.quick = slow  # type: ignore[method-assign]
    aimed.carry_out(kill("app:0", after=OUTPUT, lasting=2))
    assert steps(aimed)[:4] == ["freeze 1", "thaw 1", "freeze 1", "kill 1"]
    assert met(aimed, "kill-client-0")["tries"] == 2


def test_a_moment_that_was_over_before_the_fault_is_not_evidence(aimed: FakeRun) -> None:
    sights(aimed, True, True)
    usual = aimed.cluster.quick

    def slow() -> Any:
        aimed.stop.wait(LONGEST_FREEZE + 0.5)
        return usual()

    aimed.cluster.quick = slow  # type: ignore[method-assign]
    aimed.carry_out(kill("app:0", after=f"{OUTPUT} within {LONGEST_FREEZE + 3:g}", lasting=2))
    assert aimed.value("kill-client-0", "inject")["evidence"] == {
        "trigger": f"uncommitted-output:app:0 did not come within {LONGEST_FREEZE + 3:g} s",
        "seen_instead": f"output 7 of sink-0; it went on after {LONGEST_FREEZE:g} s, before the fault was at work",
    }


def test_a_fault_that_takes_longer_than_the_instance_stands_still_has_met_nothing(aimed: FakeRun) -> None:
    sights(aimed, True, True)
    usual = aimed.clients.isolate

    def slow(process: int) -> None:
        aimed.stop.wait(LONGEST_FREEZE + 0.5)
        usual(process)

    aimed.clients.isolate = slow  # type: ignore[method-assign]
    aimed.carry_out(isolate("app:0", after=OUTPUT, lasting=5))
    assert met(aimed, "isolate-app-0") is None


def test_a_run_that_is_stopped_leaves_no_instance_frozen(aimed: FakeRun) -> None:
    sights(aimed, True, True)
    aimed.clients.fails["kill"] = KeyboardInterrupt()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        aimed.carry_out(kill("app:0", after=OUTPUT, lasting=2))
    assert steps(aimed)[-1] == "thaw 1"


@pytest.mark.parametrize(
    ("changes", "text", "said"),
    [
        ({}, "open-transaction:app:2", "the application has no instance 2; allowed: app:0 to app:1"),
        ({"clients": {"producer": 1}}, "revocation:app:0", "only an application of yours (Pipeline) has instances"),
        ({"unseen_instances": "no {group}"}, "committed-ahead:app:0", "trigger 'committed-ahead:app:0': no {group}"),
    ],
)  # fmt: skip
def test_moments_that_nobody_can_see_are_refused(changes: dict[str, Any], text: str, said: str) -> None:
    topology = Topology(
        **{
            **{name: getattr(APPLICATION, name) for name in ("brokers", "topics", "clients", "commands")},
            **changes,
        }
    )
    with pytest.raises(ValueError, match="event 'kill-0'") as refused:
        Schedule.of([kill(1, lasting=1, after=text)]).check(topology)
    assert said in str(refused.value)


def test_moments_of_instances_are_accepted() -> None:
    Schedule.of(
        [kill(1, lasting=1, after=f"{each}:app:1") for each in ("revocation", "committed-ahead")]
    ).check(APPLICATION)
