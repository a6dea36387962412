"""Causes by log, two leaders, and their words, at the limits of each rule. Needs no JVM."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzers.causes.derive import derive
from analyzers.causes.words import election_text, fault_steps, leader_before
from analyzers.verdict.finding import Election
from tests.support.cause_evidence import (
    ISOLATED,
    LOG,
    LOST,
    S,
    changes,
    evidence,
    extent,
    fault,
    sample,
    stale,
    texts,
)


def test_what_one_setting_prevents_is_one_cause_in_whichever_logs_it_happened() -> None:
    logs = "abcdefgh"
    lost = [replace(LOST, topic=topic, count=20 if topic == "c" else 10) for topic in logs]
    lost[3:5] = [replace(lost[3], count=9), replace(lost[3], anomaly="offset-reuse", count=9), lost[4]]
    uncut = replace(LOST, topic="u")
    of = {f"{topic}-0": ISOLATED[LOG] for topic in logs}
    found = derive(evidence(*lost, uncut, replace(uncut, topic=None), of=of))
    cause, rest = found
    assert cause.logs == tuple(f"{topic}-0" for topic in logs)
    assert cause.findings == {"lost-write": 89, "offset-reuse": 9}
    assert [len(cause.cuts_of(log)) for log in cause.logs] == [1] * 8
    assert texts(cause)[0] == (
        "the first of 20 acknowledged writes that will be lost, between offsets 10 and 19; the last at 7.0 s"
    ), "the steps are those of the log with the most findings"
    assert [text for text in texts(cause) if "same" in text] == [
        "the same happens in d-0: lost-write 9, offset-reuse 9",
        "the same happens in a-0: lost-write 10",
        "the same happens in b-0: lost-write 10",
    ]
    assert texts(cause)[-1] == "... and 4 more times"
    assert rest.findings == {"lost-write": 20}


def test_an_extent_belongs_to_a_log_if_topic_and_partition_are_known() -> None:
    assert LOST.log == LOG
    assert replace(LOST, topic=None).log is None
    assert replace(LOST, partition=None).log is None


def test_faults_count_if_they_may_have_been_active_meanwhile() -> None:
    events = [fault("a", 1, 4), fault("b", 5, 6), fault("c", 9, 12), fault("d", 10, 12),
              replace(fault("e", 1, 2), event="e", heal=None),
              replace(fault("f", 6, 7), event="f", inject=None)]  # fmt: skip
    run = evidence(events=events)
    assert [event.event for event in run.active(4 * S, 9 * S)] == ["a-0", "b-0", "c-0", "e"]
    assert [event.event for event in run.active(5 * S, None)] == ["b-0", "e"]
    assert run.active(None, 9 * S) == []


def test_all_anomalies_that_a_deposed_leader_can_show_as_are_under_it() -> None:
    names = {"read-your-writes", "monotonic-reads", "writes-follow-reads", "realtime-order", "read-above-lso"}
    found = [extent(name, first=7) for name in sorted(names)]
    cause = stale(*found, extent("duplicate", first=7), replace(found[0], first=None), of=ISOLATED,
                  events=[fault("isolate", 4, 7, nodes=(1,)), fault("kill", 9, 10)])  # fmt: skip
    assert cause is not None
    assert (cause.logs, cause.findings.keys(), cause.faults) == ((LOG,), names, ("isolate-0",))
    assert cause.election == Election(leader=2, epoch=1, time=6.0, isr=(1, 2))
    assert texts(cause) == [
        "broker 1 is cut off from the other brokers, not from clients", "broker 2 leads t-0, epoch 1, ISR {1, 2}",
        "the network between broker 1 and the other brokers is restored",
        "broker 1 still regarded itself as leader of epoch 0 until here",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "last", "explained"),
    [
        (1, 6, True),
        (1, 5, False),
        (8, 9, True),
        (9, 9, False),
        (1, 20, True),
        (7, None, True),
        (5, None, False),
    ],
)
def test_findings_count_if_they_touch_the_time_of_two_leaders(
    first: int, last: int | None, explained: bool
) -> None:
    found = replace(extent("monotonic-reads", first=first), last=last and last * S)
    assert (stale(found, of=ISOLATED) is not None) is explained


def test_a_later_time_of_two_leaders_may_explain_what_the_first_does_not() -> None:
    again = changes(
        *(each.after for each in ISOLATED[LOG]), sample(16, 1, 1, 2, 40), sample(17, 3, 3, 3, 41),
        sample(18, 2, 2, 1, 30),
        sample(19, 2, 3, 3, 41), sample(20, 3, 3, 4, 41),
    )  # fmt: skip
    cause = stale(extent("monotonic-reads", first=17, last=17), of=again)
    assert cause is not None
    assert texts(cause)[-1] == "broker 2 still regarded itself as leader of epoch 1 until here"
    assert cause.election is not None
    assert (cause.election.leader, cause.election.epoch) == (1, 2), "the first that succeeded it"


def test_two_leaders_need_one_that_led_before_and_one_that_was_elected_later() -> None:
    found = extent("monotonic-reads", first=5, last=8)
    first, old, new, after = (ISOLATED[LOG][0].after, *(each.after for each in ISOLATED[LOG][2:]))
    new, old = sorted((old, new), key=lambda one: one.time)
    assert stale(found, of=changes(first, new, old, after)) is not None
    assert stale(found, of=changes(first, new, replace(old, leader=2), after)) is None
    assert stale(found, of=changes(first, replace(new, leader=3), old, after)) is None
    assert stale(found, of=changes(first, replace(new, epoch=0), old, after)) is None
    assert stale(found, of=changes(first, replace(new, time=8 * S), old, after)) is None
    assert stale(found, of=changes(first, new, old, replace(after, epoch=0))) is None
    assert stale(found, of=changes(new, after)) is None
    assert stale(replace(found, first=None), of=changes(first, new, old, after)) is None


def test_more_than_two_faults_are_not_told() -> None:
    events = [fault(name, 7, 8, nodes=(1,)) for name in ("kill", "stop", "pause")]
    cause = stale(extent("monotonic-reads", first=7), of=ISOLATED, events=events)
    assert cause is not None
    assert len(cause.faults) == 3
    assert (
        len([text for text in texts(cause) if "again" in text or "continues" in text or "restored" in text])
        == 2
    )


def test_words_for_faults_and_elections() -> None:
    isolate = fault("isolate", 1, 2, nodes=(1, 2))
    assert isolate.heal is not None
    heal = replace(isolate.heal, completed=3 * S)
    began, healed = fault_steps([replace(isolate, heal=heal)], evidence())
    assert (began.text, began.time) == (
        "brokers 1 and 2 are cut off from the other brokers, not from clients", 1.0
    )  # fmt: skip
    assert (healed.text, healed.time) == (
        "the network between brokers 1 and 2 and the other brokers is restored", 2.0
    )  # fmt: skip
    began, unproved = fault_steps([replace(isolate, heal=replace(heal, effective=False))], evidence())
    assert (unproved.text, unproved.time) == ("the fault isolate is not known to be healed", 3.0)
    (text,) = (step.text for step in fault_steps([replace(fault("kill", 1, 2), heal=None)], evidence()))
    assert text.startswith("fault kill")
    strange = fault("clock_skew", 1, 2, nodes=(1,))
    assert next(fault_steps([strange], evidence())).text.startswith("fault clock_skew")
    elected = Election(leader=1, epoch=2, time=None, isr=())
    assert election_text(elected, LOG) == "broker 1 leads t-0, epoch 2"
    assert election_text(replace(elected, isr=(3, 1)), LOG) == "broker 1 leads t-0, epoch 2, ISR {1, 3}"


def test_the_leader_at_a_time_is_that_of_the_last_epoch_known() -> None:
    of = changes(sample(1, 1, 0, 0, 5), sample(3, 2, 2, 1, 5), sample(4, 2, -1, 2, 5))[LOG]
    assert leader_before(of, 2 * S) == (0, 0)
    assert leader_before(of, 3 * S) == (2, 1)
    assert leader_before(of, None) == (2, 1)
    assert leader_before(of, 0) is None
