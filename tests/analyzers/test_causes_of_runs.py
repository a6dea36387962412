"""Causes that no sample of a broker shows, and findings without a cause. Needs no JVM."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analyzers.causes import explainer
from analyzers.causes.derive import derive, not_determined
from analyzers.causes.evidence import Assignment, RunEvidence
from analyzers.causes.explainer import FORMER_MEMBER, PAUSED_MEMBER
from analyzers.causes.explainers.clients_and_settings import by_retries
from analyzers.causes.explainers.group_handover import group_handover
from analyzers.causes.registry import WITHOUT
from analyzers.causes.words import fault_steps
from analyzers.history.fault_events import FaultEvent
from analyzers.history.surroundings import BrokerLogs, Clock
from analyzers.verdict.finding import NOT_DETERMINED
from analyzers.verdict.wording import client_name
from tests.support.cause_evidence import ISOLATED, S, cause_in, extent, fault


def assigned(process: int, log: str = "t-0", group: str = "g") -> Assignment:
    return Assignment(time=0, process=process, log=log, group=group, generation=1, start=0)


MEMBERS = (assigned(3), assigned(4), assigned(5, "u-0", "other"))
"""Of two groups, each with a topic of its own."""


def run(*events: FaultEvent) -> RunEvidence:
    return RunEvidence(began=0, extents=[], changes={}, events=events, assignments=MEMBERS)


@pytest.mark.parametrize("name", ["pause-client", "isolate-client"])
def test_a_fault_that_holds_a_member_explains_all_that_its_group_shows(name: str) -> None:
    names = {
        "double-ownership", "group-skip", "commit-regression", "unfenced-commit", "excess-duplicates",
        "orphaned-partition",
    }  # fmt: skip
    found = [*map(extent, sorted(names)), extent("poll-skip")]
    of_run = cause_in(group_handover, found, run(fault(name, 6, 8, processes=(3,))))
    assert of_run is not None
    assert of_run.findings.keys() == names
    assert of_run.circumstances == (FORMER_MEMBER, PAUSED_MEMBER)
    assert "poll-skip" not in of_run.findings


@pytest.mark.parametrize(
    "event",
    [
        fault("pause-client", 6, 8),
        fault("kill-client", 6, 8, processes=(3,)),
        fault("pause-client", 8, 9, processes=(3,)),
        fault("pause-client", 6, 8, processes=(9,)),
        fault("pause-client", 6, 8, processes=(5,)),
    ],
    ids=["nobody", "killed", "later", "no member", "another group's member"],
)
def test_another_fault_explains_nothing_of_a_group(event: FaultEvent) -> None:
    assert cause_in(group_handover, [extent("group-skip")], run(event)) is None


def cut(processes: tuple[int, ...] = (3,), **options: str) -> FaultEvent:
    event = fault("isolate-client", 6, 8, processes=processes)
    assert event.inject is not None
    return replace(event, inject=replace(event.inject, options=options))


@pytest.mark.parametrize(
    ("options", "is_explained"),
    [
        ({"one_way": "in"}, True),
        ({"one_way": "out", "brokers": "coordinator:g"}, True),
        ({"brokers": "leader"}, False),
        ({"brokers": "1"}, False),
    ],
)
def test_a_member_that_reaches_its_coordinator_is_not_held(
    options: dict[str, str], is_explained: bool
) -> None:
    assert (cause_in(group_handover, [extent("group-skip")], run(cut(**options))) is not None) is is_explained


@pytest.mark.parametrize(
    ("event", "began", "ended"),
    [
        (cut(), "is cut off from the brokers", "the network between {} and the brokers is restored"),
        (
            cut(brokers="leader", one_way="in"),
            "is cut off from the leader one way: requests arrive, answers do not",
            "the network between {} and the leader is restored",
        ),
        (
            cut(brokers="2", one_way="out"),
            "is cut off from broker 2 one way: requests do not arrive",
            "the network between {} and broker 2 is restored",
        ),
        (
            cut((3, 4), brokers="1,2"),
            "are cut off from brokers 1 and 2",
            "the network between {} and brokers 1 and 2 is restored",
        ),
    ],
)
def test_a_cut_of_clients_is_told_with_its_brokers_and_its_direction(
    event: FaultEvent, began: str, ended: str
) -> None:
    first, last = (step.text for step in fault_steps([event], run(event)))
    who = ", ".join(client_name(each, {}) for each in event.processes)
    assert (first, last) == (f"{who} {began}", ended.format(who))


@pytest.mark.parametrize(("process", "is_explained"), [(3, True), (4, True), (5, False), (9, False)])
@pytest.mark.parametrize("named", [(), (4,)])
def test_only_a_member_of_the_group_that_shows_it_counts(
    process: int, is_explained: bool, named: tuple[int, ...]
) -> None:
    found = replace(extent("group-skip"), processes=named)
    evidence = run(fault("pause-client", 6, 8, processes=(process,)))
    assert (cause_in(group_handover, [found], evidence) is not None) is is_explained


def test_a_member_that_the_findings_name_tells_groups_apart_that_read_one_log() -> None:
    shared = [*MEMBERS, assigned(5, "t-0", "other")]
    for named, is_explained in (((), True), ((4,), False), ((5,), True)):
        found = replace(extent("group-skip"), processes=named)
        evidence = replace(run(fault("pause-client", 6, 8, processes=(5,))), assignments=shared)
        assert (cause_in(group_handover, [found], evidence) is not None) is is_explained


def test_a_member_that_is_only_named_counts_from_the_fault_on() -> None:
    """Without a record of assignments, a finding shows that the process is a member."""
    for first, is_explained in ((20, True), (1, False)):
        late = replace(extent("commit-regression", first=first, last=first + 1), processes=(9,))
        of_run = cause_in(group_handover, [late], run(fault("pause-client", 6, 8, processes=(9,))))
        assert (of_run is not None) is is_explained


def test_a_pause_explains_what_lies_in_its_time_and_nothing_before() -> None:
    early, late = extent("group-skip", first=1, last=2), extent("group-skip", first=6, last=7)
    held, rest = derive(replace(run(fault("pause-client", 6, 8, processes=(3,))), extents=[early, late]))
    assert (held.name, held.findings) == ("work after the partition was lost", {"group-skip": 10})
    assert [step.time for step in held.steps if "group-skip" in step.text] == [6.0]
    assert (rest.kind, rest.findings) == (NOT_DETERMINED, {"group-skip": 10})
    (rest,) = derive(replace(run(fault("pause-client", 6, 8, processes=(3,))), extents=[early]))
    assert rest.kind == NOT_DETERMINED


def test_only_faults_that_hold_a_member_of_the_group_are_told() -> None:
    events = [fault("pause-client", 6, 8, processes=(each,)) for each in (9, 3)]
    of_run = cause_in(group_handover, [extent("group-skip")], run(*events))
    assert of_run is not None
    assert [step.text for step in of_run.steps][:2] == ["the first group-skip", "process 3 is frozen"]
    assert len(of_run.faults) == 1


def test_steps_tell_the_first_and_the_last_finding_and_the_faults_meanwhile() -> None:
    events = [fault(name, 4, 6, nodes=(1,)) for name in ("kill", "stop", "pause")]
    found = [
        extent("poll-skip", first=6, last=8),
        extent("poll-skip", first=5, last=7),
        extent("duplicate", first=7, last=9),
    ]
    untimed = replace(extent("poll-skip"), first=None, last=None)
    cause = not_determined([*found, untimed], run(*events, fault("wipe", 9, 10)))
    assert cause.findings == {"poll-skip": 30, "duplicate": 10}
    assert cause.faults == ("kill-0", "stop-0", "pause-0", "wipe-0")
    assert [(step.time, step.text) for step in cause.steps] == [
        (4.0, "broker 1 is killed"), (4.0, "broker 1 is stopped"),
        (5.0, "the first poll-skip, duplicate; the last at 9.0 s"),
        (6.0, "broker 1 is started again"), (6.0, "broker 1 is started again"),
    ]  # fmt: skip


UNREAD = BrokerLogs(files={}, clock=Clock(monotonic=0, unix=0, began=0))
SAMPLES, LOGS, EPOCHS = (each.name for each in (explainer.SAMPLES, explainer.BROKER_LOGS, explainer.EPOCHS))


@pytest.mark.parametrize(
    ("anomaly", "more", "why"),
    [
        ("lost-write", {}, f"no fault is recorded; not recorded: {SAMPLES}, {LOGS}, {EPOCHS}"),
        (
            "lost-write",
            {"changes": ISOLATED, "events": [fault("kill", 8, 9)]},
            f"no fault was active then; examined: {SAMPLES}; not recorded: {LOGS}",
        ),
        ("poll-skip", {"logs": UNREAD}, f"no fault is recorded; examined: {LOGS}; not recorded: {SAMPLES}"),
        ("duplicate", {"events": [fault("kill", 4, 6)]}, "at work then: kill leader (kill-0)"),
        ("group-skip", {"assignments": MEMBERS}, f"no fault is recorded; examined: {explainer.ASSIGNMENTS.name}"),
        ("phantom-read", {}, f"no fault is recorded. {WITHOUT['phantom-read']}"),
    ],
)  # fmt: skip
def test_without_a_cause_it_is_said_what_was_looked_at(anomaly: str, more: dict[str, Any], why: str) -> None:
    cause = not_determined(
        [extent(anomaly)], replace(RunEvidence(began=0, extents=[], changes={}, events=[]), **more)
    )
    assert cause.why == f"not determined; {why}"
    assert cause.logs == ("t-0",)


def test_logs_of_brokers_are_there_if_they_were_kept() -> None:
    assert explainer.BROKER_LOGS.are_there(replace(run(), logs=UNREAD), []) is True
    assert explainer.BROKER_LOGS.are_there(run(), []) is False


def test_four_faults_are_named() -> None:
    events = [fault(name, 4, 6) for name in "abcdef"]
    for number, rest in ((4, ""), (5, " and 1 more"), (6, " and 2 more")):
        (text,) = not_determined([extent("duplicate")], run(*events[:number])).why.split("; ")[1:]
        assert text == "at work then: a leader (a-0), b leader (b-0), c leader (c-0), d leader (d-0)" + rest


def test_the_settings_on_which_a_cause_would_depend_are_told() -> None:
    cause = not_determined(
        [extent("risen-key")], replace(run(), settings={"cleanup.policy": "compact", "acks": "1"})
    )
    assert (cause.settings, cause.unrecorded) == ({"cleanup.policy": "compact"}, ("delete.retention.ms",))


def test_one_finding_has_one_time() -> None:
    once = not_determined([extent("poll-skip", first=5, last=5)], run())
    assert [step.text for step in once.steps] == ["poll-skip"]
    never_ended = not_determined([replace(extent("poll-skip"), last=None)], run())
    assert [step.text for step in never_ended.steps] == ["the first poll-skip"]
    for last in (None, 7 * S):
        untimed = not_determined([replace(extent("poll-skip"), first=None, last=last)], run())
        assert untimed.steps == ()
    lasting = not_determined([replace(extent("poll-skip"), count=1)], run())
    assert [step.text for step in lasting.steps] == ["the first poll-skip"]


def test_two_findings_have_a_first_and_a_last_one() -> None:
    found = [replace(extent("poll-skip", first=at, last=at), count=1) for at in (5, 9)]
    assert [step.text for step in not_determined(found, run()).steps] == [
        "the first poll-skip; the last at 9.0 s"
    ]


@pytest.mark.parametrize(("first", "last"), [(5, None), (5, 5), (None, 7)])
def test_of_writes_whose_times_are_not_known_the_last_one_has_none(
    first: int | None, last: int | None
) -> None:
    twice = replace(extent("duplicate"), count=2, first=first and first * S, last=last and last * S)
    of_run = cause_in(by_retries, [twice], run())
    assert of_run is not None
    text = "the first of 2 writes that the log will have more than once is sent"
    assert [step.text for step in of_run.steps] == [text] * (first is not None)


def test_an_end_at_an_unknown_time_comes_last() -> None:
    kill = fault("kill", 4, 6, nodes=(1,))
    assert kill.heal is not None
    endless = replace(kill, heal=replace(kill.heal, completed=None))
    assert not_determined([extent("poll-skip")], run(endless)).steps[-1].text == "broker 1 is started again"


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([1], "a write that the log will have more than once is sent"),
        ([2, 3], "the first of 5 writes that the log will have more than once is sent"),
    ],
)
def test_writes_that_a_log_has_twice_are_counted(counts: list[int], text: str) -> None:
    found = [replace(extent("duplicate", last=5), count=count) for count in counts]
    of_run = cause_in(by_retries, [*found, extent("poll-skip")], run())
    assert of_run is not None
    assert [step.text for step in of_run.steps] == [text]
    assert of_run.findings == {"duplicate": sum(counts)}


def test_logs_are_in_the_order_of_their_names() -> None:
    found = [replace(extent("duplicate"), topic=topic) for topic in "hgfedcba"]
    of_run = cause_in(by_retries, [*found, replace(extent("duplicate"), topic=None)], run())
    assert of_run is not None
    assert of_run.logs == tuple(f"{topic}-0" for topic in "abcdefgh")


def planned(name: str, *, nodes: tuple[int, ...], **stage: Any) -> FaultEvent:
    """A fault whose injection has these options or this target."""
    event = fault(name, 4, 6, nodes=nodes)
    assert event.inject is not None
    return replace(event, inject=replace(event.inject, **stage))


@pytest.mark.parametrize(
    ("event", "began", "ended"),
    [
        (fault("pause", 4, 6, nodes=(1, 2)), "brokers 1 and 2 are frozen", "brokers 1 and 2 continue"),
        (
            fault("cut-clients", 4, 6, nodes=(1, 2)),
            "brokers 1 and 2 are cut off from their clients, not from the other brokers",
            "the network between brokers 1 and 2 and their clients is restored",
        ),
        (
            planned("partition", nodes=(1,), options={"plane": "replication"}),
            "broker 1 is cut off from replication with the other brokers, not from clients",
            "the network between broker 1 and the other brokers is restored",
        ),
        (
            planned("partition", nodes=(1, 2, 3), target="[[1], [2, 3]]", options={"plane": "controller"}),
            "broker 1 and brokers 2 and 3 cannot reach each other's controllers; clients reach all of them",
            "the network between broker 1 and brokers 2 and 3 is restored",
        ),
        (
            fault("wipe", 4, 6, nodes=(1, 2)),
            "brokers 1 and 2 lose their disk",
            "brokers 1 and 2 are started again",
        ),
        (
            fault("restart", 4, 6, nodes=(1, 2)),
            "brokers 1 and 2 are restarted",
            "brokers 1 and 2 serve clients again",
        ),
        (fault("kill-client", 4, 6, processes=(3,)), "process 3 is killed", "process 3 is started again"),
        (
            fault("disk-stall", 4, 6, nodes=(1,)),
            "fault disk-stall leader (nodes 1)",
            "the fault disk-stall ends",
        ),
        (fault("kill", 4, 6), "fault kill leader", "the fault kill ends"),
        (
            planned("elect", nodes=(1, 2, 3), target="partition"),
            "an election of the preferred leader is requested by hand, for partition 0",
            None,
        ),
        (
            planned("elect", nodes=(1, 2, 3), target="partition:2", options={"unclean": True}),
            "an unclean election is requested by hand, for partition 2: any live replica may become leader",
            None,
        ),
        (
            planned("elect", nodes=(1, 2, 3), target="partition:orders-1", options={"unclean": True}),
            "an unclean election is requested by hand, for orders-1: any live replica may become leader",
            None,
        ),
        (planned("delete-records", nodes=(), target="topic"), "fault delete-records topic", None),
    ],
)
def test_a_fault_and_its_end_in_words(event: FaultEvent, began: str, ended: str | None) -> None:
    """A momentary fault has no end of which there is something to tell."""
    steps = not_determined([extent("poll-skip")], run(event)).steps
    expected = [began] if ended is None else [began, ended]
    assert [step.text for step in steps if step.time in (4.0, 6.0)] == expected
