"""``kafkacheck setup``: install what is missing on this machine."""

from __future__ import annotations

import argparse

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kafka",
        metavar="VERSION",
        nargs="+",
        help="Kafka releases to get images of; default: the release that tests use",
    )
    parser.add_argument(
        "--compose",
        action="store_true",
        help="also install docker-compose, for the tests of kafkacheck itself",
    )


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.spec.release import release_of
    from pytest_kafkacheck.cluster.spec.spec import DEFAULT_VERSION
    from pytest_kafkacheck.setup.debian import ensure_compose
    from pytest_kafkacheck.setup.everything import ensure_all

    versions = options.kafka or [DEFAULT_VERSION]
    for version in versions:
        release_of(version)
    ensure_all(say, versions=versions)
    if options.compose:
        ensure_compose(say)
    return AS_EXPECTED


COMMAND = Command(
    name="setup",
    help="find or install Java, a Docker engine and the broker image",
    order=10,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck setup",
        "kafkacheck setup --kafka 4.1.1 3.9.2",
    ),
)
