"""``kafkacheck explain``: the evidence for a finding, as a timeline and tables."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.harness_options import add_spark_options
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from analyzers.explain.explanation import Explanation

WIDTH = 160
"""Characters per line if the output is no terminal, so that a file always gets the same text."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run's folder, or a file: URI of it")
    parser.add_argument(
        "finding",
        metavar="FINDING",
        nargs="?",
        help="an anomaly, or one of its findings by number, such as lost-write/2; default: the first of each anomaly",
    )
    parser.add_argument(
        "--around",
        metavar="N",
        type=int,
        default=3,
        help="offsets to show on either side; default: %(default)s",
    )
    add_spark_options(parser)


def explain(options: argparse.Namespace) -> int:
    """Status 0 whether or not there is anything to explain: this command does not judge."""
    from rich.console import Console

    from pytest_kafkacheck.experiment.stored_runs import local_run
    from pytest_kafkacheck.spark import Spark, parse_settings

    anomaly, number = _finding(options.finding)
    if options.around < 0:
        raise UsageError(f"--around {options.around}: expected 0 or more")
    run = local_run(options.run)
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=WIDTH)
    spark = Spark(master=options.spark_master, conf=parse_settings(options.spark_conf))
    try:
        spark.start()
        from analyzers.catalogue.bounds import NONE
        from analyzers.explain.selection import CannotExplain, NoSuchFinding, explanations

        bounds = run.experiment.bounds if run.experiment is not None else NONE
        is_empty = True
        try:
            for explanation in explanations(
                spark.session(),
                run.home,
                anomaly=anomaly,
                number=number,
                bounds=bounds,
                around=options.around,
            ):
                is_empty = False
                for part in _parts(explanation):
                    console.print(part, markup=False, soft_wrap=isinstance(part, str))
        except NoSuchFinding as error:
            raise UsageError(f"{error}; without FINDING, the first of each anomaly is explained") from error
        except CannotExplain as error:
            raise UsageError(str(error)) from error
        if is_empty:
            console.print("Nothing to explain: no anomaly was found.")
    finally:
        spark.stop()
    return AS_EXPECTED


def _finding(text: str | None) -> tuple[str | None, int]:
    from analyzers.catalogue.registry import ANOMALIES

    if text is None:
        return None, 1
    name, slash, number = text.partition("/")
    if name not in ANOMALIES:
        raise UsageError(f"{text}: no anomaly named {name}; there are {', '.join(ANOMALIES)}")
    if slash and not (number.isdecimal() and int(number) > 0):
        raise UsageError(f"{text}: expected a number from 1 on after the slash, such as {name}/2")
    return name, int(number) if slash else 1


def _parts(explanation: Explanation) -> Iterator[object]:
    """What the console prints, in order."""
    from rich.text import Text

    title = f"{explanation.anomaly}/{explanation.number} of {explanation.count:,}: {explanation.summary}"
    yield Text(title, style="bold red", end="\n")
    subject = "" if explanation.subject is None else f", {explanation.subject}"
    facts = ", ".join(f"{name.replace('_', ' ')} {fact}" for name, fact in explanation.facts.items())
    yield f"  run {explanation.run}{subject}: {facts}"
    yield ""
    yield from _table(
        "Timeline",
        ("s", "who", "what"),
        [("?" if m.time is None else f"{m.time:.6f}", m.who, m.what) for m in explanation.line],
        marked=[m.who == "finding" for m in explanation.line],
        right=(0,),
    )
    for table in explanation.tables:
        marked = [position in table.marked for position in range(len(table.rows))]
        right = [position for position, heading in enumerate(table.headings) if heading == "offset"]
        yield from _table(table.title, table.headings, table.rows, marked=marked, right=right)
    if explanation.slots:
        yield from _table(
            f"The log near the finding ({explanation.log})",
            ("", "offset", "value", "epoch", "written", "read by"),
            [
                (
                    ">" if slot.focus else "",
                    str(slot.offset),
                    slot.value or "(nothing seen)",
                    "" if slot.epoch is None else str(slot.epoch),
                    slot.written,
                    slot.read,
                )
                for slot in explanation.slots
            ],
            marked=[slot.focus for slot in explanation.slots],
            right=(1, 3),
        )
    if explanation.readers:
        yield from _table(
            "Readers near the finding, with records in the order read",
            ("who", "offset=value"),
            explanation.readers,
        )
    yield from (f"  {note}" for note in explanation.notes)
    if explanation.notes:
        yield ""


def _table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    marked: Sequence[bool] = (),
    right: Sequence[int] = (),
) -> Iterator[object]:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for position, heading in enumerate(headings):
        justify = "right" if position in right else "left"
        table.add_column(Text(heading), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for position, row in enumerate(rows):
        bold = bool(marked) and marked[position]
        table.add_row(*(Text(cell) for cell in row), style="bold" if bold else None)
    yield Text(title, style="underline")
    yield Padding(table, (0, 0, 0, 2), expand=False)
    yield ""


COMMAND = Command(
    name="explain",
    help="the evidence for a run's findings, as a timeline",
    order=70,
    add_options=add_options,
    run=explain,
)
