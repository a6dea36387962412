"""Lost outputs: an application committed a position behind inputs that have no output."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from analyzers.causes.application import Application, Commit, Event, Habit, Input, habit
from analyzers.causes.evidence import RunEvidence
from analyzers.causes.explainer import BY_TIMER, COMMIT_FIRST, SENDS_FAILED, CauseKind, Explainer, Explanation
from analyzers.causes.explainers.application_outputs import (
    OUTSIDE,
    RECORDS,
    End,
    ends_of,
    explanations,
    offsets,
    sink_cuts,
)
from analyzers.causes.words import MOST_FAULTS, fault_steps
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.finding import Step
from analyzers.verdict.wording import count, seconds

LOST = frozenset({"missing-output"})

CONSUMER = (
    "Kafka documentation, consumer configs: enable.auto.commit; KafkaConsumer: offsets and consumer position"
)
PRODUCER = "Kafka documentation, KafkaProducer: send() is asynchronous; flush()"

PASSED = (
    "A position was committed, inputs below it have no output, and their instance wrote none of later inputs to the "
    "same partition of the sink"
)

UNFLUSHED = CauseKind(
    name="commits before the outputs are acknowledged",
    happened="application",
    changes="application",
    explains=LOST,
    established=f"{PASSED}. Other outputs were sent before their commits.",
    why="a crash loses what waits in the producer: its inputs are below the committed position, so nobody reads them "
    "again",
    change="flush(), or wait for the deliveries, before the commit",
    source=PRODUCER,
)
BEFORE_WORK = CauseKind(
    name="commits before the work",
    circumstance=COMMIT_FIRST,
    happened="application",
    changes="application",
    explains=LOST,
    established=f"{PASSED}. Most outputs were sent after the position behind their input had been committed.",
    why="a crash loses the inputs that are not done: they are below the committed position, so nobody reads them "
    "again",
    change="commit after the work: flush(), or wait for the deliveries, before the commit",
    source=CONSUMER,
)
TIMER = CauseKind(
    name="enable.auto.commit while inputs wait",
    circumstance=BY_TIMER,
    happened="application",
    changes="application",
    explains=LOST,
    established=f"{PASSED}. Commits came at regular intervals, whatever outputs there were.",
    why="the timer commits what poll() has returned, also where a thread or a queue has not done it yet",
    change="enable.auto.commit=false and a commit of what is done, or enable.auto.offset.store=false and "
    "store_offsets() when the output is acknowledged",
    source=CONSUMER,
)
IGNORED = CauseKind(
    name="ignores the results of sends",
    circumstance=SENDS_FAILED,
    happened="application",
    changes="application",
    explains=LOST,
    established="A position was committed, and inputs below it have no output. Their instance lived on and wrote "
    "outputs of later inputs to the same partition of the sink; or it printed that sends failed, and nothing is "
    "known to have ended it within a second, or it printed that at least as often as inputs were passed.",
    why="a send that fails is reported to its callback or future only; the commit after it passes the input for good",
    change="check the result of each send before the commit; on an error, send again, or end without a commit",
    source=PRODUCER,
)

LATER = 1_000_000_000
"""ns after the commit. An output that is sent later is of an instance that lived on, and not of one that was ended
while the output before was under way."""

AROUND = 10_000_000_000
"""ns around a commit."""

IN_FLIGHT = 200_000_000
"""ns by which the coordinator may write a commit down after its client was ended."""

_OF_SENDS = re.compile(r"(?i)deliver|\bsen[dt]|produc|timed?[ _]?out|expired|batch")

_OF_OTHERS = re.compile(r"(?i)^caused by|\bretr(y|ies)|commit|\bpoll\b")
"""A second line about the same failure, a send that is not given up yet, or what is no send."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Inputs without an output that one commit passed.

    began     ns, when the first input without an output that the commit passed was fed.
    end       what ended their instance then; None where nothing did.
    later     ns, when the instance wrote of a later input to where the outputs of these belong; None where it did
              not.
    failures  sends that failed, as it printed from when the inputs were fed until a second after the commit.
    is_all_printed  whether its process printed as many failed sends until then as it passed inputs without an output.
    """

    log: str
    commit: Commit
    owner: str
    inputs: Sequence[Input]
    began: int
    end: End | None
    later: int | None
    failures: Sequence[Event]
    is_all_printed: bool

    @property
    def is_ignored(self) -> bool:
        """Whether no end of the instance made it lose the outputs. A producer that is killed prints nothing about
        the records that wait in it."""
        is_ended = self.end is not None and self.end.time <= self.commit.time + LATER
        return self.later is not None or (bool(self.failures) and (self.is_all_printed or not is_ended))

    @property
    def crash(self) -> End | None:
        """The end of the instance that lost the outputs."""
        return None if self.is_ignored else self.end


def lost_outputs(run: RunEvidence) -> Iterator[Explanation]:
    application = run.application
    if application is None:
        return
    usual = habit(application)
    losses = [(loss, _kind(loss, application, usual)) for loss in _losses(application, run)]
    yield from explanations(
        run,
        LOST,
        losses,
        inputs=lambda loss: [(one, loss.commit.time) for one in loss.inputs],
        story=lambda kind, of_kind: (
            [*_steps(max(of_kind, key=lambda loss: len(loss.inputs)), kind, usual, run, application.sink)],
            [event for loss in of_kind for event in _faults(loss, run)],
        ),
    )


class Passed(NamedTuple):
    """Inputs of one owner without an output that one commit passed."""

    log: str
    commit: Commit
    owner: str
    inputs: list[Input]


def _passed(application: Application, run: RunEvidence) -> Iterator[Passed]:
    """Not while a leader of the sink lost the end of its log: the outputs may have been acknowledged. Not where the
    owner is unknown: its end would be unknown, too."""
    cuts = sink_cuts(application, run)
    for log, inputs in application.inputs.items():
        by_commit: dict[Commit, list[Input]] = defaultdict(list)
        for one in inputs:
            if not one.outputs and (commit := application.passing(one)) is not None:
                by_commit[commit].append(one)
        for commit, lost in by_commit.items():
            turn = application.owner(log, commit.time)
            if turn is not None and not any(abs(cut - commit.time) < AROUND for cut in cuts):
                yield Passed(log, commit, turn.owner, lost)


def _losses(application: Application, run: RunEvidence) -> Iterator[Loss]:
    every = [*_passed(application, run)]
    failed: dict[str, list[Event]] = defaultdict(list)
    for event in filter(_is_failed_send, application.events):
        failed[event.instance].append(event)
    for log, commit, owner, lost in every:
        began = min((one.fed for one in lost if one.fed is not None), default=commit.time)
        ended = commit.time + LATER  # what is printed is seen a little later
        since = _started(owner, commit.time, application)
        lines = sum(since <= each.time <= ended for each in failed[owner])
        passed = sum(
            len(each.inputs) for each in every if each.owner == owner and since <= each.commit.time <= ended
        )
        end = next(ends_of(owner, commit.time - IN_FLIGHT, run), None)
        stops = (end, application.next_turn(log, commit.time))
        until = min((each.time for each in stops if each is not None), default=inf)
        later = _later(application.inputs[log], commit, until)
        for partitions, of_these in _apart(lost, application, later.keys()):
            yield Loss(
                log=log,
                commit=commit,
                owner=owner,
                inputs=of_these,
                began=began,
                end=end,
                later=max((later[each] for each in partitions), default=None),
                failures=[each for each in failed[owner] if began <= each.time <= ended],
                is_all_printed=lines >= passed,
            )


def _started(owner: str, time: int, application: Application) -> float:
    """ns, when the process began that the instance had then; -inf where that is unknown."""
    starts = [each.time for each in application.events if each.event == "started" and each.instance == owner]
    return max((each for each in starts if each <= time), default=-inf)


def _is_failed_send(event: Event) -> bool:
    line = event.line or ""
    return bool(_OF_SENDS.search(line)) and not _OF_OTHERS.search(line)


def _later(inputs: Sequence[Input], commit: Commit, until: float) -> dict[int, int]:
    """ns by partition of the sink, when the first output of an input above the position was sent, before the instance
    ended or another one had the partition, and long enough after the commit to be of an instance that lived on.

    A producer writes to a partition in the order in which it sends: while a leader cannot be reached, what it writes
    to others says nothing."""
    found: dict[int, int] = {}
    for one in inputs:
        for made in one.outputs:
            if (
                one.offset >= commit.position
                and made.time is not None
                and commit.time + LATER < made.time < until
            ):
                found[made.partition] = min(made.time, found.get(made.partition, made.time))
    return found


def _apart(
    lost: Sequence[Input], application: Application, overtaken: Set[int]
) -> Iterator[tuple[Set[int], list[Input]]]:
    """The inputs whose outputs belong to these partitions of the sink, with the partitions; and the others with
    none."""
    inside: list[Input] = []
    outside: list[Input] = []
    for one in lost:
        (inside if application.sink_partitions_of(one) <= overtaken else outside).append(one)
    if inside:
        yield frozenset().union(*map(application.sink_partitions_of, inside)), inside
    if outside:
        yield frozenset(), outside


def _kind(loss: Loss, application: Application, usual: Habit | None) -> CauseKind:
    if application.positions_are_outside:
        return OUTSIDE
    if loss.is_ignored:
        return IGNORED
    kind, _ = _too_early(usual)
    return kind


def _too_early(usual: Habit | None) -> tuple[CauseKind, str]:
    """The kind of a loss by a crash, and how its commit came before the outputs."""
    if usual is not None and usual.is_timer:
        return TIMER, f"by timer, every {usual.interval:.1f} s, before its outputs were acknowledged"
    if usual is not None and usual.is_before_work:
        return BEFORE_WORK, f"before its outputs were sent, usually {seconds(usual.behind)} later"
    return UNFLUSHED, "before its outputs were acknowledged"


def _faults(loss: Loss, run: RunEvidence) -> list[FaultEvent]:
    """That let it happen: what ended the instance or, where it lived on, what was at work while it sent."""
    if loss.crash is not None:
        return [] if loss.crash.event is None else [loss.crash.event]
    return run.active(loss.began, loss.commit.time)


def _steps(loss: Loss, kind: CauseKind, usual: Habit | None, run: RunEvidence, sink: str) -> Iterator[Step]:
    yield from fault_steps(_faults(loss, run)[:MOST_FAULTS], run)
    if loss.crash is not None and loss.crash.event is None:
        yield Step(time=run.at(loss.crash.time), text=loss.crash.text, is_fault=True)
    if kind is IGNORED:
        yield from _failed(loss, run, sink)
        return
    if kind is OUTSIDE:
        how = f"in no transaction; the outputs of {offsets(loss.inputs)} were in one that never took effect"
    else:
        _, too_early = _too_early(usual)
        how = f"{too_early}: {offsets(loss.inputs)} never had any in {sink}"
    yield Step(
        time=run.at(loss.commit.time),
        text=f"position {loss.commit.position:,} of {loss.log} was committed {how}",
    )
    if loss.end is None:
        yield Step(
            time=None,
            text=f"why these outputs did not come is not determined: nothing is known to have ended {loss.owner}",
        )


def _failed(loss: Loss, run: RunEvidence, sink: str) -> Iterator[Step]:
    which = offsets(loss.inputs)
    if loss.failures:
        # The nearest one: earlier ones may be of sends before these.
        printed = min(loss.failures, key=lambda each: abs(each.time - loss.commit.time))
        yield Step(time=run.at(printed.time), text=f"{loss.owner} printed: {printed.line}")
        which_failed = f"the sends of {count(len(loss.inputs), 'input')} failed, as {loss.owner} printed"
    else:
        which_failed = f"the sends of {count(len(loss.inputs), 'input')} failed, or were never made"
    text = (
        f"position {loss.commit.position:,} of {loss.log} was committed all the same: {which_failed}; "
        f"{which} never had an output in {sink}"
    )
    yield Step(time=run.at(loss.commit.time), text=text)
    if loss.later is not None:
        yield Step(time=run.at(loss.later), text=f"{loss.owner} lived on: it writes outputs of later inputs")


LOST_OUTPUTS = Explainer(
    rank=60,
    kinds=(IGNORED, TIMER, BEFORE_WORK, UNFLUSHED),
    examines=RECORDS,
    explain=lost_outputs,
)
