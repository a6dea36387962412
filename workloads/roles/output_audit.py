"""Records what an application wrote, once it has ended: every committed record of its sink.

An application may write an aggregate: what it made of all inputs of a key, judged by a function of the user.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from workloads.clients.kafka_python.outputs import Output, OutputConsumer
from workloads.clients.protocol import Log
from workloads.reference import NotLoadable
from workloads.roles.application import client_id
from workloads.roles.application_output import UNNAMED, OutputSource, Sender, UnknownIdentity, excerpt, key_of
from workloads.roles.context import WorkerContext
from workloads.roles.group_watch import GroupWatch, record_group_log


class Incomplete(Exception):
    """The outputs are not all known. The message says why."""


def record_outputs(context: WorkerContext) -> None:
    """Watch the application's group until `context.stop` is set. Then record the rows ``output`` or ``aggregate``,
    and ``pipeline``, of the operations table.

    Options: guarantee, settle (seconds to read everything), instances (their number), and those of `OutputSource`.
    """
    began = time.monotonic_ns()
    context.ready()
    record_group = _watched(context, began) if context.options["group"] is not None else None
    context.stop.wait()
    if context.gone.is_set():
        return
    if record_group is not None:
        record_group()
    OutputAudit(context).record()


def _watched(context: WorkerContext, began: int) -> Callable[[], None]:
    """Watch the group until `context.stop` is set. Returns what records its log."""
    options = context.options
    group, source = f"{options['group']}-{context.run}", context.logs_of(options["source"])
    clients = {
        f"app:{number}": client_id(options["group"], context.run, number)
        for number in range(options["instances"])
    }
    watch = GroupWatch(context, group=group, source=source, clients=clients)
    watch.watch()
    return partial(
        record_group_log,
        context,
        group=group,
        source=source,
        clients=clients,
        since=began,
        samples=watch.samples,
    )


class OutputAudit:
    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._writer = context.writer("operations")
        self._settle: float = context.options["settle"]
        self._epoch = time.time_ns() - time.monotonic_ns()
        self._outputs = self._named = 0
        self._unnamed = ""
        """What one of the outputs that name no input holds."""

    def record(self) -> None:
        context, options = self._context, self._context.options
        began, doubt = time.monotonic_ns(), None
        group, positions = None, {}
        sink = f"{options['sink']}-{context.run}"
        try:
            source = OutputSource(context)
            group, positions = source.group, source.positions()
            if source.aggregate is None:
                self._record_outputs(source)
                self._require_names(sink)
            else:
                self._record_aggregates(source, positions)
        except (Incomplete, TimeoutError, UnknownIdentity, UnknownAggregate) as error:
            doubt = str(error)
        except NotLoadable as error:
            doubt = f"a function cannot be loaded: {error}"
        if doubt is not None:
            context.problem(f"The outputs cannot be judged: {doubt}")
        value = {"sink": sink, "guarantee": options["guarantee"]}
        for log in context.logs_of(options["source"]):
            self._row("pipeline", log, value, began, error=doubt, end_offset=positions.get(log), group=group)

    def _record_outputs(self, source: OutputSource) -> None:
        ends = self._stable_ends(source)
        senders = source.senders(ends)
        for output, began in self._read(ends, source.consumer()):
            self._record_output(source, output, began, senders.of(output.log, output.offset))

    def _record_aggregates(self, source: OutputSource, positions: Mapping[Log, int]) -> None:
        """Of the keys whose inputs the group has passed. The analysis reports the others as unprocessed inputs."""
        began = time.monotonic_ns()
        outputs = [output for output, _ in self._read(self._stable_ends(source), source.consumer())]
        inputs = [each for each, _ in self._read(source.input_ends(), source.input_consumer())]
        self._outputs = len(outputs)
        self._require_outputs(source.sink)
        aggregates, strange = by_key(inputs, outputs, source.keys)
        if len(strange) == len(outputs):
            raise Incomplete(
                f"none of the {len(outputs):,} records of {source.sink} has the key of an input: let the application "
                f"write aggregates with the key of their inputs, or set identify, which returns these keys. The last "
                f"one: {excerpt(strange[-1])}"
            )
        judged = [
            (each, each.wrong(source.aggregate))
            for each in aggregates
            if source.aggregate is not None and each.is_complete(positions)
        ]
        for each, wrong in judged:
            self._row("aggregate", each.inputs[0].log, self._described(each, source.sink, wrong), began)
        for output in strange:
            about = {"source": None, "written": self._written(output.timestamp)}
            self._row("output", output.log, about, began, start_offset=output.offset)

    def _described(self, aggregate: Aggregate, sink: str, wrong: str | None) -> dict[str, Any]:
        first, last = aggregate.inputs[0], aggregate.outputs[-1] if aggregate.outputs else None
        return {
            "sink": sink,
            "of_key": aggregate.key,
            "inputs": len(aggregate.inputs),
            "outputs": len(aggregate.outputs),
            "wrong": wrong,
            "fed": self._written(first.timestamp),
            "last": None if last is None else f"{last.log[1]} at {last.offset}",
            "written": None if last is None else self._written(last.timestamp),
        }

    def _read(self, ends: Mapping[Log, int], consumer: OutputConsumer) -> Iterator[tuple[Output, int]]:
        """The records before these ends, each with the time at which it was asked for. Closes the consumer."""
        deadline = time.monotonic() + self._settle
        try:
            while left := [log for log, end in ends.items() if consumer.positions[log] < end]:
                topic, partition = left[0]
                if self._context.gone.is_set() or time.monotonic() > deadline:
                    raise Incomplete(
                        f"{topic}-{partition} was not read to its end, {ends[left[0]]}, within {self._settle:g} s"
                    )
                consumer.only(tuple(left))
                began = time.monotonic_ns()
                for output in consumer.outputs(0.2):
                    if output.offset < ends[output.log]:
                        yield output, began
        finally:
            consumer.close()

    def _stable_ends(self, source: OutputSource) -> dict[Log, int]:
        """The ends of the sink, once no transaction is open there."""
        deadline = time.monotonic() + self._settle
        while True:
            stable, ends = source.sink_ends(committed=True), source.sink_ends()
            held = [log for log in ends if stable[log] < ends[log]]
            if not held:
                return stable
            if self._context.gone.wait(0.5) or time.monotonic() > deadline:
                (topic, partition), *_ = held
                raise Incomplete(
                    f"a transaction is open in {topic}-{partition} at offset {stable[held[0]]}, {self._settle:g} s "
                    f"after the application ended. Set its transaction.timeout.ms to less than that"
                )

    def _record_output(self, source: OutputSource, output: Output, began: int, sender: Sender | None) -> None:
        named = source.named(output)
        self._outputs += 1
        self._named += any(value != UNNAMED for value in named)
        if not named and source.has_function:
            return
        if not named:
            self._unnamed = excerpt(output)
        for value in named or [UNNAMED]:
            about: dict[str, Any] = {
                "source": None if value == UNNAMED else value,
                "written": self._written(output.timestamp),
            }
            if sender is not None:
                about |= sender._asdict()
            self._row("output", output.log, about, began, start_offset=output.offset)

    def _written(self, timestamp: int | None) -> int | None:
        """A timestamp in ms since the epoch on the clock of the history, ns."""
        return None if timestamp is None or timestamp < 0 else timestamp * 1_000_000 - self._epoch

    def _require_names(self, sink: str) -> None:
        """An application that wrote nothing that can be judged is more likely not set up as it should be."""
        self._require_outputs(sink)
        if not self._named:
            raise Incomplete(
                f"none of the {self._outputs:,} records of {sink} names an input by the header kafkacheck or by its "
                f"token: let the application pass one of them on, or set identify. The last one: "
                f"{self._unnamed or 'identify found nothing'}"
            )

    def _require_outputs(self, sink: str) -> None:
        if not self._outputs:
            raise Incomplete(
                f"the application wrote nothing to {sink}: it may have done nothing, or have written elsewhere; "
                f"the name of the topic is in the placeholder {{sink}}"
            )

    def _row(
        self,
        f: str,
        log: Log,
        value: Mapping[str, Any],
        invoked: int,
        *,
        error: str | None = None,
        **more: Any,
    ) -> None:
        context, (topic, partition) = self._context, log
        self._writer.append(
            run=context.run,
            op=context.op(),
            process=context.process,
            session=context.session,
            f=f,
            type="ok" if error is None else "info",
            invoked=invoked,
            completed=time.monotonic_ns(),
            topic=topic,
            partition=partition,
            value=json.dumps(value),
            error=error,
            **more,
        )


class UnknownAggregate(Exception):
    """The function of the user gave no answer. The message says for which key."""


class Aggregate(NamedTuple):
    """inputs: in their order. outputs: of each partition of the sink in their order."""

    key: str
    inputs: list[Output]
    outputs: list[Output]

    def is_complete(self, positions: Mapping[Log, int]) -> bool:
        """Whether the group has passed all inputs, so that nothing can change it any more."""
        return all(each.offset < positions.get(each.log, 0) for each in self.inputs)

    def wrong(self, judge: Callable[..., Any]) -> str | None:
        """What is wrong with it; None for nothing. Raises UnknownAggregate."""
        try:
            answer = judge(self.key, list(self.inputs), list(self.outputs))
        except Exception as error:
            raise UnknownAggregate(f"aggregate raised {type(error).__name__} ({error}) for {self}") from error
        if answer is True:
            return None
        if answer is False:
            return "the function aggregate returned False"
        if isinstance(answer, str) and answer:
            return answer
        raise UnknownAggregate(
            f"aggregate returned {answer!r} for {self}: expected True, False, or text that says what is wrong"
        )

    def __str__(self) -> str:
        return f"{self.key} with {len(self.inputs):,} inputs and {len(self.outputs):,} outputs"


def by_key(
    inputs: Iterable[Output], outputs: Iterable[Output], keys_of: Callable[[Output], Iterable[str]]
) -> tuple[list[Aggregate], list[Output]]:
    """One for each key of the inputs, and the outputs that name a key of none.

    keys_of  the keys to which an output belongs; none for a record that is no output.
    """
    found: dict[str, Aggregate] = {}
    for each in sorted(inputs, key=lambda each: (each.log, each.offset)):
        key = key_of(each)
        found.setdefault(key, Aggregate(key, [], [])).inputs.append(each)
    strange = []
    for output in sorted(outputs, key=lambda each: (each.log, each.offset)):
        keys = dict.fromkeys(keys_of(output))
        for key in keys:
            if key in found:
                found[key].outputs.append(output)
        if any(key not in found for key in keys):
            strange.append(output)
    return list(found.values()), strange
