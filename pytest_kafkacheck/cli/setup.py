"""``kafkacheck setup``: install what is missing on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kafka",
        metavar="VERSION",
        nargs="+",
        help="Kafka releases to get images of; default: the release that tests use",
    )
    parser.add_argument(
        "--clients",
        metavar="RELEASE",
        nargs="+",
        help="releases of Apache Kafka's Java client to get, and nothing else unless --kafka is there; without this "
        "option, all is set up, with the release that library='java' means",
    )
    parser.add_argument(
        "--clients-from",
        metavar="FOLDER",
        type=Path,
        help="take the jars of these releases from a folder, such as libs of a distribution of Kafka",
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
    from pytest_kafkacheck.setup.java_clients import ensure_java_client
    from workloads.clients.java.releases import checked

    versions = options.kafka or [DEFAULT_VERSION]
    for version in versions:
        release_of(version)
    for release in options.clients or ():
        try:
            checked(release)
        except ValueError as error:
            raise UsageError(f"--clients {error}") from None
    if options.clients_from is not None and not options.clients:
        raise UsageError("--clients-from: say which releases to take by --clients")
    if options.clients:
        for release in options.clients:
            ensure_java_client(release, say, source=options.clients_from)
        if not options.kafka:
            return AS_EXPECTED
    ensure_all(say, versions=versions)
    if options.compose:
        ensure_compose(say)
    return AS_EXPECTED


COMMAND = Command(
    name="setup",
    help="get Java, a Docker engine, broker images, Java clients",
    order=10,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck setup",
        "kafkacheck setup --kafka 4.1.1 3.9.2",
        "kafkacheck setup --clients 3.7.2 4.1.0",
    ),
)
