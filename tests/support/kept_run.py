"""Folders of runs with planted verdicts and phases, as a run leaves them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

PHASES = {"steady": 1_000_000_000, "recovery": 8_000_000_000, "final": 11_000_000_000}
"""Begins, in ns: 10 s of load."""


def kept_run(
    directory: Path,
    *,
    time: str = "20261125-060000",
    name: str = "orders",
    run: str = "7b29cd07",
    result: str | None = "valid",
    expect: str = "valid",
    version: str = "4.1.1",
    causes: Sequence[str] = (),
    findings: Mapping[str, int] | None = None,
    unknowns: Sequence[str] = (),
    workload: Mapping[str, Any] | None = None,
    phases: Mapping[str, int] | None = None,
) -> Path:
    """The folder. result: None for an interrupted run. 12,000 sends in the phases, of which 2,000 failed."""
    home = directory / f"{time}-{name}-{run}"
    home.mkdir(parents=True)
    experiment = {
        "format": 1,
        "name": name,
        "workload": {"type": "AppendLog", "acks": "all", **(workload or {})},
        "faults": [{"id": "isolate-0", "at": 3, "lasting": 8, "fault": "isolate", "target": "leader"}],
        "cluster": {"version": version, "brokers": 3},
        "expect": expect,
    }
    (home / "experiment.json").write_text(json.dumps(experiment))
    if result is not None:
        (home / "verdict.json").write_text(
            json.dumps(_verdict(run, result, causes, findings or {}, unknowns))
        )
    _write_phases(home, PHASES if phases is None else phases)
    return home


def _verdict(
    run: str, result: str, causes: Sequence[str], findings: Mapping[str, int], unknowns: Sequence[str]
) -> dict[str, Any]:
    waits = [{"topic": "log", "partition": 0, "longest_wait": each} for each in (0.2, 3.5)]
    first = {"phase": "start", "sends": 500, "errors": 0, "latency_median": 0.5, "latency_99": 0.9}
    main = {"phase": "steady", "sends": 10_000, "errors": 1500, "latency_median": 0.02, "latency_99": 1.5}
    last = {"phase": "recovery", "sends": 2_000, "errors": 500, "latency_median": 0.01, "latency_99": 0.1}
    return {
        "run": run,
        "result": result,
        "findings": [{"anomaly": name, "count": count, "allowed": False} for name, count in findings.items()],
        "causes": [{"kind": kind} for kind in causes],
        "unknowns": list(unknowns),
        "exercised": {"sends": {"ok": 10_500, "info": 2_000}},
        "availability": {"logs": waits, "phases": [first, main, last], "worst_lag": None},
    }


def _write_phases(home: Path, phases: Mapping[str, int]) -> None:
    folder = home / "history" / "operations"
    folder.mkdir(parents=True)
    rows = [("isolate", 0, None)] + [
        ("phase", at, json.dumps({"phase": name})) for name, at in phases.items()
    ]
    names = ("f", "invoked", "value")
    table = pa.table({name: [row[position] for row in rows] for position, name in enumerate(names)})
    pq.write_table(table, folder / "part-0.parquet")
