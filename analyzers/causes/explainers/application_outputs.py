"""What the explainers of an application's outputs have in common: what ended or held an instance, and outputs that an
instance wrote or committed of a partition that had been given to another one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from statistics import mode
from typing import NamedTuple, TypeVar

from analyzers.causes.application import Application, Input, Turn
from analyzers.causes.cuts import find_cuts
from analyzers.causes.evidence import Extent, RunEvidence
from analyzers.causes.explainer import BESIDE_TRANSACTIONS, LATE_OUTPUTS, CauseKind, Explanation, Records
from analyzers.causes.words import MOST_FAULTS, fault_steps
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.finding import Step
from analyzers.verdict.wording import client_name, count

T = TypeVar("T")

OUTSIDE = CauseKind(
    name="positions outside of the transaction",
    circumstance=BESIDE_TRANSACTIONS,
    happened="application",
    changes="application",
    explains=frozenset({"missing-output", "duplicate-output"}),
    established="Outputs were written in transactions, and no position was committed in one.",
    why="positions are not part of the transaction: a crash between it and the commit repeats its outputs, and one "
    "between the commit and its end loses them",
    change="send_offsets_to_transaction() (sendOffsetsToTransaction) with the consumer's group metadata, and no "
    "commit beside it",
    source="KIP-98 (transactions), KIP-447 (group metadata)",
)


def _has_commits(run: RunEvidence, _: Sequence[Extent]) -> bool:
    return run.application is not None and any(run.application.commits.values())


def _has_owners(run: RunEvidence, _: Sequence[Extent]) -> bool:
    return run.application is not None and any(run.application.turns.values())


RECORDS = (
    Records(name="commits of the application's group", are_there=_has_commits),
    Records(name="owners of its partitions", are_there=_has_owners),
)

ENDING = frozenset({"kill-client", "stop-client"})
"""Faults that end an instance."""

HOLDING = frozenset({"pause-client", "isolate-app"})
"""Faults during which a group goes on without an instance that is still alive."""


class End(NamedTuple):
    """What ended an instance. Time in ns. event: None where it ended by itself."""

    time: int
    text: str
    event: FaultEvent | None = None


def ends_of(owner: str, since: int, run: RunEvidence) -> Iterator[End]:
    """In order of time."""
    found = [
        End(began, f"{owner} is ended", event)
        for began, event in faults_of(owner, run, ENDING)
        if began >= since
    ]
    if run.application is not None:
        found += [
            End(each.time, f"{owner} ended by itself with status {each.status}")
            for each in run.application.events
            if each.event == "ended" and each.instance == owner and each.time >= since
        ]
    yield from sorted(found, key=lambda each: each.time)


def faults_of(owner: str, run: RunEvidence, faults: Collection[str]) -> Iterator[tuple[int, FaultEvent]]:
    """On an instance, each with the time at which it began, ns."""
    for event in run.events:
        names = {client_name(each, run.clients) for each in event.processes}
        began = event.began if event.took_effect else None
        if began is not None and event.fault in faults and owner in names:
            yield began, event


def sink_cuts(application: Application, run: RunEvidence) -> list[int]:
    """ns, when a leader of the sink had lost the end of its log."""
    logs = [log for log in run.changes if log.rpartition("-")[0] == application.sink]
    return [cut.after.time for log in logs for cut in find_cuts(run.of_log(log), (), run) if cut.before.leads]


def offsets(inputs: Sequence[Input]) -> str:
    """``the inputs at 385 to 584``, or how many there are between these where some are not among them."""
    low, high = inputs[0].offset, inputs[-1].offset
    if low == high:
        return f"the input at {low:,}"
    if high - low + 1 == len(inputs):
        return f"the inputs at {low:,} to {high:,}"
    return f"{len(inputs):,} inputs at {low:,} to {high:,}"


def explanations(
    run: RunEvidence,
    anomalies: Collection[str],
    cases: Sequence[tuple[T, CauseKind]],
    inputs: Callable[[T], Iterable[tuple[Input, int]]],
    story: Callable[[CauseKind, Sequence[T]], tuple[Sequence[Step], Sequence[FaultEvent]]],
) -> Iterator[Explanation]:
    """One for each kind, with the findings of which it explains the most.

    cases   each with the kind of its cause.
    inputs  those of a case, each with the time in ns that a finding about it may have.
    story   the steps and the faults of the cases of one kind.
    """
    by_log: dict[str | None, list[tuple[Input, int, CauseKind]]] = defaultdict(list)
    for case, kind in cases:
        for one, time in inputs(case):
            by_log[one.log].append((one, time, kind))
    by_kind: dict[CauseKind, list[Extent]] = defaultdict(list)
    for extent in run.extents:
        if extent.anomaly in anomalies:
            kinds = [kind for one, time, kind in by_log[extent.log] if _is_in(one, time, extent)]
            if kinds:
                by_kind[mode(kinds)].append(extent)
    for kind, extents in by_kind.items():
        steps, faults = story(kind, [case for case, of in cases if of is kind])
        yield Explanation(
            kind=kind,
            extents=extents,
            circumstances=() if kind.circumstance is None else (kind.circumstance,),
            steps=steps,
            faults=list({fault.event: fault for fault in faults}.values()),
        )


def _is_in(one: Input, time: int, extent: Extent) -> bool:
    return _is_between(extent.low, one.offset, extent.high) and _is_between(extent.first, time, extent.last)


def _is_between(low: int | None, value: int, high: int | None) -> bool:
    """Both inclusive; None: without a limit."""
    return (low is None or low <= value) and (high is None or value <= high)


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
    written = _times_of_late_outputs(log, old, turn, application) or [
        each.time for each in lates if not each.is_commit
    ]
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


def _times_of_late_outputs(log: str, old: str, turn: Turn, application: Application) -> list[int]:
    """ns, of all outputs of the log that the old owner wrote in the turn of the new one."""
    return [
        made.time
        for one in application.inputs.get(log, ())
        for made in one.outputs
        if made.time is not None
        and application.owner(log, made.time) == turn
        and application.writers.get(made.producer) == old
    ]
