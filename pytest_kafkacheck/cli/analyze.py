"""``kafkacheck analyze``: any number of runs, judged in one Spark application."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.analysis import (
    add_jepsen_options,
    analyze_jepsen,
    evidence_lines,
    print_plan,
    print_schema,
)
from pytest_kafkacheck.cli.common.console import say
from pytest_kafkacheck.cli.common.options import (
    add_daemon_option,
    add_directory_option,
    add_spark_options,
    add_verbose_option,
    run_text,
    spark_of,
)
from pytest_kafkacheck.cli.common.results import VERDICTS, add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import status, worst
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.experiment.judging import Outcome
    from pytest_kafkacheck.experiment.stored_runs import StoredRun

NAMED = 3
"""Runs that are named in a line of progress."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="the folder of a run, its id or the beginning of one, or latest; a folder of runs; a URI of either on "
        "any file system that Spark reads; or a history as JSON lines, FILE.jsonl or FILE.jsonl.gz, that any program "
        "wrote",
    )
    add_json_option(parser, VERDICTS)
    parser.add_argument(
        "--allow",
        metavar="ANOMALY",
        nargs="+",
        default=[],
        action="extend",
        help="anomalies to report without judging them, in addition to those that a run's workload allows",
    )
    parser.add_argument(
        "--examples",
        metavar="N",
        type=int,
        default=5,
        help="examples to show of each anomaly, whose count is always exact; default: %(default)s",
    )
    parser.add_argument(
        "--profile",
        choices=("native", "jepsen"),
        default="native",
        help="the rules to judge by; jepsen: the rules of its Kafka checker, for its histories in EDN or JSON; "
        "default: %(default)s",
    )
    parser.add_argument(
        "--explain-schema",
        action="store_true",
        help="print what a history as JSON lines consists of, and what each check needs of it; judge nothing",
    )
    parser.add_argument(
        "--show-plan",
        action="store_true",
        help="print the condition of each check, what the first look asks instead, and its SQL; judge nothing",
    )
    add_verbose_option(parser)
    add_jepsen_options(parser)
    add_spark_options(parser)
    add_daemon_option(parser)
    add_directory_option(parser)


def analyze(options: argparse.Namespace) -> int:
    """The status is that of the worst run: a verdict that is not as expected is worse than one that is unknown."""
    if options.explain_schema:
        return print_schema()
    if options.show_plan:
        return print_plan()
    if not options.paths:
        raise UsageError("PATH: expected at least one run to judge, --explain-schema or --show-plan")
    check_json(options.json)
    if options.profile == "jepsen":
        return analyze_jepsen(options)
    _check(options)
    with TemporaryDirectory(prefix="kafkacheck-lines-") as scratch:
        return _analyze(options, Path(scratch))


def _analyze(options: argparse.Namespace, scratch: Path) -> int:
    """scratch: where histories as JSON lines are imported."""
    from analyzers.verdict.summary import entry
    from pytest_kafkacheck.experiment.judging import judge_all
    from pytest_kafkacheck.experiment.stored_runs import list_remote, stored_runs

    spark = spark_of(options)
    runs = stored_runs([run_text(each, options.dir) for each in options.paths], scratch=scratch)
    _require_one(runs)
    try:
        spark.start()
        runs = list_remote(spark, runs)
        _require_one(runs)
        say(what_is_read([str(run.lines.path if run.lines else run.home) for run in runs if not run.problem]))
        outcomes = judge_all(spark, runs, allow=options.allow, examples=options.examples)
    finally:
        spark.stop()
    for outcome in outcomes:
        if outcome.problem is not None:
            print(f"kafkacheck: {outcome.problem}", file=sys.stderr)
    if options.json is not None:
        write_json(
            options.json,
            [entry(each, str(outcome.source)) for outcome in outcomes for each in outcome.verdicts],
        )
    if options.json != "-":
        _print(outcomes, verbose=options.verbose)
    return worst([status(each.result, outcome.expect) for outcome in outcomes for each in outcome.verdicts])


def what_is_read(homes: Sequence[str]) -> str:
    """For people who wait."""
    if len(homes) <= NAMED:
        return f"judging {', '.join(homes)}"
    return f"judging {len(homes)} runs, {homes[0]} to {homes[-1]}"


def _require_one(runs: Sequence[StoredRun]) -> None:
    """Refuse a call in which no path is a run."""
    if all(run.problem for run in runs):
        raise UsageError("; ".join(str(run.problem) for run in runs))


def _check(options: argparse.Namespace) -> None:
    from analyzers.catalogue.registry import require_known

    try:
        require_known(options.allow)
    except ValueError as error:
        raise UsageError(f"--{error}") from error
    if options.examples < 0:
        raise UsageError(f"--examples {options.examples}: expected 0 or more")
    for option in ("ww_deps", "sub_via"):
        if getattr(options, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')} requires --profile jepsen")


def _print(outcomes: Sequence[Outcome], *, verbose: bool) -> None:
    from analyzers.causes.story import story
    from pytest_kafkacheck.experiment.run_directory import RunDirectory
    from pytest_kafkacheck.run import Run

    verdicts = [(outcome, verdict) for outcome in outcomes for verdict in outcome.verdicts]
    for outcome, verdict in verdicts:
        if isinstance(outcome.home, Path) and RunDirectory(outcome.home).experiment.is_file():
            print(Run(outcome.home, verdict).text())
        else:  # It cannot be run again.
            print(story(verdict))
            for line in [] if outcome.lines is None else evidence_lines(verdict, outcome.lines.path):
                print(f"   {line}")
            print(f"   kept   {outcome.source}")
            if isinstance(outcome.home, Path) and verdict.findings:  # explain accepts local runs only
                print(f"   more   kafkacheck explain {shlex.quote(str(outcome.source))}")
        if verbose:
            print(f"\n{verdict.text()}")
        if len(verdicts) > 1:
            print()
    if len(verdicts) > 1:
        counts = Counter(verdict.result for _, verdict in verdicts)
        summary = ", ".join(f"{counts[result]} {result}" for result in ("invalid", "unknown", "valid"))
        print(f"{len(verdicts)} runs: {summary}")


COMMAND = Command(
    name="analyze",
    help="judge stored runs again, including interrupted ones",
    order=60,
    add_options=add_options,
    run=analyze,
    examples=(
        "kafkacheck analyze latest",
        "kafkacheck analyze .kafkacheck --json verdicts.json",
        "kafkacheck analyze history.jsonl --json",
        "kafkacheck analyze hdfs://host/runs --spark-master yarn",
    ),
)
