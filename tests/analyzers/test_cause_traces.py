"""Truncations that no sample of a broker shows: offsets given twice, leader epochs, lines of brokers. No JVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from analyzers.causes.derive import derive
from analyzers.causes.evidence import EpochStart, Extent, RunEvidence
from analyzers.history.broker_logs import BrokerLogs, Clock
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.cause import Cause
from tests.support.cause_evidence import LOG, LOST, S, evidence, extent, fault, texts

DATA = Path(__file__).parents[1] / "data" / "runs"
REUSED = extent("offset-reuse", low=10, high=14, first=8, last=9)
ACKS_ONE = {"acks": "1", "min.insync.replicas": "2", "unclean.leader.election.enable": "false"}


def of(*extents: Extent, events: Sequence[FaultEvent] = (), **more: object) -> tuple[Cause, ...]:
    return derive(replace(evidence(*extents, events=events), **more))  # type: ignore[arg-type]


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
    assert "UNCLEAN partition change" in texts(cause)[1]
