"""``kafkacheck compare``: two kept runs side by side."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import console
from pytest_kafkacheck.cli.common.options import RUN_HELP, add_directory_option
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.kept_runs.figures import NAMES, figure_text

if TYPE_CHECKING:
    from pytest_kafkacheck.kept_runs.figures import Comparison


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("one", metavar="RUN", help=RUN_HELP)
    parser.add_argument("other", metavar="OTHER", help="the run to compare it with, named in the same ways")
    add_json_option(parser)
    add_directory_option(parser)


def _run(options: argparse.Namespace) -> int:
    """Status 0 whatever differs: this command does not judge."""
    from pytest_kafkacheck.kept_runs.figures import compare
    from pytest_kafkacheck.kept_runs.run_summary import find_one

    check_json(options.json)
    found = compare(find_one(options.one, options.dir), find_one(options.other, options.dir))
    if options.json is not None:
        write_json(options.json, found.to_json())
    if options.json != "-":
        _print(found)
    return AS_EXPECTED


def _print(found: Comparison) -> None:
    from pytest_kafkacheck.cli.common.console import table

    one, other = found.runs
    headings = ("", f"{one.name} ({one.run})", f"{other.name} ({other.run})")
    results = [
        ("verdict", one.result, other.result),
        ("cause", one.cause or "–", other.cause or "–"),
        *((name, f"{first:,}", f"{second:,}") for name, (first, second) in found.findings.items()),
        *(
            (NAMES[name], figure_text(name, first), figure_text(name, second))
            for name, (first, second) in found.figures.items()
        ),
    ]
    settings = [(name, _text(first), _text(second)) for name, (first, second) in found.settings.items()]
    out = console()
    parts = [*table("Result", headings, results)]
    parts += (
        [*table("Settings that differ", headings, settings)] if settings else ["All settings are the same."]
    )
    for part in parts:
        out.print(part, markup=False)


def _text(value: Any) -> str:
    return "–" if value is None else str(value)


COMMAND = Command(
    name="compare",
    help="two runs side by side: settings, findings, figures",
    order=56,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck compare latest~1 latest", "kafkacheck compare 7b29 afd2 --json"),
)
