"""``kafkacheck run``: run the experiments of a file and judge them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say, show
from pytest_kafkacheck.cli.common.options import (
    add_harness_options,
    add_spark_options,
    add_verbose_option,
    bound_values,
    harness_options,
)
from pytest_kafkacheck.cli.common.results import (
    VERDICTS,
    add_json_option,
    check_json,
    print_text,
    report_failure,
    write_runs,
)
from pytest_kafkacheck.cli.exit_status import status, worst
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.experiment.experiment import Experiment


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="experiment.json of an earlier run, or a Python file with Experiments",
    )
    add_verbose_option(parser)
    add_spark_options(parser)
    add_harness_options(parser)
    add_json_option(parser, VERDICTS)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.experiment.harness import Harness

    check_json(options.json)
    experiments = load(options.file)
    runs = []
    with Harness(options.dir, say=say, show=show, **harness_options(options)) as harness:
        # All of them, before the first one takes its minute.
        for experiment in experiments:
            harness.check(experiment)
        for experiment in experiments:
            runs.append(harness.run(experiment))
            report_failure(runs[-1], experiment.expect)
            if options.json != "-":
                print_text(options, runs[-1])
    write_runs(options, runs)
    return worst([status(run.result, each.expect) for run, each in zip(runs, experiments, strict=True)])


def load(file: Path) -> list[Experiment]:
    """The experiment in a JSON file, or the Experiments that a Python file binds at its top level.

    Raises UsageError for a file that cannot be read or run, and for a Python file that binds no Experiment.
    """
    from pytest_kafkacheck.experiment.experiment import Experiment

    if file.is_file() and file.suffix == ".json":
        return [Experiment.read(file)]
    if file.is_file() and file.suffix != ".py":
        raise UsageError(f"{file}: expected experiment.json of a run, or a Python file (.py)")
    experiments = [value for value in bound_values(file) if isinstance(value, Experiment)]
    if not experiments:
        raise UsageError(
            f"{file}: binds no Experiment at its top level, such as `experiment = Experiment(...)`. "
            f"A file of tests is run by pytest."
        )
    return experiments


COMMAND = Command(
    name="run",
    help="run the experiments of a file and judge them",
    order=30,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck run experiments.py",
        "kafkacheck run .kafkacheck/20261123-063412-demo-acks-1-7b29cd07/experiment.json",
        "kafkacheck run experiments.py --attach compose:shop",
        "kafkacheck run experiments.py --json verdicts.json",
    ),
)
