"""The summary of a soak as Markdown: for the terminal, for the summary of a job, and for the text of an issue."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_kafkacheck.soak.pairs import STATES
from pytest_kafkacheck.soak.round import NOT_DETERMINED
from pytest_kafkacheck.soak.summary import Finding, Summary

SHOWN = 8
"""Numbers of rounds that are listed for a finding or a reason."""


def markdown(summary: Summary, *, name: str, folder: Path) -> str:
    return "\n".join(
        [*_head(summary, name), *_findings(summary, folder), *_unknowns(summary), *_tables(summary), ""]
    )


def _head(summary: Summary, name: str) -> Iterator[str]:
    results = ", ".join(f"{times} {result}" for result, times in summary.results.items())
    yield f"## kafkacheck soak: {name}, seed {summary.seed}"
    yield ""
    yield f"{summary.rounds} rounds in {summary.seconds / 60:.0f} min: {results}."


def _findings(summary: Summary, folder: Path) -> Iterator[str]:
    if not summary.findings:
        yield f"No finding.{'' if summary.rounds else ' Nothing was run, so nothing is known.'}"
        return
    for number, each in enumerate(summary.findings, 1):
        yield from (
            "",
            f"### Finding {number}: {titled(each.cause, each.anomalies)}",
            "",
            *_finding(each, folder),
        )


def _finding(found: Finding, folder: Path) -> Iterator[str]:
    run = shlex.quote(str(folder / found.path))
    if found.why:
        yield f"Why: {found.why}"
    if found.change:
        yield f"Try: {found.change}"
    yield f"Rounds {listed(found.rounds)}."
    yield f"The first run: `kafkacheck explain {run}`, again: `kafkacheck replay {run}`"
    if found.at_work:
        yield f"At work then: {', '.join(found.at_work)}."
    if found.shrunk is not None:
        yield from ("", "```", *found.shrunk.splitlines(), "```")


def titled(cause: str, anomalies: Sequence[str]) -> str:
    """Such as ``acks=1: lost-write, offset-reuse``."""
    names = ", ".join(anomalies)
    return names if cause == names else cause if cause.endswith(NOT_DETERMINED) else f"{cause}: {names}"


def _unknowns(summary: Summary) -> Iterator[str]:
    if summary.unknowns:
        yield from ("", "### Unknown", "")
        for each in summary.unknowns:
            yield f"- {len(each.rounds)} × ({listed(each.rounds)}): {each.reason}"


def _tables(summary: Summary) -> Iterator[str]:
    if not summary.rounds:
        return
    faults = [(name, good, bad) for name, (good, bad) in summary.faults.items()]
    yield from ("", "### What was done", "")
    yield from _table(("workload", "rounds"), list(summary.workloads.items()))
    yield from _table(("Kafka", "rounds"), list(summary.versions.items()))
    yield from _table(("fault", "effective", "without effect"), faults)
    yield from _table(("promise", "exercised in rounds"), list(summary.promises.items()))
    yield from ("### In which state of the cluster faults began, in rounds", "")
    yield from _pairs(summary)
    if summary.never or summary.left_out:
        yield from ("### Not reached", "")
        yield from (f"- {what}: {', '.join(names)}" for what, names in summary.never.items())
        yield from (f"- left out on this host: {fault}: {why}" for fault, why in summary.left_out.items())
        yield ""


def _pairs(summary: Summary) -> Iterator[str]:
    states = [state for state in STATES if any(found == state for _, found in summary.pairs)]
    names = sorted({fault for fault, _ in summary.pairs})
    rows = [(name, *(summary.pairs.get((name, state), "–") for state in states)) for name in names]
    yield from _table(("fault", *states), rows)
    others: dict[str, list[str]] = {}
    for fault, circumstance in summary.pairs:
        if circumstance not in STATES:
            others.setdefault(circumstance, []).append(fault)
    yield from ("### What faults were aimed at, and what clients used meanwhile", "")
    yield from _table(("", "faults"), [(each, ", ".join(others[each])) for each in sorted(others)])


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    texts = [[str(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(headings))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in texts
    ]
    yield lines[0]
    yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    yield from lines[1:]
    yield ""


def listed(rounds: Sequence[int]) -> str:
    """The first numbers, and how many more there are."""
    more = f" and {len(rounds) - SHOWN} more" if len(rounds) > SHOWN else ""
    return ", ".join(map(str, rounds[:SHOWN])) + more
