"""``kafkacheck serve``: the runs that are kept as a local web page."""

from __future__ import annotations

import argparse

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.options import add_directory_option
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError

PORT = 8765


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port",
        type=int,
        default=PORT,
        help="where it listens, on 127.0.0.1 only; 0 for any free port; default: %(default)s",
    )
    add_directory_option(parser)


def _run(options: argparse.Namespace) -> int:
    """Until Ctrl-C or SIGTERM, which is how it ends as expected."""
    from pytest_kafkacheck.serve.server import Server
    from pytest_kafkacheck.termination import announced_by

    if not options.dir.is_dir():
        raise UsageError(
            f"--dir {options.dir}: no such folder; a test with kafkacheck makes one, below its rootdir"
        )
    with Server(options.dir, options.port) as server, announced_by(lambda _: None):
        try:
            print(f"{server.address} shows the runs in {options.dir}; Ctrl-C ends it", flush=True)
            server.serve_forever()
        except KeyboardInterrupt:
            return AS_EXPECTED
    return AS_EXPECTED


COMMAND = Command(
    name="serve",
    help="show the runs that are kept as a local web page",
    order=76,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck serve", "kafkacheck serve --dir artifacts/.kafkacheck --port 0"),
)
