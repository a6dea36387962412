"""What is known of an application, and of the run in which it failed, in few words.

Times in s. Inputs are in t-0, outputs in the sink o. Instance 0 is process 3, instance 1 process 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from analyzers.causes.application import Application, Commit, Event, Input, Output, Turn
from analyzers.causes.derive import derive
from analyzers.causes.evidence import Change, Extent, RunEvidence
from analyzers.history.fault_events import FaultEvent, Stage
from analyzers.verdict.finding import Cause
from tests.support.cause_evidence import LOG

SINK = "o"
POOL = 1000
"""The id of the producer of instance 0; that of instance 1 is one more."""

CLIENTS = {3: "app:0", 4: "app:1"}

NS = 1e-9
"""The shortest time, in s."""


def ns(time: float) -> int:
    return round(time * 1e9)


def sent(
    time: float | None, by: int | None = 0, *, at: int = 0, place: int = 0, transactional: bool = False
) -> Output:
    """by: the instance; None: a producer without an id. at, place: offset and partition in the sink."""
    return Output(
        partition=place,
        offset=at,
        time=None if time is None else ns(time),
        producer=None if by is None else POOL + by,
        transactional=transactional,
    )


def inputs(
    number: int,
    outputs: Mapping[int, Sequence[Output]],
    *,
    log: str = LOG,
    key: int | None = None,
    unfed: Iterable[int] = (),
) -> dict[str, list[Input]]:
    """So many, fed 1 ms apart from 1 s on. outputs: by offset. unfed: those for which that time is unknown."""
    return {
        log: [
            Input(
                log=log,
                offset=offset,
                fed=None if offset in unfed else ns(1 + offset / 1000),
                key=key,
                outputs=tuple(outputs.get(offset, ())),
            )
            for offset in range(number)
        ]
    }


def each_sent(
    offsets: Iterable[int], time: float, by: int | None = 0, **more: bool
) -> dict[int, list[Output]]:
    """One output of each of these inputs, at the same offset."""
    return {offset: [sent(time, by, at=offset, **more)] for offset in offsets}


def commit(time: float, position: int, by: int | None = None, *, is_exact: bool = True) -> Commit:
    """by: the instance with whose transaction it was committed."""
    return Commit(ns(time), position, is_exact, None if by is None else POOL + by)


def turn(time: float, instance: int) -> Turn:
    return Turn(ns(time), f"app:{instance}", f"m-{instance}")


def printed(time: float, line: str = "KafkaTimeoutError: Batch expired", instance: int = 0) -> Event:
    return Event(ns(time), f"app:{instance}", "printed", line=line)


def exited(time: float, instance: int = 0) -> Event:
    return Event(ns(time), f"app:{instance}", "ended", status=1)


def fault(
    name: str, began: float, ended: float | None = None, instance: int = 0, *, effective: bool = True
) -> FaultEvent:
    """ended: None for one that was not healed. Its event is ``name@began``."""
    inject = Stage(
        invoked=ns(began),
        completed=ns(began),
        effective=effective,
        target=f"app:{instance}",
        nodes=(),
        processes=(3 + instance,),
    )
    heal = None if ended is None else replace(inject, invoked=ns(ended), completed=ns(ended))
    return FaultEvent(
        event=f"{name}@{began:g}", fault=name, inject=inject, heal=heal, clients=(f"app:{instance}",)
    )


def finding(anomaly: str, low: int | None, high: int | None, time: float, *, topic: str = "t") -> Extent:
    count = 1 if low is None or high is None else high - low + 1
    return Extent(
        anomaly=anomaly, topic=topic, partition=0, count=count, first=ns(time), last=ns(time), low=low, high=high
    )  # fmt: skip


def run_of(
    application: Application,
    *findings: Extent,
    events: Sequence[FaultEvent] = (),
    changes: Mapping[str, list[Change]] | None = None,
) -> RunEvidence:
    return RunEvidence(
        began=0,
        extents=findings,
        changes=dict(changes or {}),
        events=events,
        clients=CLIENTS,
        application=application,
    )


def only_cause(run: RunEvidence) -> Cause:
    (found,) = derive(run)
    return found


def story(cause: Cause) -> list[tuple[float | None, str]]:
    """The time of each step, and its text; an asterisk before that of a fault."""
    return [
        (step.time if step.time is None else round(step.time, 3), "*" * step.is_fault + step.text)
        for step in cause.steps
    ]
