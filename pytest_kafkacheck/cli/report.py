"""``kafkacheck report``: a run as one HTML file, or several runs side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.options import RUN_HELP, add_directory_option, run_folder
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError

COMPARISON = "comparison.html"


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help=f"{RUN_HELP}; several are compared")
    parser.add_argument(
        "-o",
        metavar="FILE",
        dest="out",
        help=f"default: report.html in the run's folder; of several runs {COMPARISON} here",
    )
    parser.add_argument("--md", action="store_true", help="report.md, for a pull request, instead of HTML")
    add_directory_option(parser)


def _run(options: argparse.Namespace) -> int:
    """Status 0 whatever the verdict: this command does not judge."""
    from pytest_kafkacheck.report.write import write_comparison, write_markdown, write_report

    homes = [run_folder(each, options.dir) for each in options.runs]
    out = None if options.out is None else Path(options.out)
    if len(homes) > 1 and options.md:
        raise UsageError(f"--md: expected one RUN, got {len(homes)}; several runs are compared as HTML")
    if len(homes) > 1:
        file = write_comparison(homes, out or Path(COMPARISON))
    elif options.md:
        file = write_markdown(homes[0], out)
    else:
        file = write_report(homes[0], out)
    print(file)
    return AS_EXPECTED


COMMAND = Command(
    name="report",
    help="a run as one HTML file, or several runs side by side",
    order=75,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck report latest",
        "kafkacheck report latest --md",
        "kafkacheck report latest~1 latest -o comparison.html",
    ),
)
