"""Repeated outputs: an input was processed twice, by two owners of its partition or by one that began again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analyzers.causes.application import Application, Input, Turn
from analyzers.causes.circumstance import SENT_ONCE
from analyzers.causes.evidence import Explanation, RunEvidence
from analyzers.causes.explainer import Explainer
from analyzers.causes.explainers.application_words import (
    HOLDING,
    OUTSIDE,
    RECORDS,
    circumstances_of,
    ends_of,
    explained,
    faults_of,
    offsets,
    once,
)
from analyzers.causes.explainers.late_outputs import REVOKED, late_work, revoked_steps
from analyzers.causes.kind import CauseKind
from analyzers.causes.words import fault_steps
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.cause import Step
from analyzers.verdict.wording import count

REPEATED = frozenset({"duplicate-output"})

AFTER_OUTPUT = CauseKind(
    name="commits after the output, outside of a transaction",
    happened="application",
    changes="application",
    explains=REPEATED,
    established="An output was written, its instance was ended, held or replaced before the position behind the "
    "input was committed, and the next owner wrote it again.",
    why="the output is there and its position is not, so the next owner begins before it: that is at least once",
    change="exactly once: outputs and positions in one transaction (send_offsets_to_transaction()), or idempotent "
    "outputs, which readers can tell apart; otherwise guarantee='at-least-once'",
    source="KIP-98 (transactions); Kafka documentation, design: message delivery semantics",
)
RETRIED = CauseKind(
    name="retries of a producer without idempotence",
    circumstance=SENT_ONCE,
    happened="application",
    changes="application",
    explains=REPEATED,
    established="Both outputs have the same timestamp, and no producer id.",
    why="a producer without an id does not show that a record is a retry: after a lost answer it is there twice",
    change="enable.idempotence=true in the application's producer, which requires acks=all",
    source="KIP-98: idempotent producer",
)


class Break(NamedTuple):
    """What came between two outputs of an input. Time in ns. turn: of the next owner, None for the same one;
    position: that was committed then."""

    log: str
    time: int
    owner: str
    turn: Turn | None
    event: FaultEvent | None
    text: str
    position: int | None


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """times: of the outputs, as far as they are known, in ns; at least two."""

    one: Input
    times: Sequence[int]
    kind: CauseKind
    broken: Break | None


def repeated_outputs(run: RunEvidence) -> Iterator[Explanation]:
    application = run.application
    if application is None:
        return
    repeats = [*_repeats(application, run)]
    # The finding has the time of the second output by its place in the sink, so that any of these may be it.
    found = [(each.one, time, each.kind) for each in repeats for time in each.times]
    for kind, extents in explained(run, REPEATED, found):
        of_kind = [each for each in repeats if each.kind is kind]
        steps, faults = _story(kind, of_kind, application, run)
        yield Explanation(
            kind=kind, extents=extents, circumstances=circumstances_of(kind), steps=steps, faults=faults
        )


def _repeats(application: Application, run: RunEvidence) -> Iterator[Repeat]:
    for one in application.every_input():
        times = [made.time for made in one.outputs if made.time is not None]
        if len(times) < 2:
            continue
        broken = _break(one, times, application, run)
        kind = _kind(one, times, broken, application, run)
        if kind is not None:
            yield Repeat(one=one, times=times, kind=kind, broken=broken)


def _kind(
    one: Input, times: Sequence[int], broken: Break | None, application: Application, run: RunEvidence
) -> CauseKind | None:
    if application.positions_are_outside:
        return OUTSIDE
    if late_work(one, application, run) is not None:
        return REVOKED
    if times[0] == times[1] and all(made.producer is None for made in one.outputs):
        return RETRIED
    is_one_transaction = application.positions_are_inside and one.outputs[0].transactional
    return None if broken is None or is_one_transaction else AFTER_OUTPUT


def _break(one: Input, times: Sequence[int], application: Application, run: RunEvidence) -> Break | None:
    """None where nothing is known to have come between, or the position had been committed by then."""
    first, second, *_ = times
    turn = application.owner(one.log, first)
    if turn is None:
        return None
    following = application.next_turn(one.log, first)
    if following is not None and following.time > second:
        following = None
    end = next((each for each in ends_of(turn.owner, first, run) if each.time <= second), None)
    event: FaultEvent | None
    if end is not None:
        time, event, text = end.time, end.event, end.text
    elif following is not None:
        held = (each for each in faults_of(turn.owner, run, HOLDING) if each[1].active_between(first, second))
        time, event = next(held, (following.time, None))
        text = f"{one.log} gets another owner"
    else:
        return None
    position = application.position(one.log, following.time if following is not None else time)
    if position is not None and position > one.offset:
        return None
    return Break(one.log, time, turn.owner, following, event, text, position)


def _story(
    kind: CauseKind, repeats: Sequence[Repeat], application: Application, run: RunEvidence
) -> tuple[list[Step], list[FaultEvent]]:
    if kind is REVOKED:
        return revoked_steps([each.one for each in repeats], application, run)
    first = min(repeats, key=lambda each: each.times[0])
    began = run.at(first.times[0])
    if kind is RETRIED:
        text = f"the output of the input at {first.one.offset:,} of {first.one.log} is sent once and written twice"
        return [Step(time=began, text=text)], []
    by_break: dict[tuple[str, int], tuple[Break, list[Repeat]]] = {}
    for each in repeats:
        if each.broken is not None:
            _, broken_off = by_break.setdefault((each.broken.log, each.broken.time), (each.broken, []))
            broken_off.append(each)
    if not by_break:
        text = "outputs are in transactions, and positions are committed beside them"
        return [Step(time=began, text=text)], []
    broken, largest = max(by_break.values(), key=lambda each: (each[0].event is not None, len(each[1])))
    faults = once(each.event for each, _ in by_break.values() if each.event is not None)
    return [*_steps(kind, broken, largest, run)], faults


def _steps(kind: CauseKind, broken: Break, repeats: Sequence[Repeat], run: RunEvidence) -> Iterator[Step]:
    if broken.event is not None:
        yield from fault_steps([broken.event], run)
    else:
        yield Step(time=run.at(broken.time), text=broken.text, is_fault=True)
    at = "none was" if broken.position is None else f"position {broken.position:,} was"
    how = " in a transaction that ended, and their positions are not part of it" if kind is OUTSIDE else ""
    written = max(each.times[0] for each in repeats)
    which = offsets([each.one for each in repeats])
    text = (
        f"the outputs of {which} of {broken.log} were written{how}, before the commit: {at} committed when "
        f"{_ending(broken)}"
    )
    yield Step(time=run.at(min(written, broken.time)), text=text)
    again = min(each.times[1] for each in repeats)
    owner = broken.turn.owner if broken.turn is not None else broken.owner
    yield Step(
        time=run.at(again), text=f"{owner} begins there and writes {count(len(repeats), 'output')} again"
    )


def _ending(broken: Break) -> str:
    words = {
        "kill-client": "was killed",
        "stop-client": "was asked to end",
        "pause-client": "was frozen",
        "isolate-app": "was cut off from the brokers",
    }
    if broken.event is not None:
        return f"{broken.owner} {words[broken.event.fault]}"
    return broken.text.replace("gets another", "got another")


REPEATED_OUTPUTS = Explainer(
    rank=61,
    kinds=(OUTSIDE, RETRIED, AFTER_OUTPUT),
    examines=RECORDS,
    explain=repeated_outputs,
)
