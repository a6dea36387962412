"""``kafkacheck workload``: run a workload on brokers that are there already, and judge what it saw."""

from __future__ import annotations

import argparse
import json
import secrets
import threading
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say, show
from pytest_kafkacheck.cli.common.options import (
    add_directory_option,
    add_security_option,
    add_spark_options,
    add_verbose_option,
    security_of,
    spark_options,
)
from pytest_kafkacheck.cli.common.results import (
    VERDICTS,
    add_json_option,
    check_json,
    print_runs,
    report_failure,
)
from pytest_kafkacheck.cli.exit_status import status
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.workload_names import WORKLOAD_NAMES

if TYPE_CHECKING:
    from workloads.workload import Workload

REMAINS_LIMIT = 20.0
"""Seconds to delete groups: those of killed processes have members until their session timeout, 6 s by default."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help=f"one of {', '.join(WORKLOAD_NAMES)}")
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT,...",
        required=True,
        help="addresses of brokers, separated by commas",
    )
    parser.add_argument(
        "--for",
        dest="seconds",
        metavar="SECONDS",
        type=float,
        default=60.0,
        help="how long the load lasts; default: %(default)g",
    )
    parser.add_argument(
        "--set",
        metavar="FIELD=VALUE",
        action="append",
        default=[],
        help="a field of the workload, such as partitions=6 or 'topic_config={\"min.insync.replicas\": 2}'; may be "
        "repeated",
    )
    add_security_option(parser)
    add_verbose_option(parser)
    add_spark_options(parser)
    add_directory_option(parser)
    add_json_option(parser, VERDICTS)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.kafka.run_remains import delete_remains
    from pytest_kafkacheck.cluster.kafka.served_cluster import find, parse_bootstrap
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
    from pytest_kafkacheck.experiment.execution import execute
    from pytest_kafkacheck.experiment.experiment import Experiment
    from pytest_kafkacheck.experiment.harness import Harness, check_client_commands
    from pytest_kafkacheck.experiment.run_directory import RunDirectory

    check_json(options.json)
    workload = make(options.name, options.set)
    check_client_commands(workload)
    cluster = find(parse_bootstrap(options.bootstrap, security_of(options)))
    experiment = Experiment(
        name=options.name,
        workload=workload,
        cluster=ClusterSpec(attached=sorted(cluster.brokers)),
        duration=options.seconds,
        cooldown=0.5,
    )
    run = secrets.token_hex(4)
    home = RunDirectory.create(options.dir, name=options.name, run=run)
    home.write_experiment(experiment)
    say(f"brokers {', '.join(f'{node} at {at}' for node, at in sorted(cluster.brokers.items()))}")
    with Harness(options.dir, say=say, show=show, **spark_options(options)) as harness:
        try:
            execute(experiment, cluster, run=run, home=home.path, say=say, show=show, stop=threading.Event())
        except KeyboardInterrupt as interrupt:
            harness.interrupted(interrupt, home.path)
            raise
        finally:
            # Nobody else knows what this run made.
            if left := delete_remains(cluster.brokers, run, limit=REMAINS_LIMIT):
                say(f"left on the brokers: {', '.join(left)}; delete them once the brokers allow it")
        result = harness.judge(home.path)
        report_failure(result, experiment.expect)
    print_runs(options, [result])
    return status(result.result, experiment.expect)


def make(name: str, settings: Iterable[str]) -> Workload:
    """The workload of that name with these fields, each as "field=value" with the value in JSON, or as plain text.

    Raises UsageError that names what is wrong and what is allowed.
    """
    import pytest_kafkacheck
    from nemesis.validation import near_or_all

    if name not in WORKLOAD_NAMES:
        raise UsageError(f"no workload {name!r}{near_or_all(name, WORKLOAD_NAMES)}")
    kind: Any = getattr(pytest_kafkacheck, WORKLOAD_NAMES[name])
    allowed = [each.name for each in fields(kind)]
    values: dict[str, Any] = {}
    for setting in settings:
        field, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting}: expected FIELD=VALUE; fields of {name}: {', '.join(allowed)}")
        if field not in allowed:
            raise UsageError(f"--set {setting}: {name} has no field {field!r}{near_or_all(field, allowed)}")
        values[field] = _value(text)
    try:
        made: Workload = kind(**values)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
    return made


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


COMMAND = Command(
    name="workload",
    help="run and judge a workload on brokers that are there",
    order=35,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck workload append-log --bootstrap localhost:9092 --for 30",
        "kafkacheck workload transactions --bootstrap localhost:9092 --set partitions=6",
    ),
)
