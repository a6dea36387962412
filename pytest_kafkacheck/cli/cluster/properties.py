"""``kafkacheck cluster properties``: settings for Kafka's own tools and Java clients."""

from __future__ import annotations

import argparse
from contextlib import closing

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of kafkacheck cluster ls")


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.cluster.docker.reattach import reattach

    with closing(connect()) as client:
        print(reattach(client, options.name).client_properties(), end="")
    return AS_EXPECTED


COMMAND = Command(
    name="properties",
    help="settings for Kafka's own tools and Java clients",
    order=40,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck cluster properties orders > client.properties",),
)
