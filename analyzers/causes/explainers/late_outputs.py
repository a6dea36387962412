"""Late outputs: an instance wrote or committed outputs of a partition that had been given to another one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from analyzers.causes.application import Application, Input, Turn
from analyzers.causes.circumstance import LATE_OUTPUTS
from analyzers.causes.evidence import RunEvidence
from analyzers.causes.explainers.application_words import ENDING, HOLDING, ends_of
from analyzers.causes.kind import CauseKind
from analyzers.causes.words import MOST_FAULTS, fault_steps
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.cause import Step
from analyzers.verdict.wording import count

REVOKED = CauseKind(
    name="goes on with a revoked partition",
    circumstance=LATE_OUTPUTS,
    happened="application",
    changes="application",
    explains=frozenset({"duplicate-output", "reordered-output"}),
    established="The owner of a partition changed, and the one before wrote outputs of it afterwards, or committed "
    "a transaction with its outputs, or a position before that of the new owner.",
    why="the old owner goes on with the inputs that it holds, and the new one reads them again",
    change="a rebalance listener: on_revoke (onPartitionsRevoked) finishes or drops the inputs in hand, and commits; "
    "on_lost (onPartitionsLost) drops them, for others have them already",
    source="ConsumerRebalanceListener; KIP-429 (onPartitionsLost)",
)

BEFORE = 30_000_000_000
"""ns before a change of owner, in which a fault of an instance may have led to it."""


class Late(NamedTuple):
    """turn: that of the new owner, and old: the instance that had the partition before. time: ns, of the output, or
    of a commit where only that was late. position: that was committed by it, if it is before the input."""

    log: str
    old: str
    turn: Turn
    time: int
    is_commit: bool = False
    position: int | None = None


def late_output(one: Input, application: Application, run: RunEvidence) -> Late | None:
    """By the id of its producer; without, by elimination: the new owner reads an input once."""
    for made in one.outputs:
        if made.time is not None and (found := _former_owner(application, one.log, made.producer, made.time)):
            old, turn = found
            return Late(one.log, old, turn, made.time)
    return _by_elimination(one, application, run)


def late_work(one: Input, application: Application, run: RunEvidence) -> Late | None:
    """A late output or, if there is none, a late commit of an output, or of a position before the input."""
    return late_output(one, application, run) or _late_commit(one, application) or _set_back(one, application)


def _late_commit(one: Input, application: Application) -> Late | None:
    """The output was written in time, and its transaction was committed late: the new owner had its position by
    then."""
    for made in one.outputs:
        commit = next(
            (
                each
                for each in application.commits.get(one.log, ())
                if each.transaction == made.producer
                and each.position > one.offset
                and made.time is not None
                and each.time >= made.time
            ),
            None,
        )
        if commit is not None and (
            found := _former_owner(application, one.log, commit.transaction, commit.time)
        ):
            old, turn = found
            return Late(one.log, old, turn, commit.time, is_commit=True)
    return None


def _set_back(one: Input, application: Application) -> Late | None:
    """The position behind the input was committed after its output, and an instance that did not have the partition
    any more committed an earlier one before the input had another output."""
    times = [made.time for made in one.outputs if made.time is not None]
    first, last = min(times), max(times)
    passed = False
    for commit in application.commits.get(one.log, ()):
        if commit.position > one.offset:
            passed = commit.time >= first
        elif (
            passed
            and commit.time <= last
            and (found := _former_owner(application, one.log, commit.transaction, commit.time))
        ):
            old, turn = found
            return Late(one.log, old, turn, commit.time, is_commit=True, position=commit.position)
    return None


def _former_owner(
    application: Application, log: str, producer: int | None, time: int
) -> tuple[str, Turn] | None:
    """The instance that this producer belongs to, if another one had the partition at this time, and this one before;
    with the turn of the other one."""
    turn = application.owner(log, time)
    if turn is None:
        return None
    writer = application.writers.get(producer)
    former = {each.owner for each in application.turns[log] if each.time < turn.time} - {turn.owner}
    return (writer, turn) if writer in former else None


def _by_elimination(one: Input, application: Application, run: RunEvidence) -> Late | None:
    times = [made.time for made in one.outputs[:2] if made.time is not None and made.producer is None]
    if len(times) < 2 or times[0] == times[1]:
        return None
    turn, last = application.owner(one.log, times[0]), application.owner(one.log, times[1])
    if turn is None or turn != last:
        return None
    before = [each for each in application.turns.get(one.log, ()) if each.time < turn.time]
    if not before or before[-1].owner == turn.owner:
        return None
    old = before[-1].owner
    began_again = any(each.time <= times[1] for each in ends_of(turn.owner, turn.time, run))
    is_gone = any(each.time <= times[0] for each in ends_of(old, before[-1].time, run))
    return None if began_again or is_gone else Late(one.log, old, turn, times[1])


def revoked_steps(
    inputs: Iterable[Input], application: Application, run: RunEvidence
) -> tuple[list[Step], list[FaultEvent]]:
    """Of the change of an owner that has most of those with late work, which one of them has at least."""
    by_turn: dict[tuple[str, str, Turn], list[Late]] = defaultdict(list)
    for one in dict.fromkeys(inputs):  # an input may have changed places in several partitions of the sink
        if (late := late_work(one, application, run)) is not None:
            by_turn[late.log, late.old, late.turn].append(late)
    log, old, turn = max(by_turn, key=lambda each: len(by_turn[each]))
    faults = [
        event
        for event in run.events
        if event.fault in ENDING | HOLDING and event.active_between(turn.time - BEFORE, turn.time)
    ][-MOST_FAULTS:]
    steps = [
        *fault_steps(faults, run),
        Step(time=run.at(turn.time), text=f"the owner of {log} changed from {old} to {turn.owner}"),
        *_late_steps(by_turn[log, old, turn], application, run),
    ]
    return steps, faults


def _late_steps(lates: Sequence[Late], application: Application, run: RunEvidence) -> Iterator[Step]:
    """Of one change of the owner."""
    log, old, turn, *_ = lates[0]
    written = _written(log, old, turn, application) or [each.time for each in lates if not each.is_commit]
    committed = [each.time for each in lates if each.position is None]
    back = [(each.time, each.position) for each in lates if each.position is not None]
    text = (
        f"wrote {count(len(written), 'output')} of it after that"
        if written
        else f"committed a transaction with {count(len(committed), 'output')} of it after that"
    )
    if times := sorted({*(written or committed)}):
        end = f"; the last at {run.moment(times[-1])}" if len(times) > 1 else ""
        yield Step(time=run.at(times[0]), text=f"the old owner, {old}, {text}{end}")
    if back:
        time, position = min(back)
        yield Step(time=run.at(time), text=f"the old owner, {old}, set the position back to {position:,}")


def _written(log: str, old: str, turn: Turn, application: Application) -> list[int]:
    """ns, of all outputs of the log that the old owner wrote in the turn of the new one."""
    return [
        made.time
        for one in application.inputs.get(log, ())
        for made in one.outputs
        if made.time is not None
        and application.owner(log, made.time) == turn
        and application.writers.get(made.producer) == old
    ]
