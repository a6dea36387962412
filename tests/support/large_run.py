"""A run of any size with all that a report draws, made in vectorised form: a million sends take some seconds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analyzers.verdict.finding import Cause, Cut, Finding, Step
from analyzers.verdict.verdict import judge
from workloads.history.schema import HARNESS, NEMESIS, OBSERVATIONS, OPERATIONS, RECORDS, VALUE_BITS

SECOND = 1_000_000_000
BEGAN = 5_000 * SECOND
PRODUCERS, READERS, PARTITIONS, BROKERS = 4, 2, 12, 3
FINAL = PRODUCERS + READERS
TOPIC = "t"


def large_run(home: Path, *, sends: int, seconds: int) -> Path:
    """The folder of a run in which broker 1 was isolated for a tenth of the time, and which lost a write."""
    for name, rows in (
        ("records", _records(sends, seconds)),
        ("operations", pa.Table.from_pylist([*_operations(seconds)], OPERATIONS)),
        ("observations", pa.Table.from_pylist([*_observations(sends, seconds)], OBSERVATIONS)),
    ):
        folder = home / "history" / name
        folder.mkdir(parents=True)
        pq.write_table(rows, folder / "part-0.parquet")
    (home / "experiment.json").write_text(json.dumps({"format": 1, "name": f"{sends} sends"}))
    (home / "verdict.json").write_text(_verdict(seconds).to_json())
    return home


def _records(sends: int, seconds: int) -> pa.Table:
    number = pa.array(range(sends), pa.int64())
    invoked = pc.add(pc.multiply(number, seconds * SECOND // sends), BEGAN)
    # Latencies from 1 ms on; one of a hundred outcomes is unknown.
    took = pc.divide(3_000_000.0, pc.add(pc.random(sends, initializer=1), 0.001))
    completed = pc.add(invoked, took.cast(pa.int64(), safe=False))
    process = _modulo(number, PRODUCERS)
    is_ok = pc.not_equal(_modulo(number, 100), 99)
    sent: dict[str, Any] = {
        "op": number,
        "process": process,
        "f": _all("send", sends),
        "type": pc.if_else(is_ok, "ok", "info"),
        "invoked": invoked,
        "completed": completed,
        "topic": _all(TOPIC, sends),
        "partition": _modulo(number, PARTITIONS),
        "offset": pc.divide(number, PARTITIONS),
        "value": pc.bit_wise_or(pc.shift_left(process, VALUE_BITS), pc.divide(number, PRODUCERS)),
        "error": pc.if_else(is_ok, pa.scalar(None, pa.string()), "TimeoutError"),
    }
    polled = [
        sent
        | {
            "f": _all("poll", sends),
            "type": _all("ok", sends),
            "process": _all(PRODUCERS + reader, sends),
            "invoked": completed,
            "completed": pc.add(completed, 5_000_000),
            "error": pa.nulls(sends, pa.string()),
            "final": _all(reader == READERS, sends),
        }
        for reader in range(READERS + 1)
    ]
    return pa.concat_tables([_table(columns, sends) for columns in (sent, *polled)])


def _table(columns: dict[str, Any], size: int) -> pa.Table:
    return pa.table(
        [
            columns[field.name].cast(field.type) if field.name in columns else pa.nulls(size, field.type)
            for field in RECORDS
        ],
        RECORDS,
    )


def _all(value: Any, size: int) -> pa.Array:
    return pa.repeat(pa.scalar(value), size)


def _modulo(numbers: pa.Array, by: int) -> pa.Array:
    return pc.subtract(numbers, pc.multiply(pc.divide(numbers, by), by))


def _operations(seconds: int) -> Iterator[dict[str, Any]]:
    end = BEGAN + seconds * SECOND
    row = {"run": "large", "op": -1, "type": "info"}
    for process in range(FINAL + 1):
        role = "producer" if process < PRODUCERS else "reader" if process < FINAL else "final"
        value = {"role": role, "process": process, "event": "started"}
        yield row | {
            "process": HARNESS,
            "f": "worker",
            "invoked": BEGAN,
            "completed": BEGAN,
            "value": json.dumps(value),
        }
    for at, phase in ((BEGAN + SECOND, "steady"), (end - SECOND, "recovery"), (end, "end")):
        yield row | {
            "process": HARNESS,
            "f": "phase",
            "invoked": at,
            "completed": at,
            "value": json.dumps({"phase": phase}),
        }
    begin, heal = BEGAN + seconds * SECOND * 4 // 10, BEGAN + seconds * SECOND // 2
    value = {"event": "isolate-0", "target": "leader", "nodes": [1], "effective": True, "planned": begin}
    active = {"possibly": [begin, heal + SECOND // 10], "surely": [begin + SECOND // 10, heal]}
    for stage, at, more in (("inject", begin, {}), ("heal", heal, {"active": active})):
        text = json.dumps(value | {"stage": stage, **more})
        yield row | {
            "process": NEMESIS,
            "f": "isolate",
            "invoked": at,
            "completed": at + SECOND // 10,
            "value": text,
        }


def _observations(sends: int, seconds: int) -> Iterator[dict[str, Any]]:
    """A sample of each replica and of the controller each 0.5 s."""
    for half in range(2 * seconds):
        time = BEGAN + half * SECOND // 2
        end = sends * half // (2 * seconds) // PARTITIONS
        is_cut = 0.4 <= half / (2 * seconds) < 0.5
        for node in range(1, BROKERS + 1):
            yield {
                "run": "large",
                "process": 9,
                "time": time,
                "node": node,
                "kind": "quorum",
                "leader": 2,
                "leader_epoch": 4,
            }
            for partition in range(PARTITIONS):
                leader = partition % BROKERS + 1
                isr = [2, 3] if is_cut and leader != 1 else [1, 2, 3]
                yield {
                    "run": "large", "process": 9, "time": time, "node": node, "kind": "partition", "topic": TOPIC,
                    "partition": partition, "leader": leader, "leader_epoch": 0, "isr": isr, "high_watermark": end,
                    "log_end": end + 3,
                }  # fmt: skip


def _verdict(seconds: int) -> Any:
    value = (1 << VALUE_BITS) | 5
    example = {
        "topic": TOPIC,
        "partition": 9,
        "time": 0.4 * seconds,
        "process": 1,
        "op": value,
        "offset": 1,
        "value": value,
        "faults": [],
    }
    lost = Finding(
        anomaly="lost-write",
        count=1,
        summary="acknowledged write missing from the log at the end",
        examples=(example,),
    )
    step = Step(time=0.4 * seconds, text="broker 1 is cut off from the other brokers", is_fault=True)
    cut = Cut(node=1, log_end=3, offset=1, epoch=0, time=0.6 * seconds)
    cause = Cause(
        kind="truncation", logs=(f"{TOPIC}-9",), findings={"lost-write": 1}, cuts=(cut,), steps=(step,)
    )
    return judge("large", findings=[lost], causes=[cause], began=BEGAN)
