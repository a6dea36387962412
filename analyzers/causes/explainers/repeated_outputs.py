"""Repeated outputs, and outputs of one key that changed their order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analyzers.causes.application import Application, Input, Output, Turn
from analyzers.causes.evidence import RunEvidence
from analyzers.causes.explainer import SENT_IN_ORDER, SENT_ONCE, CauseKind, Explainer, Explanation
from analyzers.causes.explainers.application_outputs import (
    HOLDING,
    OUTSIDE,
    RECORDS,
    REVOKED,
    ends_of,
    explanations,
    faults_of,
    late_output,
    late_work,
    offsets,
    revoked_steps,
)
from analyzers.causes.words import fault_steps
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.finding import Step
from analyzers.verdict.wording import count, seconds

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


class Repeat(NamedTuple):
    """times: of the outputs, as far as they are known, in ns; at least two."""

    one: Input
    times: Sequence[int]
    broken: Break | None


def repeated_outputs(run: RunEvidence) -> Iterator[Explanation]:
    application = run.application
    if application is None:
        return
    yield from explanations(
        run,
        REPEATED,
        [*_repeats(application, run)],
        # The finding has the time of the second output by its place in the sink, so that any of these may be it.
        inputs=lambda repeat: [(repeat.one, time) for time in repeat.times],
        story=lambda kind, repeats: _story_of_repeats(kind, repeats, application, run),
    )


def _repeats(application: Application, run: RunEvidence) -> Iterator[tuple[Repeat, CauseKind]]:
    for one in application.every_input():
        times = [made.time for made in one.outputs if made.time is not None]
        if len(times) < 2:
            continue
        broken = _break(one, times, application, run)
        kind = _kind_of_repeat(one, times, broken, application, run)
        if kind is not None:
            yield Repeat(one, times, broken), kind


def _kind_of_repeat(
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


def _story_of_repeats(
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
    faults = [each.event for each, _ in by_break.values() if each.event is not None]
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


REORDERED = frozenset({"reordered-output"})

OVERLAP = CauseKind(
    name="sends of one key overlap",
    happened="application",
    changes="application",
    explains=REORDERED,
    established="An instance sent the output of a later input of a key before that of an earlier one, and was not "
    "assigned the partition anew in between; or different producers sent them while the partition had one owner.",
    why="a partition is read in order, so the work on the first input had not ended when the second was sent: "
    "threads or queues take inputs of the same key",
    change="give all inputs of a key (or of a partition) to the same thread or queue, and begin with the next one "
    "after the send of the one before",
    source="Kafka documentation, KafkaConsumer: multi-threaded processing",
)
IN_FLIGHT = CauseKind(
    name="several requests in flight without idempotence",
    circumstance=SENT_IN_ORDER,
    happened="application",
    changes="application",
    explains=REORDERED,
    established="The outputs were sent in order, without a producer id, and lie in the sink in another order.",
    why="a request that is retried comes after the one that was sent behind it",
    change="enable.idempotence=true, or max.in.flight.requests.per.connection=1, in the application's producer",
    source="Kafka documentation, producer configs: max.in.flight.requests.per.connection",
)


class Placed(NamedTuple):
    """The first output of an input in a partition of the sink; when it was sent, ns, and in whose turn."""

    one: Input
    made: Output
    time: int
    turn: Turn


class Swap(NamedTuple):
    """The output of `late` lies behind that of `early`, which comes later in the log of the source."""

    late: Placed
    early: Placed


def reordered_outputs(run: RunEvidence) -> Iterator[Explanation]:
    application = run.application
    if application is None:
        return
    swaps = [
        (swap, kind)
        for swap in _swaps(application)
        if (kind := _kind_of_swap(swap, application, run)) is not None
    ]
    yield from explanations(
        run,
        REORDERED,
        swaps,
        inputs=lambda swap: [(swap.late.one, swap.late.time)],
        story=lambda kind, of_kind: _story_of_swaps(kind, of_kind, application, run),
    )


def _swaps(application: Application) -> Iterator[Swap]:
    """Of each overtaken input and partition of the sink, with the next one of its key that overtook it. Not where a
    time or an owner is unknown."""
    for inputs in application.inputs.values():
        waiting: dict[tuple[int, int], list[Placed]] = defaultdict(list)
        for one in inputs:
            firsts: dict[int, Output] = {}
            for made in sorted(one.outputs, key=lambda each: each.offset):
                firsts.setdefault(made.partition, made)
            for partition, made in firsts.items():
                if one.key is None or made.time is None:
                    continue
                if (turn := application.owner(one.log, made.time)) is None:
                    continue
                placed = Placed(one, made, made.time, turn)
                # Those that nothing has overtaken yet lie in the order of their inputs.
                rest = waiting[one.key, partition]
                while rest and made.offset < rest[-1].made.offset:
                    late = rest.pop()
                    yield Swap(late, placed)
                rest.append(placed)


def _kind_of_swap(swap: Swap, application: Application, run: RunEvidence) -> CauseKind | None:
    late, early = swap
    if _has_one_sender(swap, application):
        return OVERLAP
    if any(late_output(each.one, application, run) for each in swap):
        return REVOKED
    if late.turn != early.turn:
        return None
    if late.time >= early.time or late.made.producer != early.made.producer:
        return OVERLAP
    return IN_FLIGHT if late.made.producer is None else None


def _has_one_sender(swap: Swap, application: Application) -> bool:
    """Whether an instance sent both, the later input first, and was not assigned the partition anew in between. A
    change of the owner has no part in it then."""
    late, early = swap
    sender = application.writers.get(late.made.producer)
    return (
        sender is not None
        and late.made.producer == early.made.producer
        and late.time >= early.time
        and not any(
            turn.owner == sender and early.time < turn.time <= late.time
            for turn in application.turns[late.one.log]
        )
    )


def _story_of_swaps(
    kind: CauseKind, swaps: Sequence[Swap], application: Application, run: RunEvidence
) -> tuple[list[Step], list[FaultEvent]]:
    if kind is REVOKED:
        return revoked_steps([each.one for swap in swaps for each in swap], application, run)
    late, early = min(swaps, key=lambda swap: swap.late.time)
    one, other, key = late.one, early.one, f"key-{late.one.key}"
    if kind is IN_FLIGHT:
        text = (
            f"the output of the input at {one.offset:,} of {one.log} ({key}) was sent before that of the input at "
            f"{other.offset:,}, and lies behind it in {application.sink}-{late.made.partition}"
        )
        return [Step(time=run.at(early.time), text=text)], []
    apart = (late.time - early.time) / 1e9
    gap = f"{seconds(abs(apart))} {'before' if apart < 0 else 'after'}" if apart else "at the same time as"
    sender = application.writers.get(late.made.producer, late.turn.owner)
    also = " and has another producer" if apart < 0 else ""
    text = (
        f"two sends of {key} overlapped: the output of the input at {one.offset:,} of {one.log} was sent by "
        f"{sender} {gap} that of the input at {other.offset:,}, which comes after it{also}"
    )
    return [Step(time=run.at(min(late.time, early.time)), text=text)], []


REORDERED_OUTPUTS = Explainer(
    rank=62,
    kinds=(REVOKED, IN_FLIGHT, OVERLAP),
    examines=RECORDS,
    explain=reordered_outputs,
)
