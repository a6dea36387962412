"""``kafkacheck image build``: pull or build the images of Kafka releases."""

from __future__ import annotations

import argparse
from contextlib import closing

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "versions",
        metavar="VERSION",
        nargs="*",
        help="Kafka releases; default: all releases that kafkacheck is tested with",
    )


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.cluster.spec.release import RELEASES, release_of
    from pytest_kafkacheck.setup.image_build import ensure_images

    versions = options.versions or [release.tested for release in RELEASES.values()]
    # A wrong version is refused before the first image takes its minutes.
    for version in versions:
        release_of(version)
    with closing(connect()) as client:
        for version in versions:
            ensure_images(client, version, say)
    return AS_EXPECTED


COMMAND = Command(
    name="build",
    help="pull or build the images of Kafka releases",
    order=10,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck image build 4.1.1",
        "kafkacheck image build",
    ),
)
