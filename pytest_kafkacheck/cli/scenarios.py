"""``kafkacheck scenarios``: show on real clusters what people are taught about Kafka."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import console, say, show
from pytest_kafkacheck.cli.common.options import (
    add_directory_option,
    add_spark_options,
    spark_options,
)
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, NOT_AS_EXPECTED, UNKNOWN, worst
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.claims.claim import Scenario
    from pytest_kafkacheck.claims.result import ScenarioResult


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-k",
        metavar="EXPR",
        dest="expression",
        help="only scenarios whose names match, such as 'B8', 'C or D' or 'B and not 2.8.2'",
    )
    parser.add_argument(
        "--tries", metavar="N", type=int, default=1, help="showings of each scenario; default: %(default)s"
    )
    parser.add_argument("--list", action="store_true", help="print the scenarios; run nothing")
    add_json_option(parser, "the results")
    parser.add_argument("--junitxml", metavar="FILE", type=Path, help="write the results as JUnit's XML")
    parser.add_argument(
        "--pictures",
        metavar="DIR",
        type=Path,
        help="write a picture (SVG) of each scenario whose claim is about time into this folder",
    )
    add_spark_options(parser)
    add_directory_option(parser)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.claims.claim import all_scenarios
    from pytest_kafkacheck.claims.run import run_scenarios
    from pytest_kafkacheck.claims.selection import selected
    from pytest_kafkacheck.experiment.harness import Harness

    if options.tries < 1:
        raise UsageError(f"--tries {options.tries}: expected 1 or more")
    check_json(options.json)
    if options.junitxml is not None and not options.junitxml.resolve().parent.is_dir():
        raise UsageError(f"--junitxml {options.junitxml}: its folder does not exist")
    if options.pictures is not None and not options.pictures.is_dir():
        raise UsageError(f"--pictures {options.pictures}: expected a folder that exists")
    scenarios = selected(all_scenarios(), options.expression)
    if options.list:
        return _list(options, scenarios)
    results: list[ScenarioResult] = []
    try:
        with Harness(options.dir, say=say, show=show, **spark_options(options)) as harness:
            for result in run_scenarios(harness, scenarios, tries=options.tries, say=say):
                results.append(result)
                if options.pictures is not None:
                    _draw(options.pictures, result)
    except BaseException:
        if results:  # those of the scenarios that have ended are not lost
            write_results(options, results)
        raise
    return write_results(options, results)


def _draw(folder: Path, result: ScenarioResult) -> None:
    from pytest_kafkacheck.report.render import picture

    drawn = result.picture
    if drawn is not None:
        text = picture(result.scenario.claim.text, drawn.groups, span=drawn.span)
        (folder / f"{result.scenario.name}.svg").write_text(text, encoding="utf-8")


def _list(options: argparse.Namespace, scenarios: Sequence[Scenario]) -> int:
    if options.json is not None:
        listed = [
            {"name": each.name, "id": each.claim.id, "claim": each.claim.text, "expected": each.case.expected}
            for each in scenarios
        ]
        write_json(options.json, listed)
    if options.json != "-":
        for each in scenarios:
            print(f"{each.name}: {each.case.expected}: {each.claim.text}")
    return AS_EXPECTED


def write_results(options: argparse.Namespace, results: Sequence[ScenarioResult]) -> int:
    """Print the table, write the file, and return the exit status."""
    from pytest_kafkacheck.claims.result import HEADINGS, junit_xml, notes, row
    from pytest_kafkacheck.cli.common.console import table

    in_order = sorted(results, key=lambda result: result.scenario.claim.order)
    data = [result.to_json() for result in in_order]
    if options.json is not None:
        write_json(options.json, data)
    if options.junitxml is not None:
        options.junitxml.write_text(junit_xml(in_order), encoding="utf-8")
    if options.json != "-":
        marked = [result.state != "as documented" for result in in_order]
        out = console()
        for part in table("Scenarios", HEADINGS, [row(each) for each in data], marked=marked, right=(6,)):
            out.print(part, markup=False)
        for line in notes(data):
            out.print(line, markup=False)
    return worst([STATUS_OF[result.state] for result in results])


STATUS_OF = {
    "as documented": AS_EXPECTED,
    "not as documented": NOT_AS_EXPECTED,
    "error": NOT_AS_EXPECTED,
    "not exercised": UNKNOWN,
}

COMMAND = Command(
    name="scenarios",
    help="show on real clusters what people are taught about Kafka",
    order=33,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck scenarios --list",
        "kafkacheck scenarios -k 'B8 or B9' --tries 3 --json results.json",
    ),
)
