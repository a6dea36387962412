"""Results of commands: runs and matrices as text, and with ``--json`` in a file or on standard output."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.common.console import say
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, NOT_AS_EXPECTED, UNKNOWN
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.matrix.cell_result import CellResult
    from pytest_kafkacheck.run import Run


def add_json_option(parser: argparse.ArgumentParser, what: str = "the result") -> None:
    parser.add_argument(
        "--json",
        metavar="OUT",
        nargs="?",
        const="-",
        help=f"write {what} as JSON into this file; without OUT, or with -, to standard output",
    )


def check_json(out: str | None) -> None:
    """Refuse a file that could not be written, before anything starts. Raises UsageError."""
    if out is None or out == "-":
        return
    if Path(out).is_dir():
        raise UsageError(f"--json {out}: is a folder; write --json - for standard output")
    if not Path(out).resolve().parent.is_dir():
        raise UsageError(f"--json {out}: its folder does not exist")


def write_json(out: str, results: Sequence[object] | Mapping[str, object]) -> None:
    """Write the results. Raises UsageError when the file cannot be written."""
    text = json.dumps(results, indent=2)
    if out == "-":
        print(text)
        return
    try:
        Path(out).write_text(text + "\n")
    except OSError as error:
        raise UsageError(f"--json {out}: cannot be written ({error})") from error


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


FORMATS = ("markdown", "csv")

WIDTH = 200
"""Characters per line if the output is no terminal."""


def add_matrix_outputs(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser, "the results")
    for name in FORMATS:
        parser.add_argument(
            f"--{name}", metavar="FILE", type=Path, help=f"write the results as {name.upper()}"
        )


def check_matrix_outputs(options: argparse.Namespace) -> None:
    """Refuse files that could not be written, before anything starts. Raises UsageError."""
    check_json(options.json)
    for name in FORMATS:
        file = getattr(options, name)
        if file is not None and not file.resolve().parent.is_dir():
            raise UsageError(f"--{name} {file}: its folder does not exist")


def write_matrix(
    options: argparse.Namespace, results: Sequence[CellResult], impossible: Mapping[str, str]
) -> int:
    """Print the table, write the files, and return the exit status."""
    from pytest_kafkacheck.matrix.table import as_csv, as_json, markdown

    data = [result.to_json() for result in results]
    texts = {"markdown": markdown(data, impossible), "csv": as_csv(data)}
    for name, text in texts.items():
        if (file := getattr(options, name)) is not None:
            file.write_text(text, encoding="utf-8")
    if options.json is not None:
        write_json(options.json, json.loads(as_json(data, impossible)))
    if options.json != "-":
        print_matrix(results, impossible)
    return matrix_status(results)


def print_matrix(results: Sequence[CellResult], impossible: Mapping[str, str]) -> None:
    from rich.console import Console

    from pytest_kafkacheck.cli.common.console import table
    from pytest_kafkacheck.matrix.table import HEADINGS, rows, summary

    data = [result.to_json() for result in results]
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=WIDTH)
    marked = [result.state != "as predicted" for result in results]
    for part in table("Configurations", HEADINGS, rows(data), marked=marked):
        console.print(part, markup=False)
    for name, reason in impossible.items():
        console.print(f"impossible, not run: {name}: {reason}", markup=False)
    console.print(summary(data), markup=False)


def matrix_status(results: Sequence[CellResult]) -> int:
    """Without any result, nothing is known."""
    from pytest_kafkacheck.matrix.cell_result import worst_state

    match worst_state(results) if results else None:
        case "as predicted":
            return AS_EXPECTED
        case "not as predicted":
            return NOT_AS_EXPECTED
    return UNKNOWN
