"""``kafkacheck explain``: the evidence for a finding, as a timeline and tables."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import console, say
from pytest_kafkacheck.cli.common.options import (
    add_daemon_option,
    add_run_argument,
    add_spark_options,
    run_text,
    spark_of,
)
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.verdict.verdict import Verdict
    from pytest_kafkacheck.experiment.stored_runs import StoredRun
    from pytest_kafkacheck.spark import Spark

EXAMPLES = 5
"""Examples of each anomaly in the JSON of a run that was not judged before."""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser, more="; or a FILE.jsonl, or a file: URI of a run")
    parser.add_argument(
        "finding",
        metavar="FINDING",
        nargs="?",
        help="an anomaly, or one of its findings by number, such as lost-write/2; default: all causes",
    )
    parser.add_argument(
        "--around",
        metavar="N",
        type=int,
        default=3,
        help="offsets to show on either side; default: %(default)s",
    )
    add_spark_options(parser)
    add_daemon_option(parser)
    add_json_option(parser, "the verdict with its causes")


def explain(options: argparse.Namespace) -> int:
    """Status 0 whether or not there is anything to explain: this command does not judge.

    Without FINDING, and where the verdict is stored, it needs no Spark and answers at once.
    """
    from pytest_kafkacheck.experiment.stored_runs import local_run

    anomaly, number = _finding(options.finding)
    if options.around < 0:
        raise UsageError(f"--around {options.around}: expected 0 or more")
    check_json(options.json)
    if options.json is not None and anomaly is not None:
        raise UsageError(f"--json: writes all causes; leave {options.finding} out")
    with TemporaryDirectory(prefix="kafkacheck-lines-") as scratch:
        _explain(
            options, local_run(run_text(options.run, options.dir), scratch=Path(scratch)), anomaly, number
        )
    return AS_EXPECTED


def _explain(options: argparse.Namespace, run: StoredRun, anomaly: str | None, number: int) -> None:
    from pytest_kafkacheck.experiment.run_directory import RunDirectory

    out = console()
    verdict = RunDirectory(Path(run.home)).read_verdict()
    if options.json is not None:
        _write_json(options, run, verdict)
    if options.json == "-":
        return
    if anomaly is None and verdict is not None and (verdict.causes or not verdict.findings):
        say(f"reading {RunDirectory(Path(run.home)).verdict}")
        _print_overview(verdict, run, out)
    else:
        _explain_findings(options, run, out, anomaly, number, verdict)


def _write_json(options: argparse.Namespace, run: StoredRun, verdict: Verdict | None) -> None:
    """The stored verdict, or a new one where there is none."""
    from analyzers.verdict.summary import entry
    from pytest_kafkacheck.experiment.judging import judge_all

    if verdict is None:
        spark = spark_of(options, warmed=False)
        say(f"judging {options.run}, which has no verdict")
        try:
            spark.start()
            (outcome,) = judge_all(spark, [run], examples=EXAMPLES, store=False)
        finally:
            spark.stop()
        if not outcome.verdicts:
            raise UsageError(str(outcome.problem))
        verdict = outcome.verdicts[0]
    write_json(options.json, entry(verdict, str(run.home)))


def _print_overview(verdict: Verdict, run: StoredRun, out: Console) -> None:
    from pytest_kafkacheck.cli.common.explanation import verdict_parts
    from pytest_kafkacheck.experiment.run_directory import RunDirectory

    for part in verdict_parts(verdict, RunDirectory(Path(run.home))):
        out.print(part, markup=False, soft_wrap=isinstance(part, str))


def _explain_findings(
    options: argparse.Namespace,
    run: StoredRun,
    out: Console,
    anomaly: str | None,
    number: int,
    stored: Verdict | None,
) -> None:
    """One occurrence of an anomaly, or of each, with the rows of the history around it."""

    # A warm-up judges a history of its own, which takes longer than one explanation.
    spark = spark_of(options, warmed=False)
    say(f"reading the history of {options.run}")
    try:
        spark.start()
        from analyzers.catalogue.bounds import NONE
        from analyzers.explain.explain import CannotExplain, NoSuchFinding, explanations
        from pytest_kafkacheck.cli.common.explanation import parts

        bounds = run.rules.bounds if run.rules is not None else NONE
        is_empty = True
        try:
            for explanation in explanations(
                spark.session(),
                run.home,
                anomaly=anomaly,
                number=number,
                bounds=bounds,
                around=options.around,
                stored=stored,
            ):
                is_empty = False
                for part in parts(explanation):
                    out.print(part, markup=False, soft_wrap=isinstance(part, str))
        except NoSuchFinding as error:
            raise UsageError(f"{error}; without FINDING, the first of each anomaly is explained") from error
        except CannotExplain as error:
            raise UsageError(str(error)) from error
        if is_empty:
            _explain_result(spark, run, out)
    finally:
        spark.stop()


def _explain_result(spark: Spark, run: StoredRun, out: Console) -> None:
    """The run has no anomaly, and no stored verdict says whether it is unknown, and why."""
    from pytest_kafkacheck.experiment.judging import judge_all

    (outcome,) = judge_all(spark, [run], examples=0, store=False)
    for verdict in outcome.verdicts:
        _print_overview(verdict, run, out)


def _finding(text: str | None) -> tuple[str | None, int]:
    from analyzers.catalogue.registry import ANOMALIES
    from nemesis.validation import near_or_all

    if text is None:
        return None, 1
    name, slash, number = text.partition("/")
    if name not in ANOMALIES:
        raise UsageError(f"{text}: no anomaly named {name}{near_or_all(name, ANOMALIES)}")
    if slash and not (number.isdecimal() and int(number) > 0):
        raise UsageError(f"{text}: expected a number from 1 on after the slash, such as {name}/2")
    return name, int(number) if slash else 1


COMMAND = Command(
    name="explain",
    help="the evidence for a run's findings, as a timeline",
    order=70,
    add_options=add_options,
    run=explain,
    examples=(
        "kafkacheck explain latest",
        "kafkacheck explain latest lost-write/2",
        "kafkacheck explain .kafkacheck/20261123-063412-demo-acks-1-7b29cd07 --json",
    ),
)
