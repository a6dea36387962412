"""``kafkacheck cluster export``: write a compose file for a cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.options import add_spec_options, spec_fields
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the compose file to write; default: standard output",
    )
    add_spec_options(parser)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.docker.compose import compose_file
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

    text = compose_file(ClusterSpec(**spec_fields(options)))
    if options.output is None:
        print(text, end="")
    else:
        try:
            options.output.write_text(text)
        except OSError as error:
            raise UsageError(f"-o {options.output}: cannot be written: {error.strerror}") from error
    return AS_EXPECTED


COMMAND = Command(
    name="export",
    help="write a compose file for a cluster",
    order=50,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck cluster export --brokers 3 -o compose.yml",),
)
