"""Synthetic histories of any size, in the schema of real ones, with a known number of anomalies.

    .venv/bin/python benchmarks/histories.py DIRECTORY [--records 10000000] [--hot] [--planted 5] [--segments]

Half of the records are sends of `producers` to `logs` partitions, the other half are polled by final readers. One
send in 101 has an unknown outcome, one in 211 failed. One offset is left out after every hundred records.

Needs nothing but the project. DIRECTORY must not hold a history already.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.prerequisites import require_no_history
from workloads.history.compaction.sorted_records import with_previous
from workloads.history.compaction.sorting import in_order
from workloads.history.parquet import BUCKETS, WHOLE, bucket, file_name, write
from workloads.history.schema import OBSERVATIONS, OPERATIONS, RECORDS, VALUE_BITS
from workloads.history.segments import segment

CHUNK = 250_000
TOPIC = "orders"
READER = 100
READS_BEGIN = 1 << 50  # ns: long after the last send
POLL = 500  # records of one poll
BURST = 256  # sends of a log under way at once


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The size and content of a history.

    planted   the number of each anomaly; see `expected`.
    lost_one  the final reads lack one record in so many; 0: none. `expected` does not count what follows from it.
    """

    records: int
    run: str = "synthetic"
    logs: int = 16
    producers: int = 8
    consumers: int = 8
    hot: bool = False
    planted: int = 0
    lost_one: int = 0

    def sends(self, log: int) -> int:
        """The number of sends to one log. With `hot`, the first log has nine tenths of all."""
        total = self.records // 2
        share = total // self.logs
        if self.hot:
            share = total * 9 // 10 if log == 0 else total // 10 // (self.logs - 1)
        return share // self.producers * self.producers

    def expected(self) -> dict[str, int]:
        """Anomaly to number. A second record read at an offset was never sent, so it counts as a phantom read,
        too."""
        if not self.planted:
            return {}
        n = self.planted
        return {
            "lost-write": n,
            "duplicate": n,
            "phantom-read": 2 * n,
            "inconsistent-offsets": n,
            "int-nonmonotonic-poll": n,
        }

    def planted_at(self, log: int, kind: int) -> list[int]:
        """The sends of a log at which anomalies are planted: next to a missing offset, where another record fits."""
        positions = [
            100 * (4 * (each // self.logs) + kind + 1) for each in range(log, self.planted, self.logs)
        ]
        assert not positions or positions[-1] < self.sends(log), f"{self}: too few records"
        return positions


def records(shape: Shape, log: int) -> Iterator[pa.Table]:
    """The records of one log, sorted as compaction sorts them, without `previous`."""
    for process in range(shape.producers):
        own = -(-(shape.sends(log) - process) // shape.producers)
        for begin in range(0, own, CHUNK):
            yield _sends(shape, log, process, begin, min(own, begin + CHUNK))
    for begin in range(0, shape.sends(log), CHUNK):
        yield _polls(shape, log, begin, min(shape.sends(log), begin + CHUNK))


def write_compacted(shape: Shape, run: Path, *, buckets: int | None = BUCKETS) -> None:
    """Write a history as compaction leaves it; not divided if `buckets` is None."""
    history = run / "history"
    for table in ("records", "operations", "observations"):
        (history / table).mkdir(parents=True)
    write(history / "operations" / WHOLE, [_final_reads(shape)], OPERATIONS)
    write(history / "observations" / WHOLE, [], OBSERVATIONS)

    def file_of(log: int) -> str:
        return (
            WHOLE if buckets is None else file_name(bucket(shape.run, TOPIC, log, buckets=buckets), buckets)
        )

    for name, logs in groupby(sorted(range(shape.logs), key=lambda log: (file_of(log), log)), key=file_of):
        rows = with_previous(table for log in logs for table in records(shape, log))
        write(history / "records" / name, rows, RECORDS)


def write_segments(shape: Shape, run: Path) -> None:
    """Write segments as processes leave them: bursts of sends to all logs in turn, with two rows for each send."""
    (run / "history" / "segments").mkdir(parents=True)
    for process in range(shape.producers):
        logs = [_process_log(shape, log, process) for log in range(shape.logs)]
        _write_segment(segment(run / "history", "records", process), _in_turn(logs))
    for reader in range(shape.consumers):
        polls = (
            table
            for log in range(reader, shape.logs, shape.consumers)
            for begin in range(0, shape.sends(log), CHUNK)
            for table in [_polls(shape, log, begin, min(shape.sends(log), begin + CHUNK))]
        )
        _write_segment(segment(run / "history", "records", READER + reader), polls)
    path = str(segment(run / "history", "operations", READER))
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, OPERATIONS) as stream:
        stream.write_table(_final_reads(shape))


def _process_log(shape: Shape, log: int, process: int) -> Iterator[pa.Table]:
    own = -(-(shape.sends(log) - process) // shape.producers)
    for begin in range(0, own, CHUNK):
        yield from _bursts(_sends(shape, log, process, begin, min(own, begin + CHUNK)))


def _bursts(sends: pa.Table) -> Iterator[pa.Table]:
    kind = RECORDS.get_field_index("type")
    for begin in range(0, len(sends), BURST):
        done = sends.slice(begin, BURST)
        begun = done.set_column(kind, "type", pa.repeat(pa.scalar("invoke"), len(done)))
        for name in ("completed", "offset"):
            at = RECORDS.get_field_index(name)
            begun = begun.set_column(at, name, pa.nulls(len(done), pa.int64()))
        yield pa.concat_tables([begun, done])


def _in_turn(streams: list[Iterator[pa.Table]]) -> Iterator[pa.Table]:
    while streams:
        for stream in tuple(streams):
            if (table := next(stream, None)) is None:
                streams.remove(stream)
            else:
                yield table


def _write_segment(path: Path, tables: Iterable[pa.Table]) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, RECORDS) as stream:
        for table in tables:
            stream.write_table(table.combine_chunks(), max_chunksize=4096)


def _sends(shape: Shape, log: int, process: int, begin: int, end: int) -> pa.Table:
    """The `begin`-th to `end`-th send of a process to a log."""
    own = pa.arange(begin, end)
    number = pc.add(pc.multiply(own, shape.producers), _turn(shape, own, process))
    failed, unknown = _every(number, 211), _every(number, 101)
    kind = pc.if_else(failed, "fail", pc.if_else(unknown, "info", "ok"))
    acked = pc.equal(kind, "ok")
    strand = (log * shape.producers + process) << 32 | begin
    invoked = pc.add(
        pc.multiply(pc.add(pc.multiply(number, shape.logs), log), 500), _noise(len(own), 400, strand << 1)
    )
    latency = pc.add(_noise(len(own), 4_000_000, strand << 1 | 1), 300_000)
    value = _value(shape, number, log)
    return _table(
        len(own),
        run=shape.run, op=value, index=pc.add(pc.multiply(own, shape.logs), log), process=process,
        f="send", type=kind,
        invoked=invoked, completed=pc.add(invoked, latency), topic=TOPIC, partition=log,
        offset=pc.if_else(acked, _offset(number), None), value=value, assignment=0, final=False,
        error=pc.if_else(acked, None, "RequestTimedOutError"),
    )  # fmt: skip


def _polls(shape: Shape, log: int, begin: int, end: int) -> pa.Table:
    """The polls of the final reader of a log for its `begin`-th to `end`-th send, with the planted anomalies."""
    number = pa.arange(begin, end)
    lost, twice, phantom, other = (
        [at for at in shape.planted_at(log, kind) if begin <= at < end] for kind in range(4)
    )
    number = number.filter(pc.invert(_every(number, 211)))
    number = number.filter(pc.invert(pc.is_in(number, pa.array(lost, pa.int64()))))
    if shape.lost_one:
        number = number.filter(pc.invert(_every(number, shape.lost_one)))
    rows = [(number, _offset(number), _value(shape, number, log), 1)]
    for at in twice:
        rows.append(_planted(at, _offset(at) - 1, _value(shape, at - 1, log), 0))
    for at in phantom:
        rows.append(_planted(at, _offset(at) - 1, 99 << VALUE_BITS | log << 32 | at, 0))
    for at in other:
        rows.append(_planted(at, _offset(at), 98 << VALUE_BITS | log << 32 | at, 2))
    tables = []
    for number, offset, value, order in rows:
        poll = pc.divide(number, POLL)
        when = pc.add(pc.multiply(poll, 3_000_000), READS_BEGIN)
        tables.append(_table(
            len(number),
            run=shape.run, op=pc.add(poll, (1 << 61) + (log << 40)), index=pc.add(pc.multiply(number,
            3), (log << 40) + order),
            process=READER + log % shape.consumers, f="poll", type="ok", invoked=when,
            completed=pc.add(when, 2_000_000),
            topic=TOPIC, partition=log, offset=offset, value=value, leader_epoch=0,
            assignment=1 + log // shape.consumers, final=True, committed=False,
        ))  # fmt: skip
    whole = pa.concat_tables(tables)
    return whole if len(tables) == 1 else in_order(whole, ["index"])


def _planted(number: int, offset: int, value: int, order: int) -> tuple[pa.Array, pa.Array, pa.Array, int]:
    return pa.array([number]), pa.array([offset]), pa.array([value]), order


def _final_reads(shape: Shape) -> pa.Table:
    rows = [
        {
            "run": shape.run, "op": (1 << 62) + log, "process": READER + log % shape.consumers, "f": "final-read",
            "type": "ok", "invoked": READS_BEGIN - 1, "completed": 1 << 60, "topic": TOPIC, "partition": log,
            "start_offset": 0, "end_offset": _offset(shape.sends(log)),
        }
        for log in range(shape.logs)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=OPERATIONS)


def _value(shape: Shape, number: pa.Array | int, log: int) -> pa.Array | int:
    """``process << VALUE_BITS | log << 32 | which of its own``."""
    if isinstance(number, int):
        return int(_value(shape, pa.array([number]), log)[0].as_py())
    own = pc.divide(number, shape.producers)
    process = _turn(shape, own, pc.subtract(number, pc.multiply(own, shape.producers)))
    return pc.add(pc.add(pc.shift_left(process, VALUE_BITS), log << 32), own)


def _turn(shape: Shape, own: pa.Array, process: pa.Array | int) -> pa.Array:
    """The position of a process in a round, in which every process sends once. Each round has another order, because
    real brokers do not give offsets to clients in turn. The function is its own inverse."""
    mixed = pc.bit_wise_and(pc.multiply(pc.bit_wise_and(own, 0x7FFFFFFF), 2_654_435_761), 0xFFFFFFFF)
    mixed = pc.bit_wise_xor(mixed, pc.shift_right(mixed, 15))
    mixed = pc.bit_wise_and(pc.multiply(mixed, 2_246_822_519 >> 1), 0xFFFFFFFF)
    round_ = pc.bit_wise_and(pc.shift_right(mixed, 13), 0xFFFF)
    away = pc.add(pc.subtract(round_, process), shape.producers)  # never negative: division truncates
    return pc.subtract(away, pc.multiply(pc.divide(away, shape.producers), shape.producers))


def _offset(number: pa.Array | int) -> pa.Array | int:
    return number + number // 100 if isinstance(number, int) else pc.add(number, pc.divide(number, 100))


def _every(number: pa.Array, n: int) -> pa.Array:
    """True for one number in n, never for one that `planted_at` returns."""
    rest = pc.subtract(number, pc.multiply(pc.divide(number, n), n))
    hundreds = pc.equal(number, pc.multiply(pc.divide(pc.add(number, 1), 100), 100))
    before = pc.equal(pc.add(number, 1), pc.multiply(pc.divide(pc.add(number, 1), 100), 100))
    return pc.and_(pc.equal(rest, n // 2), pc.invert(pc.or_(hundreds, before)))


def _noise(rows: int, below: int, seed: int) -> pa.Array:
    """Random times, different for each seed: times of real clients do not compress well."""
    return pc.cast(pc.multiply(pc.random(rows, initializer=seed), below), pa.int64(), safe=False)


def _table(rows: int, **columns: pa.Array | str | int | bool) -> pa.Table:
    arrays = []
    for field in RECORDS:
        column = columns.get(field.name)
        if not isinstance(column, pa.Array):
            column = pa.repeat(pa.scalar(column, field.type), rows)
        arrays.append(column.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=RECORDS)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--hot", action="store_true", help="one log has nine tenths of all records")
    parser.add_argument("--planted", type=int, default=5, help="number of each anomaly; default: %(default)s")
    parser.add_argument("--segments", action="store_true", help="write segments instead of Parquet files")
    options = parser.parse_args()
    require_no_history(options.directory)
    shape = Shape(records=options.records, hot=options.hot, planted=options.planted)
    (write_segments if options.segments else write_compacted)(shape, options.directory)
    print(dict(Counter(shape.expected())))


if __name__ == "__main__":
    main()
