"""Reordered outputs: those of two inputs of a key changed places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analyzers.causes.application import Application, Input, Output, Turn
from analyzers.causes.circumstance import SENT_IN_ORDER
from analyzers.causes.evidence import Explanation, RunEvidence
from analyzers.causes.explainer import Explainer
from analyzers.causes.explainers.application_words import RECORDS, circumstances_of, explained
from analyzers.causes.explainers.late_outputs import REVOKED, late_output, revoked_steps
from analyzers.causes.kind import CauseKind
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.cause import Step
from analyzers.verdict.wording import seconds

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
    kinds = [
        (swap, kind) for swap in _swaps(application) if (kind := _kind(swap, application, run)) is not None
    ]
    found = [(swap.late.one, swap.late.time, kind) for swap, kind in kinds]
    for kind, extents in explained(run, REORDERED, found):
        swaps = [swap for swap, of in kinds if of is kind]
        steps, faults = _story(kind, swaps, application, run)
        yield Explanation(
            kind=kind, extents=extents, circumstances=circumstances_of(kind), steps=steps, faults=faults
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


def _kind(swap: Swap, application: Application, run: RunEvidence) -> CauseKind | None:
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


def _story(
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
