"""``kafkacheck analyze``: any number of runs, judged in one Spark application."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.harness_options import add_spark_options
from pytest_kafkacheck.cli.common.jepsen_profile import add_jepsen_options, analyze_jepsen
from pytest_kafkacheck.cli.common.json_output import check_json, write_json
from pytest_kafkacheck.cli.exit_status import status, worst
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.experiment.judging import Outcome, Place


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="the folder of a run, a folder of such folders, or a URI of either on any file system that Spark reads",
    )
    parser.add_argument(
        "--json",
        metavar="OUT",
        help="write a list with one object per run into this file; - for standard output",
    )
    parser.add_argument(
        "--allow",
        metavar="ANOMALY",
        nargs="+",
        default=[],
        action="extend",
        help="report these, and do not judge them; besides those that a run's workload allows",
    )
    parser.add_argument(
        "--examples",
        metavar="N",
        type=int,
        default=5,
        help="of each anomaly; counts are exact; default: %(default)s",
    )
    parser.add_argument(
        "--profile",
        choices=("native", "jepsen"),
        default="native",
        help="whose rules to judge by; jepsen: those of its Kafka checker, for its histories in EDN or JSON; "
        "default: %(default)s",
    )
    add_jepsen_options(parser)
    add_spark_options(parser)


def analyze(options: argparse.Namespace) -> int:
    """The status is that of the worst run: one not as expected, then one that is unknown."""
    check_json(options.json)
    if options.profile == "jepsen":
        return analyze_jepsen(options)
    from pytest_kafkacheck.experiment.judging import judge_all, places, reached
    from pytest_kafkacheck.spark import Spark, parse_settings

    _check(options)
    found = places(options.paths)
    _refuse_nothing(found)
    spark = Spark(master=options.spark_master, conf=parse_settings(options.spark_conf))
    try:
        spark.start()
        found = reached(spark, found)
        _refuse_nothing(found)
        outcomes = judge_all(spark, found, allow=options.allow, examples=options.examples)
    finally:
        spark.stop()
    for outcome in outcomes:
        if outcome.problem is not None:
            print(f"kafkacheck: {outcome.problem}", file=sys.stderr)
    if options.json is not None:
        write_json(options.json, [each for outcome in outcomes for each in entries(outcome)])
    if options.json != "-":
        _print(outcomes)
    return worst([status(each.result, outcome.expect) for outcome in outcomes for each in outcome.verdicts])


def _refuse_nothing(found: Sequence[Place]) -> None:
    if all(place.problem for place in found):
        raise UsageError("; ".join(str(place.problem) for place in found))


def entries(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """The verdicts of a run's folder as objects of ``--json``."""
    for verdict in outcome.verdicts:
        found = sorted(verdict.findings, key=lambda finding: finding.anomaly)
        bad = [each.anomaly for each in found if each.severity == "invalid" and not each.allowed]
        yield {
            "file": str(outcome.home),
            "run": verdict.run,
            "valid": {"valid": True, "invalid": False}.get(verdict.result, "unknown"),
            "error-types": [each.anomaly for each in found],
            "bad-error-types": bad,
            "errors": {
                each.anomaly: {"count": each.count, "examples": list(map(dict, each.examples))}
                for each in found
            },
            "unknowns": list(verdict.unknowns),
        }


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
            raise UsageError(f"--{option.replace('_', '-')} goes with --profile jepsen only")


def _print(outcomes: Sequence[Outcome]) -> None:
    verdicts = [(outcome, verdict) for outcome in outcomes for verdict in outcome.verdicts]
    for outcome, verdict in verdicts:
        print(verdict.text())
        print(f"kept in:      {outcome.home}")
        # Both read what is on this machine.
        here = isinstance(outcome.home, Path)
        if isinstance(outcome.home, Path) and (outcome.home / "experiment.json").is_file():
            print(f"run again:    kafkacheck replay {shlex.quote(str(outcome.home))}")
        if verdict.findings and here:
            print(f"evidence:     kafkacheck explain {shlex.quote(str(outcome.home))}")
        if len(verdicts) > 1:
            print()
    if len(verdicts) > 1:
        counts = Counter(verdict.result for _, verdict in verdicts)
        said = ", ".join(f"{counts[result]} {result}" for result in ("invalid", "unknown", "valid"))
        print(f"{len(verdicts)} runs: {said}")


COMMAND = Command(
    name="analyze",
    help="judge runs again, also such as were interrupted",
    order=60,
    add_options=add_options,
    run=analyze,
)
