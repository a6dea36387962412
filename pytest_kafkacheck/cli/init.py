"""``kafkacheck init``: a first test in a project."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.init_files import CI, TEST
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path(),
        help="the project's folder; default: this one",
    )
    parser.add_argument(
        "--ci",
        choices=tuple(CI),
        help="also write the file that lets this service run the test, and a soak each night: github or gitlab",
    )


def _run(options: argparse.Namespace) -> int:
    """Write all files or, where one is there already, none."""
    if not options.folder.is_dir():
        raise UsageError(f"{options.folder}: no such folder")
    files = {options.folder / "test_kafka.py": TEST}
    if options.ci is not None:
        name, text = CI[options.ci]
        files[options.folder / name] = text
    if existing := [str(file) for file in files if file.exists()]:
        raise UsageError(
            f"{', '.join(existing)}: exists already, and is not overwritten; nothing was written"
        )
    for file, text in files.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as opened:
                opened.write(text)
        except OSError as error:
            raise UsageError(f"{file}: cannot be written ({error})") from error
        print(f"wrote {file}")
    print(f"next: kafkacheck doctor, then pytest {options.folder / 'test_kafka.py'}")
    return AS_EXPECTED


COMMAND = Command(
    name="init",
    help="write a first test and, if asked, the file for CI",
    order=15,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck init", "kafkacheck init --ci github"),
)
