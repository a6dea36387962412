"""``kafkacheck ls``: the runs that are kept."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import console
from pytest_kafkacheck.cli.common.options import add_directory_option
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED

if TYPE_CHECKING:
    from pytest_kafkacheck.kept_runs.run_summary import RunSummary

CAUSE = 4
"""The column with text of any length."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--failed",
        action="store_true",
        help="only runs whose verdict is not the expected one, or that have none",
    )
    add_json_option(parser, "a list with one object per run")
    add_directory_option(parser)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.kept_runs.run_summary import runs_in, soaks_in

    check_json(options.json)
    runs = [run for run in runs_in(options.dir) if not (options.failed and run.is_as_expected)]
    if options.json is not None:
        write_json(options.json, [run.to_json() for run in runs])
    if options.json != "-":
        _print(runs, f"no {'failed ' if options.failed else ''}runs in {options.dir}")
        for folder, number in soaks_in(options.dir).items():
            kept = f"{number} run{'' if number == 1 else 's'}"
            print(f"a soak, {kept} kept: kafkacheck ls --dir {shlex.quote(str(folder))}")
    return AS_EXPECTED


def _print(runs: Sequence[RunSummary], nothing: str) -> None:
    from rich.table import Table
    from rich.text import Text

    if not runs:
        print(nothing)
        return
    out, rows = console(), []
    for run in runs:
        when = "" if run.began is None else f"{run.began:%Y-%m-%d %H:%M:%S}"
        rows.append((when, run.name, run.run, run.verdict_text, run.cause, f"{run.size / 1e6:.1f}"))
    headings = ("when", "test", "run", "verdict", "cause", "MB")
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    # Where the terminal is narrow, only the cause is cut.
    widths[CAUSE] = max(
        len(headings[CAUSE]), min(widths[CAUSE], out.width - sum(widths) + widths[CAUSE] - 2 * CAUSE - 2)
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, width in zip(headings, widths, strict=True):
        table.add_column(heading, justify="right" if heading == "MB" else "left", no_wrap=True, width=width)
    for run, row in zip(runs, rows, strict=True):
        table.add_row(*map(Text, row), style="" if run.is_as_expected else "bold")
    out.print(table)


COMMAND = Command(
    name="ls",
    help="list the runs that are kept, with verdict, cause and size",
    order=52,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck ls",
        "kafkacheck ls --failed",
        "kafkacheck ls --json --dir .kafkacheck",
    ),
)
