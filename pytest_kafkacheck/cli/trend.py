"""``kafkacheck trend``: one test over its kept runs."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import console
from pytest_kafkacheck.cli.common.options import add_directory_option
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.kept_runs.figures import NAMES, figure_text

if TYPE_CHECKING:
    from pytest_kafkacheck.kept_runs.figures import Trend


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "test",
        metavar="TEST",
        help="name of a test or experiment as kafkacheck ls shows it, or a pattern: 'demo-*'",
    )
    add_json_option(parser)
    add_directory_option(parser)


def _run(options: argparse.Namespace) -> int:
    """Status 0 whatever the verdicts: this command does not judge."""
    from pytest_kafkacheck.kept_runs.figures import of_test, trend
    from pytest_kafkacheck.kept_runs.run_summary import runs_in

    check_json(options.json)
    runs = runs_in(options.dir)
    chosen = of_test(runs, options.test)
    if not chosen:
        names = dict.fromkeys(run.name for run in runs)
        near = get_close_matches(options.test, names, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else "."
        raise UsageError(
            f"{options.test}: no run of such a test in {options.dir}{hint} kafkacheck ls --dir {options.dir} lists "
            f"{len(runs)} runs of {len(names)} tests"
        )
    found = trend(chosen)
    if options.json is not None:
        write_json(options.json, found.to_json())
    if options.json != "-":
        _print(found)
    return AS_EXPECTED


def _print(found: Trend) -> None:
    from pytest_kafkacheck.cli.common.console import table
    from pytest_kafkacheck.kept_runs.figures import SHOWN

    names = {run.name for run in found.runs}
    headings = [
        "when",
        *(["test"] if len(names) > 1 else []),
        "run",
        "Kafka",
        "verdict",
        *(NAMES[each] for each in SHOWN),
    ]
    rows = []
    for run, figures in zip(found.runs, found.figures, strict=True):
        when = "" if run.began is None else f"{run.began:%Y-%m-%d %H:%M}"
        values = figures.to_json()
        rows.append(
            [
                when,
                *([run.name] if len(names) > 1 else []),
                run.run,
                run.version,
                run.verdict_text,
                *(figure_text(each, values[each]) for each in SHOWN),
            ]
        )
    out = console()
    marked = [not run.is_as_expected for run in found.runs]
    right = range(len(headings) - len(SHOWN), len(headings))
    for part in table("Runs", headings, rows, marked=marked, right=right):
        out.print(part, markup=False)
    for line in found.summary:
        print(line)


COMMAND = Command(
    name="trend",
    help="verdicts, flake rate and figures of a test over its runs",
    order=58,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck trend test_orders", "kafkacheck trend 'demo-*' --json"),
)
