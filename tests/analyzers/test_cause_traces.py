"""Truncations that no sample of a broker shows: offsets given twice, leader epochs, lines of brokers. No JVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from analyzers.causes.cuts import trace
from analyzers.causes.derive import derive
from analyzers.causes.evidence import EpochStart, Extent, RunEvidence
from analyzers.causes.explainer import UNCLEAN_ELECTION
from analyzers.history.fault_events import FaultEvent
from analyzers.history.surroundings import BrokerLogs, Clock, LogLine
from analyzers.verdict.finding import Cause
from tests.support.cause_evidence import ISOLATED, LOG, LOST, S, evidence, extent, fault, texts

DATA = Path(__file__).parents[1] / "data" / "runs"
REUSED = extent("offset-reuse", low=10, high=14, first=8, last=9)
ACKS_ONE = {"acks": "1", "min.insync.replicas": "2", "unclean.leader.election.enable": "false"}


def of(*extents: Extent, events: Sequence[FaultEvent] = (), **more: Any) -> tuple[Cause, ...]:
    return derive(replace(evidence(*extents, events=events), **more))


def test_an_offset_that_is_given_twice_is_a_truncation() -> None:
    isolate = fault("isolate", 4, 8, nodes=(1,))
    (cause,) = of(LOST, REUSED, extent("realtime-order"), events=[isolate], settings=ACKS_ONE)
    assert (cause.kind, cause.name, cause.change) == (
        "truncation",
        "acks=1",
        "acks=all with min.insync.replicas=2",
    )
    assert cause.findings == {"lost-write": 10, "offset-reuse": 10, "realtime-order": 10}
    assert texts(cause) == [
        "broker 1 is cut off from the other brokers, not from clients",
        "the first of 10 acknowledged writes that will be lost, offsets 10 to 19; the last at 7.0 s",
        "offset 10 gets a second value: the log had been cut there or below",
        "the network between broker 1 and the other brokers is restored",
    ]


def test_without_its_settings_it_is_a_truncation_that_a_setting_may_have_allowed() -> None:
    (cause,) = of(LOST, REUSED)
    assert (cause.kind, cause.name, cause.changes) == ("truncation", "truncation", "unknown")
    assert cause.unrecorded == ("acks", "min.insync.replicas", "unclean.leader.election.enable")


@pytest.mark.parametrize(
    ("extents", "events"),
    [
        ([LOST], []),
        ([replace(LOST, low=1, high=9), REUSED], []),  # below
        ([LOST, REUSED], [fault("recreate-topic", 4, 9)]),  # another log
    ],
)
def test_losses_elsewhere_are_not_determined(extents: list[Extent], events: list[FaultEvent]) -> None:
    found = {name: cause.kind for cause in of(*extents, events=events) for name in cause.findings}
    assert found["lost-write"] == "unknown"


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (EpochStart(epoch=1, offset=10, time=6 * S), "truncation"),
        (EpochStart(epoch=1, offset=11, time=6 * S), "unknown"),  # the first lost write lies below
        (
            EpochStart(epoch=1, offset=10, time=5 * S),
            "unknown",
        ),  # it may have been in the log before the lost write
    ],
)
def test_a_later_epoch_that_begins_below_what_is_lost_is_a_truncation(start: EpochStart, kind: str) -> None:
    """It begins with a record that was sent after the lost one had been acknowledged above it."""
    (cause,) = of(LOST, epochs={LOG: [EpochStart(epoch=0, offset=0, time=S), start]}, settings=ACKS_ONE)
    assert cause.kind == kind
    if kind == "truncation":
        assert "the records of leader epoch 1 begin at offset 10" in texts(cause)


@pytest.mark.parametrize("acks", [("1", "1"), ("1", "all")])
def test_the_settings_of_the_clients_that_lost_writes_decide(acks: tuple[str, str]) -> None:
    producers = {number: {"acks": each} for number, each in enumerate(acks)}
    (cause,) = of(replace(LOST, processes=(0,)), REUSED, producers=producers)
    assert (cause.name, cause.settings) == ("acks=1", {"acks": "1"})
    (cause,) = of(replace(LOST, processes=(0, 1)), REUSED, producers=producers)
    assert cause.name == ("acks=1" if acks == ("1", "1") else "truncation")
    for samples in ({}, {"changes": ISOLATED}):
        (cause,) = of(
            replace(LOST, processes=(0,)), replace(REUSED, processes=(1,)), producers=producers, **samples
        )
        assert (cause.name, cause.settings) == ("acks=1", {"acks": "1"}), "nobody knows who wrote first"


def test_a_trace_explains_what_lies_at_or_above_it_and_names_the_faults_of_that_time() -> None:
    events = [fault("kill", 4, 5), fault("stop", 6, 7), fault("pause", 9, 10), fault("wipe", 10, 11)]
    unplaced = replace(extent("realtime-order", low=None, high=None), first=None, last=None)
    below, at = extent("poll-skip", low=3, high=9), extent("monotonic-reads", low=3, high=10)
    cause, rest = of(LOST, REUSED, unplaced, below, at, events=events)
    assert cause.findings.keys() == {"lost-write", "offset-reuse", "realtime-order", "monotonic-reads"}
    assert rest.findings.keys() == {"poll-skip"}
    assert cause.faults == ("kill-0", "stop-0", "pause-0")
    assert [text for text in texts(cause) if text.startswith("fault ")] == [
        "fault kill leader",
        "fault stop leader",
    ]


def test_findings_of_unknown_times_have_no_faults() -> None:
    (cause,) = of(
        *(replace(each, first=None, last=None) for each in (LOST, REUSED)), events=[fault("kill", 4, 5)]
    )
    assert (cause.kind, cause.faults) == ("truncation", ())


def traced(
    *extents: Extent, lines: Sequence[LogLine] = (), events: Sequence[FaultEvent] = (), **more: Any
) -> Any:
    """The offset of the trace, and its steps as texts; None without one."""
    run = replace(evidence(*extents, events=events), **more)
    found = trace(run.of_log(LOG), extents, run, lines)
    return found and (found.offset, [step.text for step in found.steps])


def cut_at(offset: int, time: float = 8.0, node: str = "kafka1") -> LogLine:
    return LogLine(
        time=time, node=node, text=f"Truncating partition t-0 with TruncationState(offset={offset})"
    )


def line(time: float, node: str, text: str) -> LogLine:
    return LogLine(time=time, node=node, text=text)


def follows(offset: int, time: float = 7.0, node: str = "kafka1") -> LogLine:
    return line(time, node, f"Follower t-0 starts at leader epoch 1 from offset {offset}")


NO_EFFECT = "Truncating to 10 has no effect as the largest offset in the log is 9"


@pytest.mark.parametrize(
    ("lines", "offset"),
    [
        ([cut_at(10)], 10),
        ([cut_at(10, 5.0)], None),  # of equal times, none is known to come first
        ([cut_at(10, 5.001)], 10),
        ([cut_at(19)], 19),
        ([cut_at(20)], None),
        ([cut_at(20), cut_at(10, 9.0)], 10),
        ([cut_at(10), line(8.0, "kafka1", NO_EFFECT)], None),
        ([cut_at(10), line(8.0, "kafka2", NO_EFFECT)], 10),
        ([cut_at(11), line(8.0, "kafka1", NO_EFFECT)], 11),
        ([follows(10), cut_at(10)], None),  # its log ended below what is lost
        ([follows(11), cut_at(10)], 10),
        ([follows(10, node="kafka2"), cut_at(10)], 10),
        ([follows(10, 8.0), cut_at(10)], None),
        ([cut_at(10), follows(10, 9.0)], 10),
        ([follows(10, 6.0), follows(11), cut_at(10)], 10),
    ],
)
def test_a_line_about_a_cut_counts_if_it_drops_what_is_lost(lines: list[LogLine], offset: int | None) -> None:
    found = traced(LOST, lines=lines)
    assert (found and found[0]) == offset


def test_a_loss_of_unknown_place_or_time_leaves_no_trace() -> None:
    """Those behind it do."""
    read = extent("lost-read")
    of_lines: dict[str, Any] = {"lines": [follows(11), cut_at(10)]}
    of_epochs: dict[str, Any] = {"epochs": {LOG: [EpochStart(epoch=1, offset=10, time=6 * S)]}}
    for more, unknown in (
        (of_lines, replace(LOST, first=None)), (of_lines, replace(LOST, low=None)),
        (of_lines, replace(LOST, high=None)),
        (of_epochs, replace(LOST, first=None)), (of_epochs, replace(LOST, low=None)),
        ({}, extent("offset-reuse", low=None)), (of_lines, extent("poll-skip")),
    ):  # fmt: skip
        assert traced(unknown, **more) is None
        if more:
            assert traced(unknown, read, **more)[0] == 10


def test_the_lowest_trace_counts() -> None:
    start = EpochStart(epoch=1, offset=10, time=6 * S)
    offset, said = traced(LOST, replace(REUSED, low=12), epochs={LOG: [start]})
    assert (offset, len(said)) == (10, 2)


@pytest.mark.parametrize(("began", "ended"), [(1, 2), (9, 12)])
def test_a_log_of_a_topic_that_was_created_again_meanwhile_was_not_cut(began: int, ended: int) -> None:
    reused = [replace(REUSED, first=first * S, last=last * S) for first, last in ((2, 3), (5, 9))]
    for found in (reused, reused[::-1]):
        assert traced(*found, events=[fault("recreate-topic", began, ended)]) is None
        assert traced(*found, events=[fault("kill", began, ended)]) is not None


LEADS = "Leader t-0 starts at leader epoch 1"
UNCLEAN = "UNCLEAN partition change for t-0: leader 2"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([line(7.5, "kafka2", LEADS)], [LEADS]),
        ([line(8.0, "kafka2", LEADS)], [LEADS]),
        ([line(8.5, "kafka2", LEADS)], []),
        ([line(7.5, "kafka1", LEADS)], []),
        ([line(7.5, "kafka2", "Fencing broker 1 at its request")], []),
        ([line(6.0, "kafka3", LEADS), line(7.5, "kafka2", f"{LEADS} again")], [f"{LEADS} again"]),
        ([line(2.5, "kafka3", UNCLEAN), line(7.5, "kafka2", LEADS)], [UNCLEAN, LEADS]),
        ([line(2.4, "kafka3", UNCLEAN), line(7.5, "kafka2", LEADS)], [LEADS]),
        ([line(7.0, "kafka3", UNCLEAN), line(7.2, "kafka3", UNCLEAN), line(7.5, "kafka2", LEADS)], [UNCLEAN, LEADS]),
        ([line(7.0, "kafka3", UNCLEAN)], []),
    ],
)  # fmt: skip
def test_the_election_before_a_cut_is_told(lines: list[LogLine], expected: list[str]) -> None:
    _, said = traced(LOST, lines=sorted([*lines, cut_at(10)], key=lambda each: each.time))
    assert [text.partition(" logs: ")[2] for text in said[:-1]] == expected


def test_long_lines_are_cut() -> None:
    whole = cut_at(10).text.ljust(100, "x")
    for text, expected in ((whole, whole), (whole + "x", f"{whole} ...")):
        assert traced(LOST, lines=[line(8.0, "kafka1", text)])[1] == [f"kafka1 logs: {expected}"]


def logged(run: str, log: str, low: int, high: int, began: str, **settings: str) -> tuple[Cause, ...]:
    """Causes of writes that a recorded run lost, with its brokers' logs and without its samples."""
    files = {file.stem: file for file in (DATA / run / "logs").glob("kafka*.log")}
    unix = int(datetime.fromisoformat(began).replace(tzinfo=UTC).timestamp()) * S
    topic, _, partition = log.rpartition("-")
    lost = replace(LOST, topic=topic, partition=int(partition), low=low, high=high, count=high - low + 1)
    run_logs = BrokerLogs(files=files, clock=Clock(monotonic=0, unix=unix, began=0))
    return derive(
        RunEvidence(began=0, extents=[lost], changes={}, events=[], logs=run_logs, settings=settings)
    )


def test_brokers_log_the_truncation_of_a_recorded_run() -> None:
    log = "log-ce5c4ffd-0"
    (cause,) = logged("acks_one", log, 137, 351, "2026-11-22T13:03:15", acks="1")
    assert (cause.kind, cause.name) == ("truncation", "acks=1")
    assert [(step.time, step.text[:60]) for step in cause.steps[1:]] == [
        (8.311, "kafka2 logs: Leader log-ce5c4ffd-0 starts at leader epoch 1 "),
        (13.779, "kafka1 logs: Truncating partition log-ce5c4ffd-0 with Trunca"),
    ]
    for low, high, began in (
        (137, 351, "2026-11-22T13:03:25"),  # acknowledged after it
        (352, 360, "2026-11-22T13:03:15"),  # above the end of the log that was cut
        (100, 136, "2026-11-22T13:03:15"),  # below
    ):
        (cause,) = logged("acks_one", log, low, high, began, acks="1")
        assert cause.kind == "unknown"
        assert "examined: logs of brokers" in cause.why


def test_a_controller_logs_an_unclean_election() -> None:
    setting = {"unclean.leader.election.enable": "true"}
    (cause,) = logged("unclean", "log-a291cba7-0", 128, 257, "2026-11-22T18:25:40", **setting)
    assert cause.name == "unclean.leader.election.enable=true"
    assert cause.circumstances == (UNCLEAN_ELECTION,)
    assert "UNCLEAN partition change" in texts(cause)[1]
