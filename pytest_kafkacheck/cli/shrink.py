"""``kafkacheck shrink``: the smallest experiment that still shows an anomaly."""

from __future__ import annotations

import argparse
import math

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say, show
from pytest_kafkacheck.cli.common.options import (
    add_run_argument,
    add_spark_options,
    run_folder,
    spark_options,
)
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, NOT_AS_EXPECTED
from pytest_kafkacheck.errors import UsageError


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser, more="; its verdict is invalid")
    parser.add_argument(
        "--minutes",
        metavar="N",
        type=float,
        default=15.0,
        help="start no further run after these; default: %(default)s",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="start a new cluster for every run; default: for the unchanged experiment, for the first confirming run "
        "of a candidate, and where the running one is not healthy",
    )
    add_spark_options(parser)
    add_json_option(parser)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.shrink.shrink import shrink

    if not 0 < options.minutes < math.inf:
        raise UsageError(f"--minutes {options.minutes:g}: expected a finite number above 0")
    check_json(options.json)
    home = run_folder(options.run, options.dir)
    runs = home / "shrink" / "runs"
    with Harness(runs, show=show, fresh=options.fresh, **spark_options(options)) as harness:
        minimal = shrink(
            home,
            lambda experiment, names: harness.run(experiment, name="try", only=names),
            seconds=60 * options.minutes,
            renew=harness.drop_cluster,
            say=say,
        )
    if options.json is not None:
        write_json(
            options.json,
            {
                "test": None if minimal.test is None else str(minimal.test),
                "experiment": minimal.experiment.to_json(),
                "text": minimal.text,
            },
        )
    if options.json != "-":
        print(minimal.text, flush=True)
    return AS_EXPECTED if minimal.test is not None else NOT_AS_EXPECTED


COMMAND = Command(
    name="shrink",
    help="find the smallest experiment that still shows a run's anomalies",
    order=50,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck shrink latest", "kafkacheck shrink 7b29cd07 --minutes 30"),
)
