"""Whole verdicts: reasons for unknown, what was exercised, and several runs at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import CHECKS
from analyzers.checks.uniqueness import DUPLICATE
from analyzers.judge.analyze import analyze
from analyzers.judge.warm_up import warm_up
from analyzers.verdict.promises import unmet
from analyzers.verdict.verdict import Verdict
from tests.support.stories.groups import commit
from workloads.append_log import AppendLog

pytestmark = pytest.mark.spark

ONE = 1 << 40


def good(s: Any) -> Any:
    return s.send(ONE, 0).final({0: ONE}, end=1)


def sample(
    s: Any, time: int, *, node: int = 1, leader: int = 1, epoch: int = 0, isr: tuple[int, ...] = (1, 2)
) -> None:
    common = {"process": 50, "node": node, "kind": "partition", "topic": "t", "partition": 0, "time": time}
    s.observations.append(common | {"leader": leader, "leader_epoch": epoch, "isr": list(isr)})


def two(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).poll(ONE + 1, 1)
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def hardly_exercised(s: Any) -> Any:
    """One acknowledgement before the fault, no answers during and after it, and clients that saw hardly anything."""
    s.send(ONE, 0).poll(ONE, 0).fault("inject")
    for sequence in range(1, 51):
        s.send(ONE + sequence, None, type="info")
    s.fault("heal").operation("read", session=1, process=7, type="info", start_offset=0, end_offset=9)
    s.poll(ONE, 0, process=7, session=1)
    sample(s, 5, node=1, isr=(1, 2))
    return s.final({offset: ONE + offset for offset in range(9)}, end=9)


def with_a_reader_that_gets_nothing(s: Any) -> Any:
    """It says that it polls all logs. Another client got the record."""
    reader = {"role": "reader", "process": 11}
    s.harness("worker", {**reader, "event": "started", "poll_limit": 10})
    s.send(ONE, 0).poll(ONE, 0).harness("worker", {**reader, "event": "stopped"})
    return s.final({0: ONE}, end=1)


def with_idle_groups(s: Any) -> Any:
    """One group commits both partitions, one only one of them, one nothing, and one none of its attempts.

    Group "old" has no row about what it subscribes to, as histories of other tools. Nothing was acknowledged in
    partition 2.
    """
    s.send(ONE, 0, partition=0).send(ONE + 1, 0, partition=1).send(ONE + 2, None, partition=2, type="info")
    for process, group in ((5, "all"), (6, "some"), (7, "none"), (8, "failing")):
        s.operation(
            "subscribe", at=(1, 1), process=process, topic="t", partition=None, group=group, value="{}"
        )
    for process, group, partition, kind in (
        (5, "all", 0, "ok"), (5, "all", 1, "ok"), (6, "some", 1, "ok"), (8, "failing", 0, "info"),
        (9, "old", 0, "ok"),
    ):  # fmt: skip
        commit(s, process, 1, (50, 60), group=group, partition=partition, kind=kind)
    return s


def incomplete(s: Any) -> Any:
    """Healed at 19 ns. A replica is in sync again at 30, and the other partition has a leader at 33."""
    good(s.fault("inject").fault("heal"))
    all_in_sync: dict[str, Any] = {"isr": (1, 2, 3)}
    sample(s, 5, node=1, leader=1, epoch=1, **all_in_sync)
    sample(s, 10, node=2, leader=2, epoch=2, isr=(2, 3))
    sample(s, 30, node=2, leader=2, epoch=2, **all_in_sync)
    # A leader that was replaced, and a follower that has not heard of it.
    sample(s, 25, node=1, leader=1, epoch=1, **all_in_sync)
    sample(s, 35, node=3, leader=2, epoch=2, isr=(2, 3))
    for time, leader, epoch in ((5, 1, 1), (28, -1, 2), (33, 3, 3), (60, 3, 3)):
        sample(s, time, node=3, leader=leader, epoch=epoch, **all_in_sync)
        s.observations[-1]["partition"] = 1
    sample(s, 60, node=2, leader=2, epoch=2, **all_in_sync)
    return s


def without(s: Any, **columns: Any) -> Any:
    """The same history from a tool that does not fill these columns of records."""
    filled = s.rows

    def rows(run: str) -> Any:
        tables = filled(run)
        return tables | {"records": [row | columns for row in tables["records"]]}

    s.rows = rows
    return s


def all_stories(story: Any) -> dict[str, Any]:
    stories = {"good": good(story())}
    stories["nothing-acknowledged"] = story().send(ONE, None, type="info").final({}, end=0)
    stories["no-records"] = story().operation("phase", value='{"phase": "steady"}')
    stories["no-final-read"] = story().send(ONE, 0).poll(ONE, 0)
    failed = story().send(ONE, 0).poll(ONE, 0)
    stories["final-read-failed"] = failed.operation("final-read", type="fail", start_offset=0, end_offset=1)
    both = good(story()).send(ONE + 1, 0, partition=1).poll(ONE + 1, 0, partition=1)
    stories["one-final-read-missing"] = both
    stories["fault-without-effect"] = good(story().fault("inject", effective=False).fault("heal"))
    stories["fault-not-healed"] = good(story().fault("inject").fault("heal", effective=False))
    stories["fault-without-heal"] = good(story().fault("inject"))
    stories["fault-without-inject"] = good(story().fault("heal"))
    for event in ("started", "stopped", "crashed"):
        value = {"event": event, "process": 1, "trouble": "producer 1 ended with status 70"}
        stories[f"client-{event}"] = good(story().phases().harness("worker", value))
    started = {"event": "started", "process": 3, "role": "reader"}
    began = story().phases().harness("worker", started)
    stories["client-ended"] = good(began).harness("worker", started | {"event": "stopped"})
    stories["phase-faults"] = good(story().phases("steady", "faults"))
    stories["phase-end"] = good(story().phases())
    stories["no-phases"] = good(story().harness("recovery", {"problem": None, "limit": 60}))
    stories["no-phases"].has_phases = False
    stories["phase-missing"] = good(story().phases("steady", "final", "end"))
    stories["recovered"] = good(story().phases().harness("recovery", {"problem": None, "limit": 60}))
    unrecovered = {"problem": "brokers [1] do not answer", "limit": 60.0}
    stories["not-recovered"] = good(story().phases().harness("recovery", unrecovered))
    died = {"step": "load", "error": "Every client process ended early: 1 producer"}
    stories["load-failed"] = good(story().phases().harness("problem", died))
    stories["other-step-failed"] = good(story().phases().harness("problem", {"step": "dig", "error": "x."}))
    leaderless = good(story().phases()).send(ONE + 1, 0, partition=1).poll(ONE + 1, 0, partition=1)
    leaderless.harness("unread", {"reason": "it has no leader"}, topic="t", partition=1)
    stories["leaderless"] = leaderless
    stories["lost-and-leaderless"] = (
        story().phases().send(ONE, 0).final({}, end=0).send(ONE + 1, 0, partition=1)
    )
    stories["lost-and-leaderless"].harness("unread", {"reason": "it has no leader"}, topic="t", partition=1)
    stories["lost-and-unknown"] = story().fault("inject").send(ONE, 0).final({}, end=0)
    shaken = story().send(ONE, 0, at=(0, 10)).send(ONE + 1, 1, at=(1, 20)).send(ONE + 2, 2, at=(2, 25))
    shaken.fault("inject").send(ONE + 3, None, type="info").send(ONE + 4, 4).send(ONE + 5, 5).fault("heal")
    shaken.send(ONE + 6, 6)
    shaken.operation("read", session=1, process=7, type="info", start_offset=0, end_offset=1)
    shaken.final({0: ONE, 1: ONE + 1, 2: ONE + 2, 4: ONE + 4, 6: ONE + 6}, end=7)
    sample(shaken, 1), sample(shaken, 2, leader=-1, epoch=1), sample(shaken, 3, leader=1, epoch=2)
    sample(shaken, 4, leader=2, epoch=3, isr=(2,)), sample(shaken, 5, leader=2, epoch=3, isr=(2, 1))
    sample(shaken, 5, node=2), sample(shaken, 6, node=2, leader=2, epoch=3, isr=(2,))
    # Topics are created before the load; the time of a run begins with the load.
    shaken.harness("topic", {"event": "created", "id": None, "config": {}}, topic="t", at=(-20, -10))
    stories["shaken"] = shaken
    stories["incomplete"] = incomplete(story())
    edges = story().fault("inject").fault("heal")  # from 1 to 9 ns, and from 11 to 19
    spans = [(0, 0), (0, 1), (0, 8), (0, 10), (8, 10), (9, 9), (9, 11), (9, 12), (12, 19), (12, 20)]
    for sequence, span in enumerate(spans):
        edges.send(ONE + sequence, sequence, at=span)
    stories["edges"] = edges
    stories["hardly-exercised"] = hardly_exercised(story())
    stories["reader-without-records"] = with_a_reader_that_gets_nothing(story())
    stories["idle-groups"] = with_idle_groups(story())
    stories["unlinked"] = without(two(story()), previous=None, within=None)
    stories["half-linked"] = without(two(story()), within=None)
    return stories


@pytest.fixture(scope="module")
def verdicts(judged: Any, story: Any) -> dict[str, Verdict]:
    verdicts: dict[str, Verdict] = judged(all_stories(story))
    return verdicts


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ("nothing-acknowledged", "No send was acknowledged (of 1)"),
        ("no-records", "holds no records"),
        ("no-final-read", "t-0 was written, but there was no final read of it"),
        ("final-read-failed", "t-0 was written, but no final read of it completed"),
        ("one-final-read-missing", "t-1 was written, but there was no final read of it"),
        ("fault-without-effect", "isolate leader (e1) did not take effect"),
        ("fault-not-healed", "isolate leader (e1) was not verified as healed"),
        ("fault-without-heal", "isolate leader (e1) has no record of its healing"),
        ("client-crashed", "producer 1 ended with status 70"),
        ("client-started", "does not say how clients ended (client 1)"),
        ("phase-faults", "was interrupted in its phase faults"),
        ("no-phases", "no record that these phases of the run began: steady, recovery, final, end"),
        ("phase-missing", "no record that these phases of the run began: recovery"),
        ("not-recovered", "The cluster had not recovered after 60 s: brokers [1] do not answer."),
        ("load-failed", "The load did not run to its end: Every client process ended early: 1 producer."),
        ("other-step-failed", "The step dig of the run failed: x."),
        ("leaderless", "t-1 was written, but its final read could not begin (it has no leader)"),
        ("fault-without-inject", "isolate leader (e1) has no record of its injection"),
        ("unlinked", "3 records lack the offset of the record before them"),
        ("half-linked", "3 records lack the offset of the record before them"),
    ],
)
def test_a_run_that_did_not_exercise_something_is_unknown(
    verdicts: dict[str, Verdict], run: str, reason: str
) -> None:
    verdict = verdicts[run]
    assert (verdict.result, verdict.findings) == ("unknown", ())
    (sentence,) = verdict.unknowns
    assert reason in sentence


def test_one_verdict_for_each_run(verdicts: dict[str, Verdict], story: Any) -> None:
    assert set(verdicts) == set(all_stories(story))
    assert verdicts["good"].result == "valid"
    runs = ("client-stopped", "client-ended", "phase-end", "recovered")
    assert {verdicts[run].result for run in runs} == {"valid"}
    for run in ("lost-and-unknown", "lost-and-leaderless"):
        assert verdicts[run].result == "invalid"
        assert verdicts[run].unknowns


def test_how_far_a_run_went_is_part_of_its_verdict(verdicts: dict[str, Verdict]) -> None:
    assert (verdicts["good"].exercised.phase, verdicts["good"].exercised.failed_steps) == (None, ())
    did = verdicts["load-failed"].exercised
    assert (did.phase, did.failed_steps) == ("end", ("load",))
    assert Verdict.from_json(verdicts["load-failed"].to_json()) == verdicts["load-failed"]


def test_what_was_exercised(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts["shaken"]
    did = verdict.exercised
    assert did.sends == {"ok": 6, "info": 1}
    assert (did.acks, did.polls) == (6, 5)
    assert (did.final_reads, did.session_reads) == ({"ok": 1}, {"info": 1})
    assert (did.leader_changes, did.isr_changes, did.smallest_isr) == (1, 2, 1)
    (fault,) = did.faults
    assert (fault.event, fault.fault, fault.target, fault.nodes) == ("e1", "isolate", "leader", (2,))
    assert (fault.effective, fault.healed) == (True, True)
    assert (fault.acks_before, fault.acks_during, fault.acks_after) == (3, 2, 1)
    assert (fault.began, fault.ended) == (pytest.approx(31e-9), pytest.approx(79e-9))


def test_when_all_replicas_were_in_sync_again(verdicts: dict[str, Verdict]) -> None:
    (fault,) = verdicts["incomplete"].exercised.faults
    assert (fault.ended, fault.whole) == (pytest.approx(18e-9), pytest.approx(32e-9))
    words = " ".join(verdicts["incomplete"].text().split())
    assert "took effect and was healed, all replicas in sync at below 1 ms; acknowledged sends" in words
    (fault,) = verdicts["shaken"].exercised.faults
    assert fault.whole is None


def test_a_reader_that_polls_all_logs_and_gets_nothing_has_not_reached_their_ends(
    verdicts: dict[str, Verdict],
) -> None:
    verdict = verdicts["reader-without-records"]
    assert (verdict.result, verdict.not_exercised) == ("valid", ("polls-to-the-end",))
    (sentence,) = unmet(verdict.exercised, ["polls-to-the-end"])
    assert sentence.endswith("process 11 got no record, and there are some in t-0.")


def test_what_was_hardly_exercised_is_listed(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts["hardly-exercised"]
    assert (verdict.result, verdict.findings) == ("valid", ())
    assert verdict.not_exercised == (
        "acks-during-faults", "acks-after-faults", "session-reads", "polls-to-the-end", "samples-of-every-broker",
    )  # fmt: skip
    sentences = [
        each.partition("): ")[2] for each in unmet(verdict.exercised, [*AppendLog().requires, "transactions"])
    ]
    assert sentences == [
        "no send was acknowledged after the end of isolate leader (e1; 1 before it, 0 during).",
        "no session read was completed, of 1.",
        "1 of 1 readers got nothing more after the last heal, or stopped long before others: process 10 got 1 "
        "records, the last at 0.0 s, and had not reached the end of t-0.",
        "no commit was acknowledged, of 0 transactions.",
    ]
    assert verdicts["good"].not_exercised == ()
    assert verdicts["shaken"].not_exercised == ("session-reads",)


def test_a_group_that_left_partitions_out_is_not_hidden_by_others(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts["idle-groups"]
    assert {each.group: (each.commits, each.silent) for each in verdict.exercised.groups} == {
        "all": (2, ()), "failing": (0, ("t-0", "t-1")), "none": (0, ("t-0", "t-1")), "old": (1, ()),
        "some": (1, ("t-0",)),
    }  # fmt: skip
    assert "group-commits" in verdict.not_exercised
    (sentence,) = unmet(verdict.exercised, {"group-commits"})
    assert sentence.partition("): ")[2] == (
        "3 of 5 groups committed no position of some partitions: failing (acknowledged commits: 0) has none of "
        "t-0, t-1; none (acknowledged commits: 0) has none of t-0, t-1; some (acknowledged commits: 1) has none of "
        "t-0."
    )
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_acknowledgements_during_injection_or_healing_are_not_counted(verdicts: dict[str, Verdict]) -> None:
    (fault,) = verdicts["edges"].exercised.faults
    assert (fault.acks_before, fault.acks_during, fault.acks_after) == (1, 2, 1)


def test_an_example_names_the_faults_active_then(verdicts: dict[str, Verdict]) -> None:
    (lost,) = verdicts["shaken"].findings
    (example,) = lost.examples
    assert (example["value"], example["faults"]) == (ONE + 5, ["isolate leader (nodes 2)"])
    assert "during isolate leader (nodes 2)" in verdicts["shaken"].text()


def test_allowed_anomalies_are_reported_but_not_judged(judged: Any, story: Any) -> None:
    twice = story().send(ONE, 0).final({0: ONE, 1: ONE}, end=2)
    verdict = judged({"twice": twice}, allow={"duplicate"})["twice"]
    assert verdict.result == "valid"
    assert [(finding.anomaly, finding.allowed) for finding in verdict.findings] == [("duplicate", True)]


def test_counts_are_exact_and_examples_the_first_in_time(judged: Any, story: Any) -> None:
    lost_writes = story()
    for sequence in reversed(range(50)):
        lost_writes.send(ONE + sequence, sequence, process=sequence, at=(sequence, sequence + 1))
    lost_writes.final({}, end=0)
    for examples in (0, 3):
        (lost,) = judged({"r": lost_writes}, examples=examples)["r"].findings
        assert (lost.count, [e["offset"] for e in lost.examples]) == (50, [0, 1, 2][:examples])


def test_runs_from_several_directories(spark: Any, write: Any, story: Any, tmp_path: Path) -> None:
    """Including a directory whose name looks like a glob pattern, and one without a history."""
    write(tmp_path / "a [1]: {x}*", {"first": good(story())})
    write(tmp_path / "b", {"second": story().send(ONE, 0).final({}, end=0)})
    (tmp_path / "empty").mkdir()
    verdicts = analyze(spark, sorted(tmp_path.iterdir()))
    assert {run: verdict.result for run, verdict in verdicts.items()} == {
        "first": "valid",
        "second": "invalid",
        "empty": "unknown",
    }


@pytest.mark.parametrize(
    "broken",
    [
        replace(DUPLICATE, where="no_such_column", suspicion=None),
        replace(DUPLICATE, where="1 / (value - value) > 0", suspicion=None),
    ],
    ids=["when planned", "when run"],
)
def test_a_check_that_crashes_does_not_affect_the_others(judged: Any, story: Any, broken: Check) -> None:
    checks = [broken, *(check for check in CHECKS if check.name != "duplicate")]
    stories = {"good": good(story()), "lost": story().send(ONE, 0).final({}, end=0)}
    verdicts = judged(stories, checks=checks)
    assert {run: verdict.result for run, verdict in verdicts.items()} == {
        "good": "unknown",
        "lost": "invalid",
    }
    assert [finding.anomaly for finding in verdicts["lost"].findings] == ["lost-write"]
    (sentence,) = verdicts["good"].unknowns
    assert "The check duplicate crashed: " in sentence


def test_bad_input_is_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no anomaly named lost-wriet; there are lost-write, "):
        analyze(spark, [tmp_path], allow=["lost-wriet"])
    with pytest.raises(ValueError, match="expected a collection"):
        analyze(spark, [tmp_path], allow="duplicate")
    with pytest.raises(ValueError, match="expected 0 or more, got -1"):
        analyze(spark, [tmp_path], examples=-1)
    with pytest.raises(ValueError, match="at least one run directory"):
        analyze(spark, [])
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        analyze(spark, [tmp_path / "nowhere"])


def test_a_malformed_fault_event_is_named(judged: Any, story: Any) -> None:
    malformed = good(story()).fault("inject")
    malformed.operations[-1]["value"] = "{}"
    with pytest.raises(ValueError, match=r"of the nemesis \(isolate\).*schema"):
        judged({"r": malformed})


def test_nothing_is_left_in_the_working_directory(
    spark: Any, judged: Any, story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    warm_up(spark)
    judged({"good": good(story())})
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
