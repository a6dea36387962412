"""The segments of a soak, as its processes would write them: producers, readers, a session, faults."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.schema import HARNESS, NEMESIS, OPERATIONS, RECORDS, VALUE_BITS
from workloads.history.segments import segment
from workloads.history.writer import SEGMENT_AGE, Writer

SECOND = 1_000_000_000
STEP = round(SEGMENT_AGE)
"""Seconds of a segment."""

TOPIC, RUN = "orders", "day"
SESSION, UNKNOWN, READERS, FIRST = 3, 4, 5, 100
"""Process numbers: of the session, of sends without an answer, of the first reader and of the first producer."""

ERA = 3600
"""Seconds after which another process takes the place of each producer."""

ACK, VISIBLE = 25_000_000, 30_000_000
"""ns from the invocation of a send until it is acknowledged, and until readers get it."""

POLL = 100_000_000
"""ns of a poll."""

ROUND = 200_000_000
"""ns from one write of the session to the next."""

FAULT = 60
"""Seconds from one fault to the next."""

KEPT = {"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1"}

Numbers: TypeAlias = pa.Int64Array


@dataclass
class Day:
    """Writes a soak into a run directory, step by step.

    rate      sends per second and producer.
    lost_per  seconds between two acknowledged writes that are lost: at their offset, readers get another value.
    """

    home: Path
    rate: int = 100
    producers: int = 2
    readers: int = 2
    partitions: int = 4
    lost_per: int = ERA
    now: int = 0
    """Seconds that are written."""
    rows: int = 0
    _numbers: dict[tuple[str, int], int] = field(default_factory=dict)
    _written: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._control = {
            process: Writer(self.home / "history", "operations", process, clock=lambda: float(self.now))
            for process in (HARNESS, NEMESIS)
        }
        settings = {"event": "created", "id": "a", "partitions": self.partitions + 1, "config": KEPT}
        self._note(HARNESS, "topic", settings, topic=TOPIC)

    @property
    def lost(self) -> int:
        """Writes that were lost so far."""
        return self.now // self.lost_per

    def step(self) -> None:
        """Write the next segments of all processes."""
        begin, end = self.now * SECOND, (self.now + STEP) * SECOND
        for slot in range(self.producers):
            self._produce(slot, begin, end)
        for reader in range(self.readers):
            self._read(READERS + reader, begin, end)
        self._session(begin, end)
        if self.now % ERA == 0:
            for slot in range(self.producers):
                process = FIRST + self.now // ERA * self.producers + slot
                self._note(HARNESS, "worker", {"role": "producer", "process": process, "event": "started"})
        if self.now % FAULT == 0:
            about = {"event": f"e{self.now}", "target": "leader", "nodes": [1], "effective": True}
            for stage in ("inject", "heal"):
                self._note(NEMESIS, "pause", {**about, "stage": stage, "evidence": {"seen": "x" * 200}})
        self.now += STEP
        for writer in self._control.values():
            writer.flush()

    def forget(self) -> None:
        """Empty the segments that were read: the names stay, and the disk does not fill."""
        for path in self._written:
            path.write_bytes(b"")
        self._written.clear()

    def _first(self, slot: int, at: int) -> int:
        """The number of the first send of a slot from a time on."""
        period = SECOND // self.rate
        return max(0, -(-(at - slot * period // self.producers) // period))

    def _sends(self, slot: int, begin: int, end: int, after: int = 0) -> dict[str, Any]:
        """The sends of a slot that come `after` their invocation into this time."""
        period = SECOND // self.rate
        number = pa.arange(self._first(slot, begin - after), self._first(slot, end - after))
        invoked = pc.add(pc.multiply(number, period), slot * period // self.producers)
        process = pc.add(pc.multiply(pc.divide(invoked, ERA * SECOND), self.producers), FIRST + slot)
        turn = pc.divide(number, self.partitions)
        return {
            "number": number,
            "invoked": invoked,
            "process": process,
            "value": pc.bit_wise_or(pc.shift_left(process, VALUE_BITS), number),
            "partition": pc.subtract(number, pc.multiply(turn, self.partitions)),
            "offset": pc.add(pc.multiply(turn, self.producers), slot),
        }

    def _is_lost(self, slot: int, number: Numbers) -> pa.BooleanArray:
        """The middle send of each `lost_per` seconds, of the first producer."""
        each = self.rate * self.lost_per
        rest = pc.subtract(number, pc.multiply(pc.divide(number, each), each))
        return pc.and_(pc.equal(rest, each // 2), pa.scalar(slot == 0))

    def _produce(self, slot: int, begin: int, end: int) -> None:
        begun, ended = self._sends(slot, begin, end), self._sends(slot, begin, end, ACK)
        self._unanswered(slot, begun)
        rows = pa.concat_tables([
            _sent(begun, type="invoke", completed=None, offset=None),
            _sent(ended, type="ok", completed=pc.add(ended["invoked"], ACK)),
        ])  # fmt: skip
        rows = rows.take(pc.sort_indices(pc.coalesce(rows["completed"], rows["invoked"])))
        for process in pc.unique(rows["process"]).to_pylist():
            mine = rows.filter(pc.equal(rows["process"], process))
            first = self._first(slot, (process - FIRST) // self.producers * ERA * SECOND)
            at = mine.schema.get_field_index("index")
            self._put("records", process, mine.set_column(at, "index", pc.subtract(mine["index"], first)))

    def _unanswered(self, slot: int, begun: dict[str, Any]) -> None:
        """Sends without an answer, whose record is where a lost one had been acknowledged."""
        lost = self._is_lost(slot, begun["number"])
        if pc.any(lost).as_py():
            some = {name: column.filter(lost) for name, column in begun.items()}
            some["process"] = pa.repeat(pa.scalar(UNKNOWN, pa.int64()), len(some["number"]))
            some["value"] = pc.bit_wise_or(pc.shift_left(some["process"], VALUE_BITS), some["number"])
            some["number"] = pc.divide(some["number"], self.rate * self.lost_per)
            self._put(
                "records",
                UNKNOWN,
                _sent(some, type="info", completed=pc.add(some["invoked"], ACK), offset=None),
            )

    def _read(self, process: int, begin: int, end: int) -> None:
        parts = []
        for slot in range(self.producers):
            got = self._sends(slot, begin, end, VISIBLE)
            poll = pc.divide(pc.add(got["invoked"], VISIBLE), POLL)
            unknown = pc.bit_wise_or(got["number"], UNKNOWN << VALUE_BITS)
            ended = pc.multiply(pc.add(poll, 1), POLL)
            parts.append(_table(
                RECORDS, len(poll), f="poll", process=process, type="ok", topic=TOPIC, assignment=1, final=False,
                committed=False, leader_epoch=1, node=1, op=pc.add(poll, (1 << 61) + (process << 40)),
                index=pc.add(pc.multiply(got["number"], self.producers), slot), invoked=pc.multiply(poll, POLL),
                value=pc.if_else(self._is_lost(slot, got["number"]), unknown, got["value"]), completed=ended,
                fetched=ended, partition=got["partition"], offset=got["offset"],
            ))  # fmt: skip
        rows = pa.concat_tables(parts)
        self._put("records", process, rows.take(pc.sort_indices(rows["index"])))

    def _session(self, begin: int, end: int) -> None:
        """It sends, and then reads what it has sent."""
        number = pa.arange(begin // ROUND, end // ROUND)
        at, op = pc.multiply(number, ROUND), pc.add(number, 1 << 60)
        value = pc.add(number, SESSION << VALUE_BITS)
        same = {"process": SESSION, "session": 1, "topic": TOPIC, "partition": self.partitions}
        begun, done = (
            {"number": number, "invoked": at, "value": value, "offset": number},
            pc.add(at, 3_000_000),
        )
        polled = {"invoked": pc.add(at, 5_000_000), "completed": pc.add(at, 10_000_000), "offset": number}
        sends = (
            _sent(begun, index=pc.multiply(number, 2), type="invoke", completed=None, offset=None, **same),
            _sent(begun, index=pc.multiply(number, 2), type="ok", completed=done, **same),
        )
        polls = _table(
            RECORDS, len(number), f="poll", type="ok", op=op, value=value, index=pc.add(pc.multiply(number, 2), 1),
            assignment=1, committed=False, leader_epoch=1, final=False, **polled, **same,
        )  # fmt: skip
        rows = pa.concat_tables([*sends, polls])
        rows = rows.take(pc.sort_indices(pc.coalesce(rows["completed"], rows["invoked"])))
        self._put("records", SESSION, rows)
        reads = _table(
            OPERATIONS, len(number), f="read", type="ok", op=op, invoked=polled["invoked"],
            completed=pc.add(at, 11_000_000), start_offset=number, end_offset=pc.add(number, 1), **same,
        )  # fmt: skip
        self._put("operations", SESSION, reads)

    def _note(self, process: int, f: str, value: dict[str, Any], **more: Any) -> None:
        number = self._numbers[f, process] = self._numbers.get((f, process), 0) + 1
        at, op = self.now * SECOND, -(1 << 40) * (2 - process) - number
        row = {"run": RUN, "op": op, "process": process, "f": f, "type": "ok", "invoked": at, "completed": at}
        self._control[process].append(**row, value=json.dumps(value), **more)
        self._control[process].flush()

    def _put(self, table: str, process: int, rows: pa.Table) -> None:
        number = self._numbers.get((table, process), 0)
        self._numbers[table, process] = number + 1
        path = segment(self.home / "history", table, process, number)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.schema) as stream:
            stream.write_table(rows.combine_chunks(), max_chunksize=4096)
        self._written.append(path)
        self.rows += len(rows)


def _sent(sends: dict[str, Any], **columns: Any) -> pa.Table:
    known = {**sends, "op": sends["value"], "index": sends["number"], **columns}
    known.pop("number")
    return _table(
        RECORDS,
        len(sends["number"]),
        **{"f": "send", "topic": TOPIC, "assignment": 0, "final": False} | known,
    )


def _table(schema: pa.Schema, rows: int, **columns: Any) -> pa.Table:
    arrays = []
    for each in schema:
        column = columns.get(each.name, RUN if each.name == "run" else None)
        if not isinstance(column, pa.Array):
            column = pa.repeat(pa.scalar(column, each.type), rows)
        arrays.append(column.cast(each.type))
    return pa.Table.from_arrays(arrays, schema=schema)
