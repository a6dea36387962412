"""The results of a matrix as a table: configuration × guarantee × cost."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

HEADINGS = (
    "scenario",
    "configuration",
    "expected",
    "shown",
    "result",
    "without acks",
    "records/s",
    "latency p50 / p99",
)


def rows(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each result, given as `CellResult.to_json`."""
    return [
        (
            each["scenario"],
            each["cell"].removeprefix(f"{each['scenario']}-"),
            each["expected"],
            each["guarantee"],
            each["verdict"],
            _seconds(each["without_acks"]),
            "–" if each["throughput"] is None else f"{each['throughput']:,.0f}",
            _latency(each["latency_median"], each["latency_99"]),
        )
        for each in results
    ]


def markdown(results: Sequence[Mapping[str, Any]], impossible: Mapping[str, str]) -> str:
    lines = [_line(HEADINGS), _line(["---"] * len(HEADINGS)), *map(_line, rows(results))]
    if impossible:
        lines += ["", "Impossible, not run:", ""]
        lines += [f"- {name}: {reason}" for name, reason in impossible.items()]
    return "\n".join(lines) + "\n"


def plain(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """The table as lines of text, with columns as wide as needed."""
    lines = [HEADINGS, *rows(results)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]


def as_json(results: Sequence[Mapping[str, Any]], impossible: Mapping[str, str]) -> str:
    return json.dumps({"cells": list(results), "impossible": dict(impossible)}, indent=2) + "\n"


def as_csv(results: Sequence[Mapping[str, Any]]) -> str:
    """One line for each cell, with a column for each setting that any of them has."""
    settings = list(dict.fromkeys(name for each in results for name in each["configuration"]))
    figures = (
        "expected", "state", "guarantee", "written", "lost", "tries", "acks_in_window", "without_acks",
        "throughput", "latency_median", "latency_99", "path",
    )  # fmt: skip
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["scenario", *settings, *figures])
    for each in results:
        configuration = [each["configuration"].get(name, "") for name in settings]
        writer.writerow([each["scenario"], *configuration, *(each[name] for name in figures)])
    return out.getvalue()


def summary(results: Sequence[Mapping[str, Any]]) -> str:
    """Such as "32 cells: 31 as predicted, 1 not reproduced"."""
    states = [each["state"] for each in results]
    parts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    return f"{len(states)} cell{'s' * (len(states) != 1)}: {parts}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"


def _latency(median: float | None, worst: float | None) -> str:
    if median is None or worst is None:
        return "–"
    return f"{median * 1000:.1f} / {worst * 1000:.1f} ms"
