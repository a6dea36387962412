"""The output of an application as a worker sees it: where logs end, what an output names, and when it is quiet."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from workloads.clients.connection import ask
from workloads.clients.kafka_python.outputs import GroupPositions, Output, OutputConsumer
from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log
from workloads.clients.requests import EARLIEST, LATEST, log_batches
from workloads.reference import NotLoadable, Reference
from workloads.roles.context import WorkerContext
from workloads.tokens import TokenFinder

SHORT_QUIET = 2.0
"""Seconds without an output after which nothing more is expected of an application that has made, or passed, all."""

ASK_AGAIN = 1.0
"""Seconds between two questions about the positions of its group."""


def wait_for_outputs(context: WorkerContext) -> None:
    """Once `context.stop` is set, wait until the output is quiet: no new record for `SHORT_QUIET` seconds once every
    input has an output or the group has committed the end of the source, otherwise for those of the option quiet.

    Options: quiet, settle (seconds after which it gives up), and those of `OutputSource`.
    """
    context.ready()
    context.stop.wait()
    if context.gone.is_set():
        return
    try:
        _wait(context, OutputSource(context))
    except (NotLoadable, UnknownIdentity):
        return  # the role that records the output reports it
    except TimeoutError as error:
        context.problem(f"The output could not be read while the application ran: {error}")


def _wait(context: WorkerContext, source: OutputSource) -> None:
    wanted, consumer = source.inputs(), source.consumer()
    began = last = asked = time.monotonic()
    seen: set[int] = set()
    outputs, is_passed = 0, False
    try:
        while not context.gone.is_set():
            polled = consumer.outputs(0.2)
            now = time.monotonic()
            if polled:
                last, outputs = now, outputs + len(polled)
            for output in polled:
                seen.update(source.named(output))
            is_complete = len(seen - {UNNAMED}) >= wanted
            if not is_complete and not is_passed and now - asked >= ASK_AGAIN:
                asked, is_passed = now, source.has_passed()
            if now - last >= (SHORT_QUIET if is_complete or is_passed else context.options["quiet"]):
                return
            if now - began >= context.options["settle"]:
                named = f" that name {len(seen - {UNNAMED}):,} of {wanted:,} inputs"
                context.problem(
                    f"The output {source.sink} was not quiet {context.options['settle']:g} s after the last input: "
                    f"it had {outputs:,} records{named if source.aggregate is None else ''}, and the application "
                    f"went on writing. Let it end what it does, or set settle to a longer time"
                )
                return
    finally:
        consumer.close()


ANSWER_LIMIT = 10.0
"""Seconds for a leader to report where its log begins or ends."""

UNNAMED = -1
"""In place of the value of an input: an output names something that is no record of the run."""

FETCH_LIMIT = 5.0
"""Seconds for one fetch."""


class Sender(NamedTuple):
    """Of a record: the id of its producer, None without one, and whether it was sent in a transaction."""

    producer: int | None
    transactional: bool


class Senders:
    """By log and offset, as the headers of the batches have it."""

    def __init__(self) -> None:
        self._bases: dict[Log, list[int]] = {}
        self._senders: dict[Log, list[Sender]] = {}

    def add(self, log: Log, base: int, sender: Sender) -> None:
        """base: the offset at which its records begin; higher than that of the last one."""
        self._bases.setdefault(log, []).append(base)
        self._senders.setdefault(log, []).append(sender)

    def of(self, log: Log, offset: int) -> Sender | None:
        at = bisect_right(self._bases.get(log, []), offset)
        return self._senders[log][at - 1] if at else None


class UnknownIdentity(Exception):
    """The function of the user failed. The message says for which output."""


class OutputSource:
    """Source and sink of an application, as a worker sees them that goes on after it was asked to stop.

    Options of the worker: source, sink (names of topics), group (short name, or None), identify and aggregate
    (references to functions, or None). The constructor raises NotLoadable for a function that is not there.

    aggregate  judges what was made of all inputs of a key; None where outputs name single inputs.
    """

    def __init__(self, context: WorkerContext) -> None:
        options = context.options
        self._context = context
        self._leaders = Leaders(context.brokers, context.topics, stop=context.gone)
        self._identify, self.aggregate = (_loaded(options[name]) for name in ("identify", "aggregate"))
        self._source, self._sink = context.logs_of(options["source"]), context.logs_of(options["sink"])
        self.sink = f"{options['sink']}-{context.run}"
        self.group = None if options["group"] is None else f"{options['group']}-{context.run}"
        self._finder = TokenFinder(context.run, f"{options['source']}-{context.run}", self._identify)

    @property
    def has_function(self) -> bool:
        """Whether a function of the user says what an output names. It may say: nothing."""
        return self._identify is not None

    def consumer(self) -> OutputConsumer:
        """Of the whole sink. Raises TimeoutError when its leaders do not answer."""
        return self._consumer(self._sink)

    def input_consumer(self) -> OutputConsumer:
        """Of the whole source. Raises TimeoutError when its leaders do not answer."""
        return self._consumer(self._source)

    def input_ends(self) -> dict[Log, int]:
        """Raises TimeoutError."""
        return self._ends(self._source)

    def sink_ends(self, *, committed: bool = False) -> dict[Log, int]:
        """committed: the last stable offsets. Raises TimeoutError."""
        return self._ends(self._sink, committed)

    def senders(self, ends: Mapping[Log, int]) -> Senders:
        """Of the records of the sink before these ends; of none where a leader does not answer, which is no reason to
        judge nothing."""
        senders = Senders()
        for log, end in ends.items():
            node = self._leaders.leader(log)
            if node is None:
                continue
            leader = partial(ask, self._context.brokers[node], timeout=FETCH_LIMIT)
            try:
                start = self._leaders.offset(log, at=EARLIEST, limit=ANSWER_LIMIT)
                for batch in log_batches(leader, log, start, end):
                    producer = batch.producer_id if batch.has_producer_id() else None
                    senders.add(log, batch.base_offset, Sender(producer, batch.is_transactional))
            except OSError:
                continue
        return senders

    def inputs(self) -> int:
        """The number of records in the source. Raises TimeoutError."""
        starts = (self._leaders.offset(log, at=EARLIEST, limit=ANSWER_LIMIT) for log in self._source)
        return sum(self._ends(self._source).values()) - sum(starts)

    def positions(self) -> dict[Log, int]:
        """Those of the application's group in the source; none where they are not known."""
        if self.group is None:
            return {}
        try:
            return GroupPositions(self._context.bootstrap, self.group).of(self._source)
        except OSError:
            return {}

    def has_passed(self) -> bool:
        """Whether the group has committed the end of every partition of the source."""
        positions = self.positions()
        if not positions:
            return False
        return all(end == positions.get(log, 0) for log, end in self._ends(self._source).items())

    def named(self, output: Output) -> list[int]:
        """The values of the inputs that an output names; none of an aggregate. Raises UnknownIdentity."""
        if self.aggregate is not None:
            return []
        try:
            return self._finder.find(output.key, output.value, output.headers)
        except Exception as error:
            raise _unknown(output, error) from error

    def keys(self, output: Output) -> list[str]:
        """The keys of the inputs of which an output is an aggregate: by the function identify, or its own key. Raises
        UnknownIdentity."""
        if self._identify is None:
            return [key_of(output)]
        try:
            return [str(key) for key in self._identify(output.key, output.value, output.headers)]
        except Exception as error:
            raise _unknown(output, error) from error

    def _consumer(self, logs: Iterable[Log]) -> OutputConsumer:
        starts = {log: self._leaders.offset(log, at=EARLIEST, limit=ANSWER_LIMIT) for log in logs}
        return OutputConsumer(bootstrap=self._context.bootstrap, start=starts)

    def _ends(self, logs: Iterable[Log], committed: bool = False) -> dict[Log, int]:
        return {
            log: self._leaders.offset(log, at=LATEST, committed=committed, limit=ANSWER_LIMIT) for log in logs
        }


def _loaded(reference: dict[str, str] | None) -> Callable[..., Any] | None:
    return None if reference is None else Reference.from_json(reference).load()


def _unknown(output: Output, error: Exception) -> UnknownIdentity:
    topic, partition = output.log
    return UnknownIdentity(
        f"identify raised {type(error).__name__} ({error}) for offset {output.offset} of {topic}-{partition}: "
        f"{excerpt(output)}"
    )


def key_of(record: Output) -> str:
    return (record.key or b"").decode(errors="replace")


def excerpt(output: Output) -> str:
    """What it holds, for a message."""
    key, value = (repr(part)[:100] for part in (output.key, output.value))
    return f"key {key}, value {value}, headers {', '.join(name for name, _ in output.headers) or 'none'}"
