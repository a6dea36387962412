"""``kafkacheck doctor``: what this machine can do, and what to do about the rest."""

from __future__ import annotations

import argparse
import json

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, INFRASTRUCTURE


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true")


def _run(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from pytest_kafkacheck.setup.doctor import examine, is_fit

    answers = list(examine())
    if options.json:
        print(json.dumps([answer.to_json() for answer in answers], indent=2))
    else:
        table = Table(box=None)
        for heading in ("", "", "", "what to do"):
            table.add_column(heading, overflow="fold")
        for answer in answers:
            table.add_row(answer.state, answer.name, answer.what, answer.remedy)
        Console().print(table)
    return AS_EXPECTED if is_fit(answers) else INFRASTRUCTURE


COMMAND = Command(
    name="doctor",
    help="what this machine can do, and what is missing",
    order=20,
    add_options=_add_options,
    run=_run,
)
