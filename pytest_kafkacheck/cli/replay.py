"""``kafkacheck replay``: run a run's experiment again."""

from __future__ import annotations

import argparse

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say, show
from pytest_kafkacheck.cli.common.options import (
    RUN_HELP,
    add_harness_options,
    add_spark_options,
    add_verbose_option,
    harness_options,
    run_folder,
)
from pytest_kafkacheck.cli.common.results import (
    VERDICTS,
    add_json_option,
    check_json,
    print_runs,
    report_failure,
)
from pytest_kafkacheck.cli.exit_status import status


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument(
        "--symbolic", action="store_true", help="resolve targets such as leader afresh, as in the first run"
    )
    add_verbose_option(parser)
    add_spark_options(parser)
    add_harness_options(parser)
    add_json_option(parser, VERDICTS)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.experiment.replay import replayed

    check_json(options.json)
    experiment = replayed(run_folder(options.run, options.dir), symbolic=options.symbolic)
    with Harness(options.dir, say=say, show=show, **harness_options(options)) as harness:
        run = harness.run(experiment)
        report_failure(run, experiment.expect)
    print_runs(options, [run])
    return status(run.result, experiment.expect)


COMMAND = Command(
    name="replay",
    help="run a run's experiment again, with the same nodes as targets",
    order=40,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck replay latest", "kafkacheck replay --symbolic 7b29cd07"),
)
