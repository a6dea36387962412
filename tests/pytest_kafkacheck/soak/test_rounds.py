"""The rounds of a soak, with a function in place of runs: which are drawn, when it ends, how it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nemesis.budget import Budget
from nemesis.tasks import Start, in_thread, wait_until
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.soak.draw import candidate, draw
from pytest_kafkacheck.soak.limits import Limits
from pytest_kafkacheck.soak.pairs import IN_SYNC, RECOVERING, STATES, Pair, planned, seen
from pytest_kafkacheck.soak.plan import PRESETS, Soak
from pytest_kafkacheck.soak.soak import BLOCK, FAILURES, soak
from pytest_kafkacheck.soak.state import SoakFolder, State
from tests.support.fake_lab import FakeLab, at_once, shows
from workloads.append_log import AppendLog
from workloads.groups import Groups
from workloads.workload import client_library

PLAN = Soak(workloads=[AppendLog(), Groups()], vary={"partitions": [1, 2, 5], "record_size": [0, 100]})


ONE_EVENT = Soak(workloads=[AppendLog()], events=(1, 1))


def run(
    lab: FakeLab,
    *,
    plan: Soak = PLAN,
    seed: int = 1,
    start: Start = at_once,
    say: Say = lambda _: None,
    **limits: Any,
) -> State:
    said = Limits(**{"keep": "all", **limits})
    folder = SoakFolder(lab.home)
    with folder.locked():
        return soak(plan, lab, folder, said, seed=seed, clock=lab.clock, start=start, say=say)


def test_a_round_is_the_same_again_and_others_differ() -> None:
    first = [draw(PLAN, 1, number, ()).experiment for number in range(1, 9)]
    assert first == [draw(PLAN, 1, number, ()).experiment for number in range(1, 9)]
    assert len({str(each.schedule) for each in first}) == 8
    assert first != [draw(PLAN, 2, number, ()).experiment for number in range(1, 9)]


def test_workloads_take_turns_and_their_settings_are_drawn() -> None:
    drawn = [draw(PLAN, 1, number, ()).experiment.workload for number in range(1, 21)]
    assert [type(each) for each in drawn[:4]] == [AppendLog, Groups, AppendLog, Groups]
    assert {each.partitions for each in drawn} == {1, 2, 5}  # type: ignore[attr-defined]
    assert {each.record_size for each in drawn if isinstance(each, AppendLog)} == {0, 100}


def test_values_that_exclude_each_other_are_drawn_again() -> None:
    plan = Soak(workloads=[AppendLog()], vary={"acks": ["all", 1], "idempotence": [True, False]})
    drawn = [draw(plan, 3, number, ()).experiment.workload for number in range(1, 21)]
    values = {(each.acks, each.idempotence) for each in drawn}  # type: ignore[attr-defined]
    assert values == {("all", True), ("all", False), (1, False)}
    clients = {"library": ["kafka-python", "java"], "client_version": [None, "3.7.2"]}
    plan = Soak(workloads=[AppendLog()], vary=clients)
    drawn = [draw(plan, 3, number, ()).experiment.workload for number in range(1, 21)]
    assert {client_library(each) for each in drawn} == {"kafka-python", "java", "java-3.7.2"}
    never = Soak(workloads=[AppendLog()], vary={"acks": [1], "idempotence": [True]})
    with pytest.raises(
        UsageError, match=r"round 1: none of 20 draws is possible: .*idempotence=True needs acks"
    ):
        draw(never, 1, 1, ())


def test_pairs_that_were_not_seen_are_drawn_first() -> None:
    plan = PRESETS["safe"].plan()
    steered: set[tuple[str, str]] = set()
    alone: set[tuple[str, str]] = set()
    for number in range(1, 11):
        steered |= planned(draw(plan, 1, number, steered).experiment)
        alone |= planned(candidate(plan, 1, number, 0))
    assert len(steered) > 1.4 * len(alone)


def test_the_state_in_which_a_fault_began() -> None:
    import pytest_kafkacheck as api

    experiment = Experiment(
        workload=AppendLog(),
        faults=[
            api.kill("1", at=1, lasting=3),
            api.reset("2", at=2),
            api.loss("2", at=4.5, lasting=3, percent=5),
            api.cpu("3", at=5, lasting=2, cores=0.1),
            api.kill("1", at=20, lasting=2),
        ],
    )
    expected = {
        ("kill", IN_SYNC), ("reset", "during process"), ("loss", RECOVERING), ("cpu", "during network")
    }  # fmt: skip
    assert of_states(planned(experiment)) == expected
    assert of_states(seen(shows(experiment).exercised, experiment.workload)) == expected
    exercised = shows(experiment).exercised
    no_effect = tuple(replace(each, effective=each.fault != "kill") for each in exercised.faults)
    shown = seen(replace(exercised, faults=no_effect), experiment.workload)
    assert of_states(shown) == {("reset", IN_SYNC), ("loss", IN_SYNC), ("cpu", "during network")}


def of_states(pairs: Iterable[Pair]) -> set[Pair]:
    return {(fault, circumstance) for fault, circumstance in pairs if circumstance in STATES}


def test_what_a_fault_is_aimed_at_and_what_clients_do_meanwhile_are_circumstances() -> None:
    import pytest_kafkacheck as api

    experiment = Experiment(
        workload=Groups(static=True),
        faults=[
            api.pause("coordinator:group-0", at=1, lasting=2),
            api.reassign("partition:__consumer_offsets-0", at=10, lasting=3),
            api.kill("1", at=20, lasting=2),
            api.partition([[1], [2, 3]], at=30, lasting=2),
        ],
    )
    shown = seen(shows(experiment).exercised, experiment.workload)
    assert planned(experiment) == shown
    assert {pair for pair in shown if pair[1].startswith("at ")} == {
        ("pause", "at a group's coordinator"), ("reassign", "at __consumer_offsets")
    }  # fmt: skip
    clients = {circumstance for fault, circumstance in shown if fault == "kill"} - {IN_SYNC}
    used = ("assignor-range", "consumer", "group-classic", "idempotence", "producer", "static-members")
    assert clients == {*(f"under {each}" for each in used), "with kafka-python"}


def test_it_ends_with_the_time_the_rounds_or_the_findings(tmp_path: Path) -> None:
    assert len(run(FakeLab(tmp_path / "a"), seconds=600).rounds) == 10
    assert len(run(FakeLab(tmp_path / "b"), rounds=3, seconds=600).rounds) == 3
    losing = FakeLab(tmp_path / "c", verdict=lambda experiment: shows(experiment, lost=len(losing.ran) > 4))
    assert len(run(losing, seconds=6000, stop_after=1).rounds) == 5
    with pytest.raises(UsageError, match="without an end"):
        Limits(stop_after=1)


def test_it_goes_on_after_it_was_killed(tmp_path: Path) -> None:
    straight = FakeLab(tmp_path / "straight")
    expected = run(straight, rounds=6)

    def killed(number: int) -> None:
        if number == 3:
            raise SystemExit  # after the state was written, and in the middle of a run

    first = FakeLab(tmp_path / "other", before=killed)
    with pytest.raises(SystemExit):
        run(first, rounds=6)
    # As if the run had begun, and had recorded something that says nothing.
    left = tmp_path / "other" / "20260101-000000-round-00004-deadbeef"
    (left / "history").mkdir(parents=True)
    (left / "experiment.json").write_text(json.dumps(straight.ran[3].to_json()))
    second = FakeLab(tmp_path / "other")

    def left_is_unknown(experiment: Experiment) -> Any:
        return shows(experiment, unknown=None if second.ran else "the history has no end")

    second.verdict = left_is_unknown
    again = run(second, rounds=6)
    assert [each.number for each in again.rounds] == [1, 2, 3, 4, 5, 6]
    assert first.ran + second.ran == straight.ran
    assert not left.exists()
    assert again.seconds == pytest.approx(expected.seconds)
    # It has ended: the same command runs nothing more, and more rounds go on.
    assert run(second, rounds=6) == again
    assert len(run(second, rounds=7).rounds) == 7


def test_a_killed_round_that_recorded_a_loss_is_a_finding(tmp_path: Path) -> None:
    lab = FakeLab(tmp_path, verdict=lambda experiment: shows(experiment, lost=True))
    left = tmp_path / "20260101-000000-round-00001-deadbeef"
    (left / "history").mkdir(parents=True)
    # Another candidate than the one that would be drawn now.
    number = draw(PLAN, 1, 1, ()).draw + 1
    (left / "experiment.json").write_text(json.dumps(candidate(PLAN, 1, 1, number).to_json()))
    state = run(lab, rounds=1)
    (found,) = state.rounds
    assert (found.result, found.path, found.draw, lab.ran) == ("invalid", left.name, number, [])


def test_a_killed_round_that_is_none_of_the_soak_is_run_again(tmp_path: Path) -> None:
    lab = FakeLab(tmp_path)
    left = tmp_path / "20260101-000000-round-00001-deadbeef"
    (left / "history").mkdir(parents=True)
    (left / "experiment.json").write_text(json.dumps(candidate(PLAN, 2, 1, 0).to_json()))
    assert run(lab, rounds=1).rounds[0].path != left.name
    assert not left.exists()


def test_a_round_is_judged_and_reported_while_the_next_one_is_under_load(tmp_path: Path) -> None:
    said: list[str] = []
    judged: list[int] = []
    under_load: list[int] = []

    def load(before: int) -> None:
        number = before + 1
        under_load.append(number)
        assert judged[: number - 2] == list(range(1, number - 1)), "at most one waits for its verdict"
        if number > 1:
            assert wait_until(lambda: any(f"round {number - 1}: INVALID" in line for line in said), limit=10)

    def verdict(experiment: Experiment) -> Any:
        number = int(experiment.name.removeprefix("round-"))
        assert number == 4 or wait_until(lambda: number + 1 in under_load, limit=10)
        judged.append(number)
        return shows(experiment, lost=True)

    lab = FakeLab(tmp_path, verdict=verdict, before=load)
    state = run(lab, rounds=4, start=in_thread, say=said.append)
    assert [each.result for each in state.rounds] == ["invalid"] * 4


def test_a_round_that_was_killed_before_its_verdict_is_judged_later(tmp_path: Path) -> None:
    straight = run(FakeLab(tmp_path / "straight"), rounds=4)

    def killed(before: int) -> None:
        if before == 2:
            raise SystemExit

    def first_only(work: Callable[[], Any], name: str) -> Any:
        return at_once(work, name) if len(lab.ran) == 1 else Future()

    lab = FakeLab(tmp_path / "other", before=killed)
    with pytest.raises(SystemExit):
        run(lab, rounds=4, start=first_only)
    assert [each.number for each in SoakFolder(lab.home).read(PLAN, 1).rounds] == [1]
    again = FakeLab(lab.home)
    state = run(again, rounds=4)
    assert [int(each.name.removeprefix("round-")) for each in again.ran] == [3, 4], "round 2 is not run again"
    assert [each.draw for each in state.rounds[:2]] == [each.draw for each in straight.rounds[:2]]


def test_the_cluster_of_an_unknown_round_serves_at_most_the_next_one(tmp_path: Path) -> None:
    served: list[tuple[int, int]] = []

    def verdict(experiment: Experiment) -> Any:
        number = int(experiment.name.removeprefix("round-"))
        assert number != 1 or wait_until(lambda: len(served) == 2, limit=10)
        return shows(experiment, unknown="no final read" if number == 1 else None)

    lab = FakeLab(tmp_path, verdict=verdict, before=lambda before: served.append((before + 1, lab.renewed)))
    run(lab, rounds=4, start=in_thread)
    assert served == [(1, 0), (2, 0), (3, 1), (4, 1)]


def test_the_first_run_of_each_cause_is_shrunk_once(tmp_path: Path) -> None:
    lab = FakeLab(tmp_path, verdict=lambda experiment: shows(experiment, lost=len(lab.ran) > 1))
    state = run(lab, rounds=4, shrink=90.0)
    assert [(home.name, seconds) for home, seconds in lab.shrunk] == [(state.rounds[1].path, 90.0)]
    assert [each.shrunk for each in state.rounds] == [None, "6 events became 1", None, None]
    # One that was interrupted while it shrank goes on with that.
    folder = SoakFolder(tmp_path)
    folder.write(replace(state, rounds=tuple(replace(each, shrunk=None) for each in state.rounds)))
    run(lab, rounds=4, shrink=90.0)
    assert len(lab.shrunk) == 2


def test_a_cause_more_than_asked_for_is_reported_and_not_shrunk(tmp_path: Path) -> None:
    """The round that was under load when the last cause was found may show another one."""

    def verdict(experiment: Experiment) -> Any:
        assert experiment.name == "round-2" or wait_until(lambda: len(lab.ran) == 2, limit=10)
        shown = shows(experiment, lost=True)
        return replace(shown, causes=()) if experiment.name == "round-2" else shown

    lab = FakeLab(tmp_path, verdict=verdict)
    state = run(lab, rounds=9, shrink=90.0, stop_after=1, start=in_thread)
    assert [[*each.causes] for each in state.rounds] == [["truncation"], ["lost-write"]]
    assert [home.name for home, _ in lab.shrunk] == [state.rounds[0].path]


def test_a_round_that_cannot_be_run_is_unknown_and_several_end_the_soak(tmp_path: Path) -> None:
    left = tmp_path / "a" / "20260101-000000-round-00002-deadbeef"

    def fails(number: int) -> None:
        if number == 1 and not failed:
            failed.append(number)
            left.mkdir()
            raise InfrastructureError("no broker became ready")

    failed: list[int] = []
    state = run(FakeLab(tmp_path / "a", before=fails), rounds=3, keep="invalid")
    # What it left is subject to retention, too.
    assert state.rounds[1].path == left.name
    assert not left.exists()
    assert [each.result for each in state.rounds] == ["valid", "unknown", "valid"]
    assert state.rounds[1].unknowns == ("not run: no broker became ready",)

    def always(_: int) -> None:
        raise InfrastructureError("no engine")

    lab = FakeLab(tmp_path / "b", before=always)
    with pytest.raises(InfrastructureError, match="no engine"):
        run(lab, rounds=9)
    assert len(SoakFolder(lab.home).read(PLAN, 1).rounds) == FAILURES - 1


def test_a_cluster_is_replaced_after_a_block_and_after_an_unknown_round(tmp_path: Path) -> None:
    lab = FakeLab(tmp_path / "a")
    run(lab, plan=ONE_EVENT, rounds=2 * BLOCK)
    assert lab.renewed == 2
    other = FakeLab(tmp_path / "b", verdict=lambda experiment: shows(experiment, unknown="no final read"))
    run(other, rounds=3)
    assert other.renewed == 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": Budget()}, "brokers=None allows faults to take down all brokers"),
        ({"budget": None}, "expected a Budget"),
        ({"workloads": []}, r"Soak.workloads=\[\]: expected a list with one or more"),
        ({"vary": {"partition": [1]}}, "no workload has a field 'partition'"),
        ({"vary": {"partitions": []}}, "expected a list of values"),
        ({"faults": {"isolat": 1}}, "Soak.faults: no fault 'isolat'"),
        ({"events": (3, 2)}, "the smaller one first"),
        ({"clusters": ()}, r"Soak.clusters=\(\)"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Soak(**{"workloads": [AppendLog()], **wrong})


def test_a_folder_of_another_soak_or_of_two_at_once_is_refused(tmp_path: Path) -> None:
    lab = FakeLab(tmp_path)
    run(lab, rounds=1)
    with pytest.raises(UsageError, match=r"another plan or seed \(1 rounds, seed 1\)"):
        run(lab, rounds=1, seed=2)
    with pytest.raises(UsageError, match="another plan or seed"):
        run(lab, plan=replace(PLAN, events=(1, 1)), rounds=1)
    folder = SoakFolder(tmp_path)
    other = SoakFolder(tmp_path).locked()
    with folder.locked(), pytest.raises(UsageError, match="another soak is running"):
        other.__enter__()
    folder.file.write_text('{"format": 1')
    with pytest.raises(UsageError, match=r"soak\.json, line 1, column 13: expected ',' .* remove the folder"):
        run(lab, rounds=1)
    folder.file.write_text('{"format": 2}')
    with pytest.raises(UsageError, match=r"the field 'rounds' is missing\); remove the folder"):
        run(lab, rounds=1)
