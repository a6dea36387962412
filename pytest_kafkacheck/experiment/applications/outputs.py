"""Which inputs of an application have outputs, as batches of source and sink are read while it works."""

from __future__ import annotations

import logging
import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from kafka.record.memory_records import MemoryRecords

from workloads.clients.protocol import Log
from workloads.reference import Reference
from workloads.tokens import TokenFinder

log = logging.getLogger(__name__)

MARKER = struct.Struct(">hh")
"""Version and type of the key of a control record."""

COMMITTED = 1
"""Type of the marker that ends a transaction whose records count."""


class Place(NamedTuple):
    """Of a record."""

    log: Log
    offset: int

    def __str__(self) -> str:
        return f"{self.offset} of {self.log[0]}-{self.log[1]}"


MOST_INPUTS = 200_000
"""Inputs that are kept at most, roughly. Outputs of the first ones have come long ago."""


class Outputs:
    """Not thread-safe.

    identify  a reference to a function of the user, see `Pipeline`.
    next      the offset after what was read, by log of source and sink.
    """

    def __init__(self, run: str, *, source: str, identify: Mapping[str, str] | None) -> None:
        function = None if identify is None else Reference.from_json(identify).load()
        self.next: dict[Log, int] = {}
        self._source = source
        self._of_inputs = TokenFinder(run, source)
        self._of_outputs = TokenFinder(run, source, function)
        self._inputs: dict[int, Place] = {}
        self._last: dict[Log, int] = {}
        self._counting: defaultdict[Log, dict[int, Place]] = defaultdict(dict)
        """By partition and offset of an input, its newest output: of no transaction, or of a committed one."""
        self._open: dict[int, list[tuple[Place, Place]]] = {}
        """By producer id, inputs and outputs in a transaction that has no marker yet."""
        self._unsettled: list[tuple[int | None, list[tuple[int, Place]] | None, bool]] = []
        """(producer id of a transaction, values of inputs with their outputs, whether it is committed), by batch. A
        marker has no outputs."""
        self._new_from: dict[Log, Mapping[Log, int]] = {}
        """By partition of the source, the offsets of the sink from which on outputs are new."""

    def read(self, where: Log, data: bytes) -> bool:
        """Take the batches of a fetch. False where there is none."""
        batches, end = MemoryRecords(bytes(data)), None
        while (batch := batches.next_batch()) is not None:
            end = batch.next_offset
            if where[0] == self._source:
                self._read_inputs(where, batch)
            elif batch.is_control_batch:
                self._read_marker(batch)
            else:
                self._read_outputs(where, batch)
        self.next[where] = max(end or 0, self.next.get(where, 0))
        return end is not None

    def _read_inputs(self, where: Log, batch: Any) -> None:
        if batch.is_control_batch:
            return
        for record in batch:
            for value in self._of_inputs.find(record.key, record.value, record.headers or ()):
                self._inputs[value] = Place(where, record.offset)
        if len(self._inputs) > MOST_INPUTS:
            self._inputs = dict([*self._inputs.items()][MOST_INPUTS // 2 :])

    def _read_outputs(self, where: Log, batch: Any) -> None:
        found = []
        for record in batch:
            try:
                named = self._of_outputs.find(record.key, record.value, record.headers or ())
            except Exception as problem:  # the role that records the outputs reports it
                log.info("identify: %r", problem)
                continue
            found += [(value, Place(where, record.offset)) for value in named]
        self._unsettled.append((batch.producer_id if batch.is_transactional else None, found, False))

    def _read_marker(self, batch: Any) -> None:
        is_committed = any(MARKER.unpack_from(record.key)[1] == COMMITTED for record in batch if record.key)
        self._unsettled.append((batch.producer_id, None, is_committed))

    def settle(self) -> None:
        """Find the inputs of the outputs that were read. An input is in the source before its output is in the sink:
        read the source after the sink, and then settle."""
        for producer, named, is_committed in self._unsettled:
            if named is None:
                found = self._open.pop(producer or 0, [])
                self._count(found if is_committed else ())
                continue
            pairs = [(self._inputs[value], output) for value, output in named if value in self._inputs]
            if producer is None:
                self._count(pairs)
            else:
                self._open.setdefault(producer, []).extend(pairs)
        self._unsettled.clear()

    def _count(self, found: Iterable[tuple[Place, Place]]) -> None:
        for of, output in found:
            self._counting[of.log][of.offset] = output
            self._last[of.log] = max(of.offset, self._last.get(of.log, -1))

    def begin(self, source: Log) -> None:
        """Of inputs of that partition, the outputs so far are those of another process, and not new any more."""
        self._new_from[source] = dict(self.next)

    def last(self, source: Log) -> int:
        """The highest offset of an input with an output, new or not, in an open transaction or not; -1 for none."""
        pending = (of.offset for found in self._open.values() for of, _ in found if of.log == source)
        return max(self._last.get(source, -1), max(pending, default=-1))

    def from_position(self, source: Log, position: int) -> list[tuple[Place, Place]]:
        """Inputs from that position on with new outputs that count, in their order. Those before it are forgotten."""
        found = self._counting[source]
        for offset in [each for each in found if each < position]:
            del found[offset]
        pairs = ((Place(source, offset), found[offset]) for offset in sorted(found))
        return [pair for pair in pairs if self._is_new(*pair)]

    def in_transactions(self, sources: Collection[Log]) -> dict[int, list[tuple[Place, Place]]]:
        """By producer id, inputs of these partitions, and their new outputs in a transaction without a marker."""
        new = {
            producer: [(of, output) for of, output in pairs if of.log in sources and self._is_new(of, output)]
            for producer, pairs in self._open.items()
        }
        return {producer: pairs for producer, pairs in new.items() if pairs}

    def _is_new(self, of: Place, output: Place) -> bool:
        return output.offset >= self._new_from.get(of.log, {}).get(output.log, 0)
