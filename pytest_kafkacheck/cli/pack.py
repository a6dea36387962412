"""``kafkacheck pack``: a run as one file."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.options import add_run_argument
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the archive to write; default: the name of the run's folder with .tar.gz, here",
    )


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.kept_runs.archive import pack
    from pytest_kafkacheck.kept_runs.run_summary import find_one

    run = find_one(options.run, options.dir).path.resolve()
    file = options.output or Path(f"{run.name}.tar.gz")
    sizes = pack(run, file)
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    for part, size in sorted(sizes.items(), key=lambda each: -each[1]):
        print(f"  {part:<20} {size / 1e6:8.1f} MB")
    print(
        "Values of settings that are passwords, tokens or keys are removed. Look at logs/ if it holds what programs "
        "of your own printed."
    )
    print(f"Unpacked: tar xzf {file.name} && kafkacheck explain {run.name}")
    return AS_EXPECTED


COMMAND = Command(
    name="pack",
    help="write a run into one archive to send",
    order=79,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck pack latest", "kafkacheck pack 7b29cd07 -o lost-write.tar.gz"),
)
