"""The argument RUN: a folder, ``latest``, or the id of a run or its beginning."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_kafkacheck.cli.common.harness_options import add_directory_option

RUN_HELP = "the run's folder, its id or the beginning of one, latest, or latest~1 for the one before"


def add_run_argument(parser: argparse.ArgumentParser, *, more: str = "") -> None:
    """RUN, and --dir, where names of runs are looked up."""
    parser.add_argument("run", metavar="RUN", help=f"{RUN_HELP}{more}")
    add_directory_option(parser)


def run_folder(text: str, directory: Path) -> Path:
    """The folder that RUN names; `text` as a path where it names no run, so that the command says what is wrong.

    Raises UsageError as `find` does.
    """
    from pytest_kafkacheck.kept_runs.find import find

    return find(text, directory) or Path(text)


def run_text(text: str, directory: Path) -> str:
    """As `run_folder`, for a command that also takes URIs and histories of other programs."""
    from pytest_kafkacheck.kept_runs.find import find

    found = None if "://" in text or text.startswith("file:") else find(text, directory)
    return text if found is None else str(found)
