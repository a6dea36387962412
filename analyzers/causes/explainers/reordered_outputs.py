"""Reordered outputs: those of two inputs of a key changed places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from analyzers.causes.application import Application, Input, Output
from analyzers.causes.circumstance import SENT_IN_ORDER
from analyzers.causes.evidence import Explanation, RunEvidence
from analyzers.causes.explainer import Explainer
from analyzers.causes.explainers.application_words import RECORDS, circumstances_of, explained
from analyzers.causes.explainers.late_outputs import REVOKED, late_output, revoked_steps
from analyzers.causes.kind import CauseKind
from analyzers.verdict.cause import Step
from analyzers.verdict.wording import seconds

REORDERED = frozenset({"reordered-output"})

OVERLAP = CauseKind(
    name="sends of one key overlap",
    happened="application",
    changes="application",
    explains=REORDERED,
    established="While a partition had one owner, the output of a later input of a key was sent before that of an "
    "earlier one, or both were sent by different producers.",
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


class Swap(NamedTuple):
    """The output of `one` lies behind that of `other`, which comes later in the log of the source."""

    one: Input
    made: Output
    other: Input
    before: Output


def reordered_outputs(run: RunEvidence) -> Iterator[Explanation]:
    application = run.application
    if application is None:
        return
    kinds = [
        (swap, kind) for swap in _swaps(application) if (kind := _kind(swap, application, run)) is not None
    ]
    found = [(swap.one, swap.made.time or 0, kind) for swap, kind in kinds]
    for kind, extents in explained(run, REORDERED, found):
        circumstances = circumstances_of(kind)
        swaps = [swap for swap, of in kinds if of is kind]
        if kind is REVOKED:
            steps, faults = revoked_steps(
                [each for swap in swaps for each in (swap.one, swap.other)], application, run
            )
            yield Explanation(
                kind=kind, extents=extents, circumstances=circumstances, steps=steps, faults=faults
            )
        else:
            steps = [*_steps(swaps[0], kind, application, run)]
            yield Explanation(kind=kind, extents=extents, circumstances=circumstances, steps=steps)


def _swaps(application: Application) -> Iterator[Swap]:
    """Of each overtaken input and partition of the sink, with the next one of its key that overtook it."""
    for inputs in application.inputs.values():
        placed: dict[tuple[int, int], list[tuple[Input, Output]]] = defaultdict(list)
        for one in inputs:
            firsts: dict[int, Output] = {}
            for made in one.outputs:
                known = firsts.get(made.partition)
                firsts[made.partition] = made if known is None or made.offset < known.offset else known
            if one.key is not None:
                for partition, made in firsts.items():
                    placed[one.key, partition].append((one, made))
        for of_key in placed.values():
            later = [*accumulate((made.offset for _, made in reversed(of_key)), min)][::-1]
            for number, (one, made) in enumerate(of_key[:-1]):
                if later[number + 1] < made.offset:
                    following = of_key[number + 1 :]
                    yield Swap(one, made, *next(each for each in following if each[1].offset < made.offset))


def _kind(swap: Swap, application: Application, run: RunEvidence) -> CauseKind | None:
    sent, before = swap.made.time, swap.before.time
    if sent is None or before is None:
        return None
    log = swap.one.log
    if (
        late_output(swap.one, application, run) is not None
        or late_output(swap.other, application, run) is not None
    ):
        return REVOKED
    if application.owner(log, sent) != application.owner(log, before):
        return None
    if sent >= before or swap.made.producer != swap.before.producer:
        return OVERLAP
    return IN_FLIGHT if swap.made.producer is None else None


def _steps(swap: Swap, kind: CauseKind, application: Application, run: RunEvidence) -> Iterator[Step]:
    sent, before, log = swap.made.time or 0, swap.before.time or 0, swap.one.log
    turn = application.owner(log, sent)
    by = f" by {turn.owner}" if turn is not None else ""
    key = f"key-{swap.one.key}"
    if kind is IN_FLIGHT:
        text = (
            f"the output of the input at {swap.one.offset:,} of {log} ({key}) was sent before that of the input at "
            f"{swap.other.offset:,}, and lies behind it in {application.sink}-{swap.made.partition}"
        )
        yield Step(time=run.at(before), text=text)
        return
    gap = "at the same time as" if sent == before else f"{seconds(abs(sent - before) / 1e9)} after"
    text = (
        f"two sends of {key} overlapped: the output of the input at {swap.one.offset:,} of {log} was sent{by} {gap} "
        f"that of the input at {swap.other.offset:,}, which comes after it"
    )
    yield Step(time=run.at(min(sent, before)), text=text)


REORDERED_OUTPUTS = Explainer(
    rank=62,
    kinds=(REVOKED, IN_FLIGHT, OVERLAP),
    examines=RECORDS,
    explain=reordered_outputs,
)
