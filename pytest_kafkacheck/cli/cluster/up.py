"""``kafkacheck cluster up``: start a cluster that outlives the command."""

from __future__ import annotations

import argparse
import re
import secrets
import tempfile
from contextlib import closing
from pathlib import Path

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say
from pytest_kafkacheck.cli.common.options import add_spec_options, spec_fields
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError

NAME = r"[a-z0-9][a-z0-9-]{0,31}"
"""What a cluster may be called: the names of its containers begin with it."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", metavar="NAME", help="what to call it; default: generated")
    add_spec_options(parser)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.docker import reaper
    from pytest_kafkacheck.cluster.docker.boot import running
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.cluster.docker.reattach import connection_info
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
    from pytest_kafkacheck.setup.image_build import prepare

    spec = ClusterSpec(**spec_fields(options))
    name = options.name or f"c-{secrets.token_hex(3)}"
    if not re.fullmatch(NAME, name):
        raise UsageError(f"--name {name}: expected up to 32 of a-z, 0-9 and -, the first not -")
    with closing(connect()) as client:
        if name in reaper.parts_by_run(client):
            raise UsageError(
                f"--name {name}: a cluster of this name exists; choose another name, or remove it: "
                f"kafkacheck cluster down {name}"
            )
        prepare(client, spec, say)
        say(f"starting {spec.describe()}")
        with (
            tempfile.TemporaryDirectory(prefix="kafkacheck-") as logs,
            running(client, spec, run=name, logs=Path(logs)) as cluster,
        ):
            cluster.keep()
            print(connection_info(cluster))
    return AS_EXPECTED


COMMAND = Command(
    name="up",
    help="start a cluster and leave it running",
    order=10,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck cluster up",
        "kafkacheck cluster up --name orders --kafka 3.9.2 --brokers 5 --set min.insync.replicas=2",
    ),
)
