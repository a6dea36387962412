"""Causes are derived from samples, findings, faults and settings. Needs no JVM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from analyzers.causes.derive import cause_of, derive
from analyzers.causes.evidence import Assignment, Change, Extent, LogEvidence, RunEvidence
from analyzers.causes.explainer import (
    ABOVE_HIGH_WATERMARK,
    ELIGIBLE_REPLICA,
    LAST_REPLICA,
    PAUSED_MEMBER,
    UNCLEAN_ELECTION,
    Explanation,
)
from analyzers.causes.explainers.group_handover import HELD
from analyzers.causes.explainers.truncation import ELECTS
from analyzers.causes.registry import KINDS
from analyzers.causes.words import FAULT_WORDS, MOMENTARY, WITH_OPTIONS, fault_steps
from analyzers.history.fault_events import RECREATE, FaultEvent
from analyzers.verdict.finding import NOT_DETERMINED, Cause
from analyzers.verdict.verdict import Verdict, judge
from nemesis.registry import FAULTS
from tests.support.cause_evidence import ISOLATED, LOG, S, changes, extent, fault, sample


def causes(
    extents: Sequence[Extent], samples: dict[str, list[Change]] | None = None, *events: FaultEvent
) -> tuple[Cause, ...]:
    clients = {3: "member 0"}
    return derive(
        RunEvidence(
            began=0,
            extents=extents,
            changes=samples or {},
            events=events,
            clients=clients,
            assignments=[Assignment(time=0, process=3, log=LOG, group="g", generation=1, start=0)],
        )
    )


def test_a_cut_that_the_findings_confirm_explains_all_that_it_shows_as() -> None:
    found = [
        extent("lost-write"),
        extent("offset-reuse"),
        extent("realtime-order"),
        extent("duplicate", low=1, high=1),
    ]
    cut, twice = causes(found, ISOLATED, fault("isolate", 4, 8, nodes=(1,)))
    assert (cut.name, cut.logs, cut.faults) == ("acks other than all", (LOG,), ("isolate-0",))
    assert cut.findings == {"lost-write": 10, "offset-reuse": 10, "realtime-order": 10}
    assert cut.circumstances == (ABOVE_HIGH_WATERMARK,)
    (largest,) = cut.cuts
    assert (largest.node, largest.log_end, largest.offset, largest.epoch, largest.time) == (1, 20, 10, 0, 9.0)
    assert cut.election is not None
    assert (cut.election.leader, cut.election.epoch, cut.election.time) == (2, 1, 6.0)
    assert [step.text for step in cut.steps] == [
        "broker 1 (leader of t-0, epoch 0) is cut off from the other brokers, not from clients",
        "the first of 10 acknowledged writes that will be lost, offsets 10 to 19; the last at 7.0 s",
        "broker 2 leads t-0, epoch 1, ISR {1, 2}; its log ends at 10",
        "the network between broker 1 and the other brokers is restored",
        "broker 1 follows broker 2 and has truncated its log from 20 to 10",
    ]
    assert (twice.kind, twice.findings) == ("duplicate delivery", {"duplicate": 10})


def test_a_cut_that_no_sample_caught_is_placed_by_the_findings() -> None:
    """Broker 1 had fetched more than it had cut off before it was asked again."""
    late = changes(
        sample(1, 1, 1, 0, 5), sample(6, 2, 2, 1, 10), sample(8, 1, 1, 0, 20), sample(12, 1, 2, 1, 90)
    )
    (cause,) = causes([extent("lost-write")], late)
    assert (cause.cuts[0].log_end, cause.cuts[0].offset) == (20, 10)
    (cause,) = causes([extent("poll-skip")], late)
    assert cause.kind == NOT_DETERMINED, "no finding shows that the log was cut where a reader skipped"


def test_a_leader_that_steps_down_keeps_its_log_if_its_successor_has_it() -> None:
    """Writes that are lost for another reason are not said to be cut off there."""
    handed_over = changes(sample(1, 1, 1, 0, 40, mark=40), sample(6, 2, 2, 1, 41), sample(8, 1, 2, 1, 42))
    (cause,) = causes([extent("lost-write")], handed_over)
    assert cause.kind == NOT_DETERMINED
    elected_again = changes(sample(1, 1, 1, 0, 40), sample(6, 1, 1, 1, 42))
    (cause,) = causes([extent("lost-write")], elected_again)
    assert cause.kind == NOT_DETERMINED


def test_a_truncation_also_shows_as_lost_reads_and_overtaken_writes() -> None:
    found = [extent("lost-write"), extent("lost-read"), extent("overtaken-write")]
    (cause,) = causes(found, ISOLATED)
    assert (cause.name, cause.findings) == (
        "acks other than all",
        {"lost-write": 10, "lost-read": 10, "overtaken-write": 10},
    )
    assert "the first of 10 acknowledged writes that will be lost" in " ".join(map(str, cause.steps))


def test_reads_that_are_lost_confirm_a_truncation() -> None:
    """The sends were never answered, or failed for their sender."""
    (cause,) = causes([extent("lost-read", high=23)], ISOLATED)
    assert (cause.kind, cause.cuts[0].offset, cause.cuts[0].log_end) == ("truncation", 10, 24)
    assert cause.circumstances == ()
    assert cause.steps[0].text == (
        "the first of 10 values that readers get and the log loses, between offsets 10 and 23; the last at 7.0 s"
    )
    (elsewhere,) = causes([extent("lost-read", low=1, high=9)], ISOLATED)
    assert elsewhere.kind == NOT_DETERMINED
    (unconfirmed,) = causes([extent("overtaken-write")], ISOLATED)
    assert unconfirmed.kind == NOT_DETERMINED, "writes are overtaken in whole logs, too"


def test_a_follower_that_lost_its_disk_explains_no_loss() -> None:
    wiped = changes(sample(1, 2, 1, 0, 40), sample(6, 2, 1, 0, 0))
    (cause,) = causes([extent("lost-write")], wiped, fault("wipe", 4, 8, nodes=(2,)))
    assert (cause.kind, cause.faults) == (NOT_DETERMINED, ("wipe-0",))


def test_a_cut_after_the_broker_had_begun_to_follow_is_that_of_a_leader() -> None:
    slow = changes(
        sample(1, 1, 1, 0, 20), sample(6, 2, 2, 1, 10), sample(8, 1, 2, 1, 20), sample(9, 1, 2, 1, 10)
    )
    (cause,) = causes([extent("lost-write")], slow)
    (cut,) = cause.cuts
    assert (cut.node, cut.log_end, cut.offset, cut.epoch, cut.time) == (1, 20, 10, 0, 9.0)


@pytest.mark.parametrize(
    "found", [extent("lost-write", low=30, high=39), extent("lost-write", low=1, high=9)]
)
def test_a_cut_elsewhere_explains_nothing(found: Extent) -> None:
    (cause,) = causes([found], ISOLATED)
    assert cause.kind == NOT_DETERMINED


def test_a_log_of_a_new_topic_was_not_cut() -> None:
    (cause,) = causes([extent("lost-write")], ISOLATED, fault("recreate-topic", 8, 10))
    assert cause.kind == NOT_DETERMINED


def test_an_election_outside_the_isr_is_unclean() -> None:
    killed = changes(
        sample(1, 1, 1, 0, 20, isr=(1,), mark=20), sample(2, 2, 1, 0, 10, isr=(1,)), sample(3, 2, 2, 1, 10, isr=(2,)),
        sample(9, 1, 2, 1, 10, isr=(2,)),
    )  # fmt: skip
    (cause,) = causes([extent("lost-write")], killed)
    assert cause.circumstances == (UNCLEAN_ELECTION, LAST_REPLICA)
    assert (
        "broker 2 leads t-0, epoch 1, ISR {2} (unclean: it was not in the ISR before); its log ends at 10"
        in [step.text for step in cause.steps]
    )


SAFE = {"unclean.leader.election.enable": "false", "min.insync.replicas": "2"}

KILLED = changes(
    sample(1, 1, 1, 0, 20, isr=(1,), mark=20), sample(2, 2, 1, 0, 10, isr=(1,)), sample(3, 2, 2, 1, 10, isr=(2,)),
    sample(9, 1, 2, 1, 10, isr=(2,)),
)  # fmt: skip
"""Broker 1 is alone in the ISR until broker 2 is elected."""


@pytest.mark.parametrize(
    ("settings", "events", "circumstance"),
    [
        (SAFE, [], ELIGIBLE_REPLICA),
        ({"unclean.leader.election.enable": "false", "min.insync.replicas": "1"}, [], UNCLEAN_ELECTION),
        ({"unclean.leader.election.enable": "true", "min.insync.replicas": "2"}, [], UNCLEAN_ELECTION),
        ({}, [], UNCLEAN_ELECTION),
        ({"unclean.leader.election.enable": "false"}, [], UNCLEAN_ELECTION),
        (SAFE, [fault("kill", 2, 4)], ELIGIBLE_REPLICA),
        (SAFE, [fault("elect", 10, 12)], ELIGIBLE_REPLICA),
        (
            SAFE,
            [fault("elect", 2, 4)],
            UNCLEAN_ELECTION,
        ),
        (SAFE, [fault("elect", 2, 2)], UNCLEAN_ELECTION),  # The next sample comes later.
        (SAFE, [fault("elect", 1, 1)], ELIGIBLE_REPLICA),  # Broker 2 still knew no new leader after it.
    ],
)
def test_below_the_minimum_a_replica_outside_the_isr_is_elected_cleanly(
    settings: dict[str, str], events: list[FaultEvent], circumstance: str
) -> None:
    (cause,) = derive(
        RunEvidence(began=0, extents=[extent("lost-write")], changes=KILLED, events=events, settings=settings)
    )
    assert cause.circumstances[0] == circumstance
    told = any("may lead while the ISR is below min.insync.replicas=2" in step.text for step in cause.steps)
    assert told == (circumstance == ELIGIBLE_REPLICA)


def test_an_election_by_hand_counts_from_the_first_sample_that_shows_it() -> None:
    late = changes(
        sample(1, 1, 1, 0, 20, isr=(1,), mark=20), sample(2, 2, 1, 0, 10, isr=(1,)), sample(3, 3, 2, 1, 10, isr=(2,)),
        sample(6, 2, 2, 1, 10, isr=(2,)), sample(9, 1, 2, 1, 10, isr=(2,)),
    )  # fmt: skip
    for events, expected in (
        ([fault("elect", 2, 4)], UNCLEAN_ELECTION),
        ([fault("elect", 5, 7)], ELIGIBLE_REPLICA),
    ):
        (cause,) = derive(
            RunEvidence(began=0, extents=[extent("lost-write")], changes=late, events=events, settings=SAFE)
        )
        assert cause.circumstances[0] == expected


def groups(of: str, plane: str | None = None) -> FaultEvent:
    event = fault("partition", 1, 2, nodes=(1, 2, 3))
    assert event.inject is not None
    options = {} if plane is None else {"plane": plane}
    return replace(event, inject=replace(event.inject, target=of, options=options))


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            groups("[[1], [2, 3]]"),
            "broker 1 (leader of t-0, epoch 0) and brokers 2 and 3 cannot reach each other; clients reach all "
            "of them",
        ),
        (
            groups("[[2], [3]]", "replication"),
            "broker 2 and broker 3 cannot replicate from each other; clients reach all of them",
        ),
        (
            replace(groups("[[2], [3]]"), fault="pause"),
            "brokers 1 (leader of t-0, epoch 0), 2 and 3 are frozen",
        ),
        (
            groups("leader", "replication"),
            "brokers 1 (leader of t-0, epoch 0), 2 and 3 are cut off from replication with the other brokers, "
            "not from clients",
        ),
    ],
)
def test_a_partition_says_who_cannot_reach_whom(event: FaultEvent, text: str) -> None:
    run = RunEvidence(began=0, extents=[], changes=ISOLATED, events=[])
    log = LogEvidence(log=LOG, extents=[], changes=ISOLATED[LOG])
    assert next(fault_steps([event], run, log)).text == text


def test_a_log_that_lost_more_than_its_last_sample_shows_had_reached_further() -> None:
    (cause,) = causes([extent("lost-write", high=23), extent("offset-reuse", high=30)], ISOLATED)
    assert cause.cuts[0].log_end == 24


def test_a_replica_that_was_alone_and_lost_its_disk() -> None:
    wiped = changes(
        sample(1, 1, 1, 0, 8), sample(2, 1, 1, 0, 20, isr=(1,), mark=20), sample(2, 2, 1, 0, 10, isr=(1,)),
        sample(9, 1, 1, 1, 0, isr=(1,), mark=0),
    )  # fmt: skip
    (cause,) = causes([extent("lost-write", low=0)], wiped, fault("wipe", 4, 8, nodes=(1,)))
    assert cause.circumstances == (LAST_REPLICA,)
    texts = [step.text for step in cause.steps]
    assert "ISR {1}: broker 1 is the only one left" in texts
    assert "broker 1 (leader of t-0, epoch 0) loses its disk" in texts
    assert "broker 1 has lost the end of its log: from 20 to 0" in texts


def test_a_deposed_leader_explains_stale_reads_of_its_time() -> None:
    found = [extent("read-your-writes", first=7, last=7)]
    (cause,) = causes(found, ISOLATED)
    assert (cause.kind, cause.findings) == ("two leaders", {"read-your-writes": 10})
    assert cause.steps[-1].text == "broker 1 still regarded itself as leader of epoch 0 until here"
    (late,) = causes([extent("read-your-writes", first=20, last=21)], ISOLATED)
    assert late.kind == NOT_DETERMINED


def test_a_paused_member_explains_what_its_group_shows_meanwhile() -> None:
    found = [extent("double-ownership", low=None, high=None)]
    (cause,) = causes(found, None, fault("pause-client", 4, 8, processes=(3,)))
    assert (cause.name, cause.circumstances) == ("work after the partition was lost", (PAUSED_MEMBER,))
    assert cause.steps[0].text == "member 0 is frozen"
    (other,) = causes(found, None, fault("pause", 4, 8, nodes=(3,)))
    assert (other.kind, other.faults) == (NOT_DETERMINED, ("pause-0",))


def test_every_finding_is_under_exactly_one_cause() -> None:
    found = [
        extent(name)
        for name in ("lost-write", "duplicate", "torn-transaction", "foreign-record", "group-skip")
    ]
    counted = [name for cause in causes(found, ISOLATED) for name in cause.findings]
    assert sorted(counted) == sorted(each.anomaly for each in found)
    assert causes([]) == ()


def test_causes_with_the_most_findings_come_first() -> None:
    twice = replace(extent("duplicate", low=1, high=1), count=15)
    assert [cause.findings for cause in causes([twice, extent("lost-write"), extent("offset-reuse")], ISOLATED)] == [
        {"lost-write": 10, "offset-reuse": 10}, {"duplicate": 15},
    ]  # fmt: skip


def test_a_cause_is_that_of_its_largest_event_and_names_the_others() -> None:
    def event(topic: str, count: int, *firsts: int | None) -> Explanation:
        lost = replace(extent("lost-write"), topic=topic, count=count)
        extents = [replace(lost, first=None if each is None else each * S) for each in firsts]
        return Explanation(
            kind=KINDS["acks=1"], extents=extents, settings={"acks": "1"} if topic == "a" else None
        )

    run = RunEvidence(began=0, extents=[], changes={}, events=[], settings={"acks": "all"})
    events = [
        event("a", 9, 5),
        event("b", 2, 7, None, 6),
        event("c", 1, None),
        event("d", 1, 8),
        event("e", 1, 9),
    ]
    cause, kind = cause_of(events, run), KINDS["acks=1"]
    assert (cause.why, cause.change, cause.source) == (kind.why, kind.change, kind.source)
    assert (cause.settings, cause.unrecorded) == ({"acks": "1"}, kind.settings[1:])
    told = [
        (6.0, "the same happens in b-0: lost-write 6"), (8.0, "the same happens in d-0: lost-write 1"),
        (None, "the same happens in c-0: lost-write 1"), (None, "... and 1 more time"),
    ]  # fmt: skip
    assert [(step.time, step.text) for step in cause.steps] == told
    assert [step.text for step in cause_of(events[:4], run).steps] == [text for _, text in told[:3]]
    assert cause_of(events[1:], run).settings == {"acks": "all"}


def test_causes_survive_json_and_older_verdicts_have_none() -> None:
    verdict = judge("r", causes=causes([extent("lost-write")], ISOLATED), settings={"acks": "1"})
    assert Verdict.from_json(verdict.to_json()) == verdict
    older = json.loads(judge("r").to_json())
    for name in ("causes", "settings", "clients", "began"):
        del older[name]
    assert Verdict.from_json(json.dumps(older)) == judge("r")


def test_every_fault_that_causes_name_is_one() -> None:
    """Histories have the names of schedules, such as pause-client."""
    named = {*FAULT_WORDS, *(fault for fault, *_ in WITH_OPTIONS), *HELD, *MOMENTARY, RECREATE, ELECTS}
    assert named <= FAULTS.keys()
    assert {name for name, fault in FAULTS.items() if fault.momentary} == MOMENTARY
    for name, option, value in WITH_OPTIONS:
        assert FAULTS[name](**{option: value}).options() == {option: value}
