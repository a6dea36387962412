"""What verdicts report besides findings: availability, and searches that were left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from analyzers.catalogue.bounds import Bounds
from analyzers.facts.registry import FACTS, NEEDS
from analyzers.judge import examine as analysis
from analyzers.judge import measures
from analyzers.judge.cycles import find_cycles
from analyzers.verdict.measures import (
    Availability,
    LogAvailability,
    PhaseAvailability,
    Propagation,
    Staleness,
    Standstill,
)
from analyzers.verdict.summary import one_line
from analyzers.verdict.verdict import Verdict
from tests.support.stories import standstills
from tests.support.stories.replication import written
from tests.support.stories.transactions import each_read_the_other, written_in_opposite_orders
from workloads.history.schema import HARNESS

pytestmark = pytest.mark.spark

ONE = 1 << 40
S = 1_000_000_000


def phase(s: Any, name: str, at: int) -> None:
    phase_value = json.dumps({"phase": name})
    s.operation("phase", process=HARNESS, at=(at, at), value=phase_value, topic=None, partition=None)


def waiting(s: Any) -> Any:
    """A wait from 3 s to 5 s with an error between; a heal at 7 s and recovery at 9 s; a reader that lags."""
    s.send(ONE, 0, at=(0, S))
    phase(s, "steady", S), phase(s, "faults", 2 * S)
    s.send(ONE + 1, 1, at=(S, 2 * S)).send(ONE + 2, None, at=(3 * S, 4 * S), type="info")
    s.send(ONE + 3, 2, at=(4 * S, 5 * S)).send(ONE + 4, 0, at=(5 * S, 5 * S + 10), partition=1)
    s.fault("inject").fault("heal")
    s.operations[-1] |= {"invoked": 6 * S, "completed": 7 * S}
    s.send(ONE + 5, 3, at=(8 * S, 9 * S))
    s.poll(ONE, 0, at=(S, S + 10)).poll(ONE + 1, 1, at=(3 * S, 3 * S + 10)).poll(
        ONE + 3, 2, at=(5 * S, 5 * S + 10)
    )
    s.poll(ONE + 1, 1, process=11, at=(30 * S, 31 * S))
    s.final({0: ONE, 1: ONE + 1, 2: ONE + 3, 3: ONE + 5}, end=4)
    return s.final({0: ONE + 4}, end=1, partition=1)


def test_availability_is_reported_always(judged: Any, story: Any) -> None:
    verdict = judged({"waits": waiting(story()), "empty": story().operation("phase", value="{}")})
    assert verdict["waits"].availability == Availability(
        logs=(
            LogAvailability(topic="t", partition=0, longest_wait=2.0, began=3.0, recovery=2.0),
            LogAvailability(topic="t", partition=1, longest_wait=1e-8, began=5.0, recovery=None),
        ),
        phases=(
            PhaseAvailability(
                phase="start", sends=1, errors=0, latency_median=1.0, latency_99=1.0, latency_worst=1.0
            ),
            PhaseAvailability(
                phase="steady", sends=1, errors=0, latency_median=1.0, latency_99=1.0, latency_worst=1.0
            ),
            PhaseAvailability(
                phase="faults", sends=4, errors=1, latency_median=1.0, latency_99=1.0, latency_worst=1.0
            ),
        ),
        # Offset 1 was acknowledged at 2 s and polled at 3 s. First records and final reads do not count.
        worst_lag=pytest.approx(1.0, abs=1e-6),
    )  # fmt: skip
    assert verdict["empty"].availability == Availability()


def reading_own_writes(s: Any, *, stated: bool = True) -> Any:
    """Of six acknowledged writes, the session polled one before its acknowledgement, two with the next read, one with
    the read after that, and two never; after the last one it read no more."""
    worker = {"role": "session", "process": 1, "event": "started", **({"reads_own": True} if stated else {})}
    s.harness("worker", worker, at=(0, 0))
    read = {"f": "read", "session": 7, "process": 1}
    for number, seen in enumerate((5, 30, 40, 150, None)):
        at = number * 1000
        s.send(ONE + number, number, session=7, at=(at, at + 10))
        if seen is not None:
            s.poll(ONE + number, number, session=7, process=1, at=(at + 1, at + seen))
        for began, ended in ((20, 100), (100, 200)):
            s.operation(**read, start_offset=0, end_offset=number, at=(at + began, at + ended))
    s.send(ONE + 5, 5, session=7, at=(9000, 9010))
    return s.final({number: ONE + number for number in range(6)}, end=6)


def test_staleness_is_reported_of_roles_that_read_what_they_wrote(judged: Any, story: Any) -> None:
    verdicts = judged(
        {
            "own": reading_own_writes(story()),
            "unstated": reading_own_writes(story(), stated=False),
            "waits": waiting(story()),
        }
    )
    assert verdicts["own"].staleness == Staleness(
        writes=6, reads=5, missed=2, unseen=2, median=2e-8, percentile_90=1.4e-7, longest=1.4e-7
    )
    (missed,) = (each for each in verdicts["own"].findings if each.anomaly == "read-your-writes")
    assert missed.count == verdicts["own"].staleness.missed
    assert verdicts["unstated"].staleness is verdicts["waits"].staleness is None


def test_a_run_that_is_not_asked_for_staleness_has_no_job_for_it(
    judged: Any, story: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> Any:
        raise RuntimeError("no memory")

    monkeypatch.setattr(measures, "session_writes", crash)
    verdicts = judged(
        {"own": reading_own_writes(story()), "unstated": reading_own_writes(story(), stated=False)}
    )
    assert verdicts["own"].notes == ("The report on staleness crashed: RuntimeError: no memory",)
    assert verdicts["own"].staleness is None
    assert verdicts["own"].result == "invalid"
    assert judged({"unstated": reading_own_writes(story(), stated=False)})["unstated"].notes == ()


def named(s: Any, node: int, epochs: Mapping[float, int], *, partition: int = 0) -> None:
    """At these times (s), the broker was asked; it had answered 0.1 s later, with this leader epoch."""
    s.observations += [
        {"process": 900, "kind": "partition", "node": node, "topic": "t", "partition": partition,
         "asked": round(at * S), "time": round(at * S) + S // 10, "leader": 1 + epoch % 2, "leader_epoch": epoch}
        for at, epoch in epochs.items()
    ]  # fmt: skip


def test_propagation_is_how_long_changes_of_leaders_took_to_reach_all_brokers(
    judged: Any, story: Any
) -> None:
    runs = {name: written(story()) for name in ("three", "away", "open", "skipped", "same", "one", "first")}
    for node, at in ((1, 3), (2, 3.5), (3, 4)):  # and the next epoch reaches them in another order
        named(runs["three"], node, {1: 4, 2: 4, at: 5, 4.5: 5, 9 - at: 6, 8: 6})
    for node, at in ((1, 3), (2, 3.5), (3, 9)):  # the third one did not answer for 7 s
        named(runs["away"], node, {1: 4, 2: 4, at: 5, 10: 5})
    for node, last in ((1, 5), (2, 5), (3, 4)):
        named(runs["open"], node, {1: 4, 2.5: 4, 3: last, 4: last})
    named(runs["skipped"], 1, {1: 4, 2: 5, 3: 6, 4: 7})
    named(runs["skipped"], 2, {1: 4, 2: 4, 3: 4, 4: 7})
    for node in (1, 2):
        named(runs["same"], node, {1: 4, 2: 4, 3: 4})
        named(runs["same"], node, {1: 5, 2: 5, 3: 5}, partition=1)
    named(runs["one"], 1, {1: 4, 2: 5})
    # The first answer of a broker says nothing about what it learned, and when.
    named(runs["first"], 1, {1: 4, 2: 5, 3: 5})
    named(runs["first"], 2, {3: 5})
    found = {run: verdict.propagation for run, verdict in judged(runs).items()}
    where = {"topic": "t", "partition": 0}
    assert found == {
        "three": Propagation(
            changes=2, open=0, median=1.0, percentile_90=1.0, longest=1.0, leader_epoch=6, node=1, **where
        ),
        "away": Propagation(
            changes=1, open=0, median=0.5, percentile_90=0.5, longest=0.5, leader_epoch=5, node=2, **where
        ),
        "open": Propagation(changes=1, open=1),
        "skipped": Propagation(
            changes=3, open=0, median=1.0, percentile_90=2.0, longest=2.0, leader_epoch=5, node=2, **where
        ),
        "same": None,
        "one": None,
        "first": None,
    }  # fmt: skip


def test_latency_counts_from_when_a_send_was_due(judged: Any, story: Any) -> None:
    """While brokers are silent, a client sends nothing; what was due then waited as well."""
    s = story()
    s.harness("phase", {"phase": "steady", "skipped": 5}, at=(1, 1))
    s.send(ONE, 0, at=(9 * S, 10 * S), intended=4 * S).send(ONE + 1, 1, at=(9 * S, 10 * S))
    s.harness("phase", {"phase": "recovery", "skipped": 12}, at=(11 * S, 11 * S))
    s.send(ONE + 2, 2, at=(11 * S, 12 * S)).harness("phase", {"phase": "final"}).harness(
        "phase", {"phase": "end"}
    )
    steady, recovery = judged({"run": s})["run"].availability.phases
    assert (steady.skipped, steady.latency_median, steady.latency_worst) == (7, 1.0, 6.0)
    assert (recovery.skipped, recovery.latency_worst) == (None, 1.0)


def test_too_many_dependencies_are_reported_and_not_searched(loaded: Any, story: Any) -> None:
    history = loaded({"wr": each_read_the_other(story()), "ww": written_in_opposite_orders(story())})
    found, unsearched = find_cycles(history, examples=1, max_edges=1)
    assert found == []
    assert {(each.run, each.judged) for each in unsearched} == {("wr", True), ("wr", False), ("ww", False)}
    assert all("more than 1 dependencies" in each.sentence for each in unsearched)


def test_an_omitted_search_makes_a_run_unknown_only_if_a_promise_depends_on_it(
    judged: Any, story: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = lambda history, examples: find_cycles(history, examples=examples, max_edges=1)  # noqa: E731
    monkeypatch.setattr(analysis, "find_cycles", few)
    verdicts = judged({"wr": each_read_the_other(story()), "ww": written_in_opposite_orders(story())})
    assert (verdicts["wr"].result, verdicts["ww"].result) == ("unknown", "valid")
    assert "G1c-wr, G1c-realtime" in verdicts["wr"].unknowns[0]
    assert "G0, G0-realtime, G1c" in verdicts["ww"].notes[0]


def test_a_crashing_report_leaves_the_verdict_intact(
    judged: Any, story: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no memory\nleft")

    monkeypatch.setattr(analysis, "availabilities", crash)
    monkeypatch.setattr(analysis, "find_cycles", crash)
    verdicts = judged({"wr": each_read_the_other(story()), "ww": written_in_opposite_orders(story())})
    assert {verdict.result for verdict in verdicts.values()} == {"unknown"}
    assert "The search for G1c-wr, " in verdicts["ww"].unknowns[0]
    assert verdicts["ww"].notes == ("The report on availability crashed: RuntimeError: no memory",)


def test_facts_about_absent_kinds_of_operations_are_not_computed(
    judged: Any, story: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = []

    def find(_: Any, checks: Any, **__: Any) -> Any:
        computed.extend(check.over for check in checks)
        return [], []

    monkeypatch.setattr(analysis, "find", find)
    judged({"plain": story().send(ONE, 0).final({0: ONE}, end=1)})
    assert computed
    assert not {*computed} & NEEDS.keys()
    assert NEEDS.keys() <= FACTS.keys()


def test_a_bound_on_recovery_that_no_send_tested_is_unknown(judged: Any, story: Any) -> None:
    def healed(*, with_later_send: bool) -> Any:
        s = story().send(ONE, 0).fault("inject").fault("heal")
        return (
            (s.send(ONE + 1, 1).final({0: ONE, 1: ONE + 1}, end=2))
            if with_later_send
            else s.final({0: ONE}, end=1)
        )

    stories = {"tested": healed(with_later_send=True), "untested": healed(with_later_send=False)}
    verdicts = judged(stories, bounds=Bounds(recovery=1))
    assert (verdicts["tested"].unknowns, verdicts["untested"].result) == ((), "unknown")
    (why,) = verdicts["untested"].unknowns
    assert why.startswith("It is unknown whether t-0 recovered within 1 s: ")
    assert judged(stories)["untested"].unknowns == ()


def test_how_long_an_application_stood_still_is_reported(judged: Any, story: Any) -> None:
    """With the timestamps of outputs or, where these are those of inputs, with the committed positions."""
    planted = (
        standstills.application_stood_still,
        standstills.outputs_have_the_times_of_inputs,
        standstills.had_nothing_to_do,
    )
    verdicts: dict[str, Verdict] = judged({each.__name__: each(story()) for each in planted})
    stood, by_positions, idle = (verdicts[each.__name__] for each in planted)
    assert stood.availability.standstill == Standstill(
        topic="t",
        partition=0,
        lasted=pytest.approx(1, abs=1e-6),
        began=pytest.approx(0.5, abs=1e-6),
        by="outputs",
    )
    assert "standstill 1.0 s" in one_line(stood)
    assert (
        "longest time without an output of the application while inputs waited: 1.0 s on t-0, beginning at 0.5 s"
    ) in stood.text()
    assert by_positions.availability.standstill == Standstill(
        topic="t",
        partition=0,
        lasted=pytest.approx(2, abs=1e-6),
        began=pytest.approx(0, abs=1e-6),
        by="positions",
    )
    assert "(by its committed positions)" in by_positions.text()
    assert idle.availability.standstill is not None
    assert idle.availability.standstill.lasted < 1e-6
    assert Verdict.from_json(stood.to_json()) == stood
