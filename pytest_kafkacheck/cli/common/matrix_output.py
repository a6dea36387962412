"""The results of a matrix on the terminal and in files, and the exit status that follows from them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.common.json_output import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, NOT_AS_EXPECTED, UNKNOWN
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.matrix.cell import CellResult

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

    from pytest_kafkacheck.cli.common.table import table
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
    from pytest_kafkacheck.matrix.cell import worst_state

    match worst_state(results) if results else None:
        case "as predicted":
            return AS_EXPECTED
        case "not as predicted":
            return NOT_AS_EXPECTED
    return UNKNOWN
