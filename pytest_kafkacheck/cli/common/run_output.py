"""Verdicts of runs that a command made: as text, and with ``--json`` as the list that ``analyze`` writes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.common.json_output import write_json
from pytest_kafkacheck.cli.common.progress import say

if TYPE_CHECKING:
    from pytest_kafkacheck.run import Run

VERDICTS = "a list with one object per run"
"""What such a command writes, for help."""


def print_runs(options: argparse.Namespace, runs: Sequence[Run]) -> None:
    """Text on standard output unless the JSON goes there."""
    if options.json != "-":
        for run in runs:
            print_text(options, run)
    write_runs(options, runs)


def report_failure(run: Run, expect: str) -> None:
    """Write report.html of a run that did not end as expected, and say where it is."""
    if run.result != expect:
        from pytest_kafkacheck.report.attempt import written_or_why_not

        say(f"report: {written_or_why_not(run.path)}")


def print_text(options: argparse.Namespace, run: Run) -> None:
    print(run.text(), flush=True)
    if getattr(options, "verbose", False):
        print(run.details(), flush=True)


def write_runs(options: argparse.Namespace, runs: Sequence[Run]) -> None:
    """Write the file of ``--json``, if it was asked for."""
    from analyzers.verdict.summary import entry

    if options.json is not None:
        write_json(options.json, [entry(run.verdict, str(run.path)) for run in runs])
