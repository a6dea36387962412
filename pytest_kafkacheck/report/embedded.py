"""What report.js draws from: columns of numbers as JSON, compressed, in base64; 0.4 MB for a million sends."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pytest_kafkacheck.report.axis import NANOSECONDS
from pytest_kafkacheck.report.cube import FASTEST, OUTCOMES, STEPS, Cell, Cube, latency
from pytest_kafkacheck.report.lanes.replicas import log_name
from pytest_kafkacheck.report.run_data import RunData

MOST_CELLS = 250_000
"""Of the cube. Above that, cells of all processes are added up: the filter by process then changes no chart."""

MOST_OPERATIONS = 20_000
"""Sends that the page can list: first those that were not acknowledged, then the slowest ones."""


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
    sends = run.records.filter(pc.equal(run.records["f"], "send"))
    sends = sends.append_column("took", pa.chunked_array(latency(sends)))
    is_ok = pc.equal(sends["type"], "ok")
    chosen = sends.filter(pc.invert(is_ok)).slice(0, MOST_OPERATIONS)
    if left := MOST_OPERATIONS - len(chosen):
        slow = sends.filter(is_ok)
        best = pc.select_k_unstable(slow, min(left, len(slow)), [("took", "descending")]) if len(slow) else []
        chosen = pa.concat_tables([chosen, slow.take(best)]) if len(best) else chosen
    chosen = chosen.sort_by("invoked")
    index = {log: at for at, log in enumerate(counts.logs)}
    begun = pc.divide(pc.subtract(chosen["invoked"], run.axis.began), NANOSECONDS)
    errors = chosen["error"].fill_null("").dictionary_encode().combine_chunks()
    return {
        "time": begun.to_pylist(),
        "took": [None if each is None else round(each, 1) for each in chosen["took"].to_pylist()],
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
