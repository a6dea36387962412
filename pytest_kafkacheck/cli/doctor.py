"""``kafkacheck doctor``: what this machine can do, and what to do about the rest."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import console
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, INFRASTRUCTURE

if TYPE_CHECKING:
    from pytest_kafkacheck.setup.doctor import Diagnosis


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser, "a list with one object per check")


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.setup.doctor import examine, is_fit

    check_json(options.json)
    answers = list(examine())
    if options.json is not None:
        write_json(options.json, [answer.to_json() for answer in answers])
    if options.json != "-":
        _print(answers)
    return AS_EXPECTED if is_fit(answers) else INFRASTRUCTURE


def _print(answers: Sequence[Diagnosis]) -> None:
    """What to do is below what was found, so that both fit a terminal of 80 characters."""
    from rich.table import Table
    from rich.text import Text

    out = console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(max_width=out.width // 3, overflow="fold")
    table.add_column(overflow="fold")
    for answer in answers:
        what = f"{answer.what}\nto do: {answer.remedy}" if answer.remedy else answer.what
        table.add_row(
            Text(answer.state), Text(answer.name), Text(what), style="" if answer.state == "ok" else "bold"
        )
    out.print(table)


COMMAND = Command(
    name="doctor",
    help="what this machine can do, and what is missing",
    order=20,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck doctor",
        "kafkacheck doctor --json",
    ),
)
