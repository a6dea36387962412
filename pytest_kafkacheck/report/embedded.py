"""What report.js draws from: columns of numbers as JSON, compressed, in base64; 0.4 MB for a million sends."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pytest_kafkacheck.report.axis import NANOSECONDS
from pytest_kafkacheck.report.cube import FASTEST, FINER, OUTCOMES, STEPS, Cell, Cube, latency
from pytest_kafkacheck.report.lanes.replicas import log_name
from pytest_kafkacheck.report.run_data import RunData

MOST_CELLS = 250_000
"""Of the cube. Above that, cells of all processes are added up: the filter by process then changes no chart."""

MOST_OPERATIONS = 20_000
"""Sends that the page can list: first those that were not acknowledged, then the slowest ones."""

COLUMNS = ("type", "invoked", "completed", "intended", "process", "topic", "partition", "offset", "error")


def embedded(run: RunData, counts: Cube) -> str:
    """Base64 of the compressed JSON object that `report.js` reads."""
    data = {
        "span": run.axis.span,
        "width": run.axis.width,
        "buckets": run.axis.buckets,
        "outcomes": OUTCOMES,
        "fastest": FASTEST,
        "steps": STEPS,
        "logs": [log_name(log) for log in counts.logs],
        "cells": _columns(counts),
        "finer": FINER,
        "fine": counts.fine,
        "operations": _operations(run, counts),
        "clients": {str(process): name for process, name in run.clients.items()},
    }
    return base64.b64encode(zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9)).decode()


def _columns(counts: Cube) -> dict[str, list[int]]:
    cells = counts.cells
    if len(cells) > MOST_CELLS:
        summed: dict[tuple[int, int, int, int], int] = {}
        for cell in cells:
            key = (cell.bucket, cell.log, cell.outcome, cell.latency)
            summed[key] = summed.get(key, 0) + cell.total
        cells = tuple(Cell(b, log, -1, outcome, ms, count) for (b, log, outcome, ms), count in summed.items())
    return {name: [cell[at] for cell in cells] for at, name in enumerate(Cell._fields)}


def _operations(run: RunData, counts: Cube) -> dict[str, list[Any]]:
    """Of sends: ms of their begin, duration, process, log, outcome, offset, and their errors."""
    is_send, is_ok = pc.field("f") == "send", pc.field("type") == "ok"
    chosen = run.some_records(COLUMNS, is_send & ~is_ok, MOST_OPERATIONS)
    chosen = pa.concat_tables([chosen, _slowest(run, is_send & is_ok, MOST_OPERATIONS - len(chosen))])
    chosen = chosen.sort_by("invoked")
    index = {log: at for at, log in enumerate(counts.logs)}
    begun = pc.divide(pc.subtract(chosen["invoked"], run.axis.began), NANOSECONDS)
    errors = chosen["error"].fill_null("").dictionary_encode().combine_chunks()
    took = latency(chosen).to_pylist()
    return {
        "time": begun.to_pylist(),
        "took": [None if each is None else round(each, 1) for each in took],
        "process": chosen["process"].to_pylist(),
        "log": [
            index.get(log, -1)
            for log in zip(chosen["topic"].to_pylist(), chosen["partition"].to_pylist(), strict=True)
        ],
        "outcome": [OUTCOMES.index(each) for each in chosen["type"].to_pylist()],
        "offset": chosen["offset"].to_pylist(),
        "error": errors.indices.to_pylist() if len(errors) else [],
        "errors": errors.dictionary.to_pylist() if len(errors) else [],
    }


def _slowest(run: RunData, chosen: pc.Expression, most: int) -> pa.Table:
    """Only the durations of all sends are held in memory."""
    duration = pc.subtract(pc.field("completed"), pc.coalesce(pc.field("intended"), pc.field("invoked")))
    took = run.some_records({"took": duration}, chosen)
    if 0 < most < len(took):
        kept = took.take(pc.select_k_unstable(took, most, [("took", "descending")]))
        chosen = chosen & (duration >= pc.min(kept["took"]))
    return run.some_records(COLUMNS, chosen, most)
