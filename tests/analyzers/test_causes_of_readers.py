"""Causes of what sessions and groups show: reads from followers, and members that others replaced. Needs no JVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from analyzers.causes.derive import derive
from analyzers.causes.evidence import Assignment, Change, Extent, RunEvidence, Source
from analyzers.causes.explainer import PAUSED_MEMBER
from analyzers.causes.explainers.group_handover import group_handover
from analyzers.verdict.finding import NOT_DETERMINED, Cause
from tests.support.cause_evidence import LOG, S, cause_in, changes, extent, fault, sample

HEALTHY = changes(
    sample(1, 1, 1, 0, 5, isr=(1, 3)), sample(1, 2, 1, 0, 5, isr=(1, 2, 3)), sample(1, 3, 1, 0, 5, isr=(1, 2, 3)),
    sample(2, 1, 1, 0, 5, isr=(1,)), sample(3, 1, 1, 0, 5, isr=(1, 2, 3)), sample(3, 3, 1, 0, 9, isr=(1, 3)),
    sample(4, 1, 1, 0, 5, isr=(1, 2)),
    sample(7, 1, 1, 0, 9, isr=(1, 3)), sample(8, 1, 1, 0, 9, isr=(1, 2, 3)), sample(9, 1, 1, 0, 9, isr=(1, 3)),
)  # fmt: skip
"""Broker 1 leads all the time, and drops broker 2 from the ISR at 7 and at 9 s."""

MISSED = [extent("read-your-writes", first=5, last=7), extent("monotonic-reads", first=6, last=6)]


def of_reads(found: Sequence[Extent], *sources: Source) -> tuple[Cause, ...]:
    partition = fault("partition", 3, 9, nodes=(2,))
    evidence = RunEvidence(
        began=0, extents=found, changes=HEALTHY, events=[partition], sources={LOG: sources}
    )
    return derive(evidence)


def kinds(*found: Extent, by: dict[str, list[Change]], source_at: int = 2) -> list[str]:
    evidence = RunEvidence(
        began=0, extents=found, changes=by, events=[], sources={LOG: [source(source_at, 2)]}
    )
    return [cause.kind for cause in derive(evidence)]


def source(at: int, node: int) -> Source:
    return Source(time=at * S, process=3, node=node)


def test_a_follower_that_served_the_session_explains_what_it_missed() -> None:
    (cause,) = of_reads(MISSED, source(1, 1), source(2, 2))
    assert (cause.kind, cause.findings) == ("follower reads", {"read-your-writes": 10, "monotonic-reads": 10})
    assert (cause.logs, cause.faults) == ((LOG,), ("partition-0",))
    assert [step.text for step in cause.steps] == [
        "broker 2 is cut off from the other brokers, not from clients",
        "a session reads from broker 2 and misses an acknowledged write, while broker 1 leads t-0",
        "ISR {1, 3}: writes are acknowledged without broker 2",
        "the last of these reads",
        "the network between broker 2 and the other brokers is restored",
    ]


@pytest.mark.parametrize("sources", [[], [source(2, 1)], [source(2, 2), source(3, 1)], [source(6, 2)]])
def test_a_session_that_read_from_the_leader_has_no_such_cause(sources: list[Source]) -> None:
    (cause,) = of_reads(MISSED, *sources)
    assert cause.kind == NOT_DETERMINED


def test_the_source_and_the_leader_have_to_be_known_when_the_first_read_misses_a_write() -> None:
    assert kinds(MISSED[0], by=HEALTHY, source_at=5) == ["follower reads"]
    assert kinds(MISSED[0], by={}) == [NOT_DETERMINED]
    assert kinds(replace(MISSED[0], first=None, last=None), by=HEALTHY) == [NOT_DETERMINED]
    assert kinds(MISSED[0], replace(MISSED[1], first=None, last=None), by=HEALTHY) == ["follower reads"]


def test_a_single_read_has_no_last_one() -> None:
    (cause,) = of_reads([replace(MISSED[0], last=None)], source(2, 2))
    assert not [step.text for step in cause.steps if "last" in step.text or "ISR" in step.text]


def test_two_faults_during_the_reads_are_told() -> None:
    events = [fault(name, 3, 9, nodes=(2,)) for name in ("partition", "pause", "isolate")]
    evidence = RunEvidence(
        began=0, extents=MISSED, changes=HEALTHY, events=events, sources={LOG: [source(2, 2)]}
    )
    (cause,) = derive(evidence)
    assert len(cause.faults) == 3
    assert (
        len(
            [
                step
                for step in cause.steps
                if "again" in step.text or "continues" in step.text or "restored" in step.text
            ]
        )
        == 2
    )


def test_reads_from_a_follower_explain_no_loss() -> None:
    kinds = [cause.kind for cause in of_reads([extent("lost-write"), *MISSED], source(2, 2))]
    assert sorted(kinds) == ["follower reads", NOT_DETERMINED]


def of_groups(first: int, *, by: tuple[int, ...] = (), anomaly: str = "unfenced-commit") -> Cause:
    """The cause of a commit at a time (s), by these processes. Process 3 was paused from 4 to 8 s."""
    found = Extent(
        anomaly=anomaly,
        topic="t",
        partition=0,
        count=1,
        first=first * S,
        last=first * S,
        processes=by,
    )
    taken = [
        Assignment(time=at * S, process=process, log=LOG, group="g", generation=number, start=5)
        for at, process, number in ((1, 4, 1), (5, 3, 1), (6, 4, 2), (9, 4, 3))
    ]
    paused = fault("pause-client", 4, 8, processes=(3,))
    (cause,) = derive(
        RunEvidence(
            began=0, extents=[found], changes={}, events=[paused], assignments=taken,
            clients={3: "member 0", 4: "member 1"},
        )
    )  # fmt: skip
    return cause


def test_a_member_that_acts_after_it_was_held_explains_its_commit() -> None:
    cause = of_groups(9, by=(3,))
    assert (cause.name, cause.faults) == ("commits without the membership", ("pause-client-0",))
    assert [step.text for step in cause.steps] == [
        "member 0 is frozen",
        "member 1 is assigned t-0 in generation 2, starting at offset 5",
        "member 0 continues",
        "member 0 commits although its group has replaced it, and the commit is accepted",
    ]


def test_what_an_assignment_did_not_record_is_left_out() -> None:
    """A client without groups' generations, or that starts without a commit."""
    found = [replace(extent("group-skip", low=None), topic="t")]
    bare = Assignment(time=5 * S, process=9, log=LOG, group="g", generation=None, start=None)
    evidence = RunEvidence(
        began=0,
        extents=found,
        changes={},
        events=[fault("pause-client", 4, 8, processes=(3,))],
        assignments=[replace(bare, time=S, process=3), bare],
    )
    of_run = cause_in(group_handover, found, evidence)
    assert of_run is not None
    assert "process 9 is assigned t-0" in [step.text for step in of_run.steps]


def test_a_story_of_a_group_names_two_faults_and_counts_all() -> None:
    found = [replace(extent(name, low=None), topic=topic) for name, topic in (
        ("group-skip", "c"), ("group-skip", "b"), ("unfenced-commit", "a"), ("unfenced-commit", "d"),
    )]  # fmt: skip
    names = ("pause-client", "isolate-client", "pause-client")
    held = [fault(name, 4, 8, processes=(number,)) for number, name in enumerate(names)]
    members = [
        Assignment(time=1, process=process, log=f"{topic}-0", group="g", generation=1, start=0)
        for process, topic in enumerate("abcd")
    ]
    taken = [
        Assignment(time=5 * S, process=process, log=LOG, group=group, generation=2, start=0)
        for process, group in ((9, "g"), (10, "other"))
    ]
    of_run = cause_in(
        group_handover,
        found,
        RunEvidence(began=0, extents=found, changes={}, events=held, assignments=[*members, *taken]),
    )
    assert of_run is not None
    cause = of_run
    assert (cause.logs, cause.findings) == (
        ("a-0", "b-0", "c-0", "d-0"),
        {"group-skip": 20, "unfenced-commit": 20},
    )
    assert cause.faults == ("pause-client-0", "isolate-client-0")
    texts = [step.text for step in cause.steps]
    assert len([text for text in texts if "again" in text or "continues" in text or "restored" in text]) == 2
    assert len([text for text in texts if "is assigned" in text]) == 2
    assert sorted(text for text in texts if text.startswith("the first")) == [
        "the first group-skip", "the first group-skip", "the first unfenced-commit", "the first unfenced-commit"
    ]  # fmt: skip


def test_the_first_finding_of_a_group_names_one_member() -> None:
    assert "member 0 commits although its group has replaced it, and the commit is accepted" in [
        step.text for step in of_groups(6, by=(3, 4)).steps
    ]
    assert "the first group-skip, by member 0" in [
        step.text for step in of_groups(6, by=(3, 4), anomaly="group-skip").steps
    ]


def test_a_member_that_was_held_between_its_copies_and_its_positions_explains_second_copies() -> None:
    """The group went on from the earlier positions, and another member made the second copy later."""
    cause = of_groups(9, by=(3, 4), anomaly="duplicate-copy")
    assert (cause.name, cause.circumstances) == ("work after the partition was lost", (PAUSED_MEMBER,))
    assert cause.steps[-1].text == "the first duplicate-copy, sent by member 0 and member 1"
    unnamed = of_groups(6, anomaly="duplicate-copy").steps
    assert "the first duplicate-copy" in [step.text for step in unnamed]
    assert of_groups(9, by=(4,), anomaly="duplicate-copy").kind == NOT_DETERMINED
    assert of_groups(9, by=(3,), anomaly="lost-copy").name == "commits before copies"


def test_a_held_member_explains_nothing_that_others_do_later_or_anyone_did_before() -> None:
    assert of_groups(9, by=(4,)).kind == NOT_DETERMINED
    assert of_groups(2, by=(3,)).kind == NOT_DETERMINED
    assert of_groups(6).name == "commits without the membership"
