"""Whole verdicts: what a run exercised, and what it hardly did."""

from __future__ import annotations

import pytest

from analyzers.verdict.promises import unmet
from analyzers.verdict.verdict import Verdict
from tests.support.stories.whole_runs import ONE
from workloads.append_log import AppendLog

pytestmark = pytest.mark.spark


def test_what_was_exercised(whole_runs: dict[str, Verdict]) -> None:
    verdict = whole_runs["shaken"]
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


def test_when_all_replicas_were_in_sync_again(whole_runs: dict[str, Verdict]) -> None:
    (fault,) = whole_runs["incomplete"].exercised.faults
    assert (fault.ended, fault.whole) == (pytest.approx(18e-9), pytest.approx(32e-9))
    words = " ".join(whole_runs["incomplete"].text().split())
    assert "took effect and was healed, all replicas in sync at below 1 ms; acknowledged sends" in words
    (fault,) = whole_runs["shaken"].exercised.faults
    assert fault.whole is None


def test_a_reader_that_polls_all_logs_and_gets_nothing_has_not_reached_their_ends(
    whole_runs: dict[str, Verdict],
) -> None:
    verdict = whole_runs["reader-without-records"]
    assert (verdict.result, verdict.not_exercised) == ("valid", ("polls-to-the-end",))
    (sentence,) = unmet(verdict.exercised, ["polls-to-the-end"])
    assert sentence.endswith("process 11 got no record, and there are some in t-0.")


def test_what_was_hardly_exercised_is_listed(whole_runs: dict[str, Verdict]) -> None:
    verdict = whole_runs["hardly-exercised"]
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
    assert whole_runs["good"].not_exercised == ()
    assert whole_runs["shaken"].not_exercised == ("session-reads",)


def test_a_group_that_left_partitions_out_is_not_hidden_by_others(whole_runs: dict[str, Verdict]) -> None:
    verdict = whole_runs["idle-groups"]
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


def test_acknowledgements_during_injection_or_healing_are_not_counted(whole_runs: dict[str, Verdict]) -> None:
    (fault,) = whole_runs["edges"].exercised.faults
    assert (fault.acks_before, fault.acks_during, fault.acks_after) == (1, 2, 1)


def test_an_example_names_the_faults_active_then(whole_runs: dict[str, Verdict]) -> None:
    (lost,) = whole_runs["shaken"].findings
    (example,) = lost.examples
    assert (example["value"], example["faults"]) == (ONE + 5, ["isolate leader (nodes 2)"])
    assert "during isolate leader (nodes 2)" in whole_runs["shaken"].text()
