"""``kafkacheck explain``: the evidence for a finding, as a time line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.harness_options import add_spark_options
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.checks.bounds import Bounds
    from analyzers.explain.explanation import Explanation
    from analyzers.history.load import History
    from analyzers.judge.find import Found

WIDTH = 160
"""Of what goes into a file or a pipe, where no terminal sets one: the same text each time."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run's folder, or a file: URI of it")
    parser.add_argument(
        "finding",
        metavar="FINDING",
        nargs="?",
        help="an anomaly, or one of its findings by number, such as lost-write/2; default: the first of each",
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
    """Status 0 whether or not there is anything to explain: this judges nothing."""
    from rich.console import Console

    from pytest_kafkacheck.experiment.judging import local_run
    from pytest_kafkacheck.spark import Spark, parse_settings

    wanted, number = _finding(options.finding)
    if options.around < 0:
        raise UsageError(f"--around {options.around}: expected 0 or more")
    place = local_run(options.run)
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=WIDTH)
    spark = Spark(master=options.spark_master, conf=parse_settings(options.spark_conf))
    try:
        spark.start()
        from analyzers.checks.bounds import NONE
        from analyzers.history.load import load, release
        from analyzers.history.sources import sources

        session = spark.session()
        history = load(session, sources(session, [place.home]))
        bounds = place.experiment.bounds if place.experiment is not None else NONE
        found = _found(history, wanted, number, bounds)
        if wanted is not None and (not found or found[0].count < number):
            there = f"has {found[0].count:,} of it" if found else "has none"
            raise UsageError(
                f"{options.finding}: the run {there}; without FINDING the first of each is explained"
            )
        if not found:
            console.print("Nothing to explain: no anomaly was found.")
        for one in found:
            _print(console, history, one, number, options.around)
        release(session, history)
    finally:
        spark.stop()
    return AS_EXPECTED


def _finding(text: str | None) -> tuple[str | None, int]:
    from analyzers.anomalies.catalogue import ANOMALIES

    if text is None:
        return None, 1
    name, slash, number = text.partition("/")
    if name not in ANOMALIES:
        raise UsageError(f"{text}: no anomaly named {name}; there are {', '.join(ANOMALIES)}")
    if slash and not (number.isdecimal() and int(number) > 0):
        raise UsageError(f"{text}: expected a number from 1 on after the slash, such as {name}/2")
    return name, int(number) if slash else 1


def _found(history: History, wanted: str | None, number: int, bounds: Bounds) -> list[Found]:
    """In the order of a verdict. What crashes is left out: `kafkacheck analyze` tells of it."""
    from analyzers.anomalies.catalogue import ANOMALIES
    from analyzers.checks import CHECKS
    from analyzers.judge.find import find

    checks = [check for check in (*CHECKS, *bounds.checks()) if wanted in (None, check.anomaly)]
    found, crashed = find(history, checks, examples=number)
    found += _circles(history, wanted, number)
    if crashed and not found:
        raise UsageError(f"the check {crashed[0].anomaly} crashed: {crashed[0].error}")
    place = {name: at for at, name in enumerate(ANOMALIES)}
    return sorted(found, key=lambda one: (ANOMALIES[one.anomaly].severity != "invalid", place[one.anomaly]))


def _circles(history: History, wanted: str | None, number: int) -> list[Found]:
    from analyzers.judge.cycles import CYCLES, find_cycles

    if wanted not in (None, *CYCLES) or not history.operations.where("f = 'txn'").limit(1).count():
        return []
    found, unsearched = find_cycles(history, examples=number)
    found = [one for one in found if wanted in (None, one.anomaly)]
    if wanted is not None and not found and unsearched:
        raise UsageError(f"{wanted}: {unsearched[0].sentence}")
    return found


def _print(console: Console, history: History, found: Found, number: int, around: int) -> None:
    from analyzers.explain.explain import explain as explained

    for part in _parts(explained(history, found, number, around=around)):
        console.print(part, markup=False, soft_wrap=isinstance(part, str))


def _parts(told: Explanation) -> Iterator[object]:
    from rich.text import Text

    head = f"{told.anomaly}/{told.number} of {told.count:,}: {told.summary}"
    yield Text(head, style="bold red", end="\n")
    where = f"run {told.run}" if told.log is None else f"run {told.run}, {told.log}"
    yield f"  {where}: " + ", ".join(f"{what.replace('_', ' ')} {said}" for what, said in told.facts.items())
    yield ""
    yield from _table(
        "Time line",
        ("s", "who", "what"),
        [("?" if m.time is None else f"{m.time:.6f}", m.who, m.what) for m in told.line],
        marked=[m.who == "finding" for m in told.line],
        right=(0,),
    )
    for each in told.tables:
        marked = [position in each.marked for position in range(len(each.rows))]
        right = [position for position, heading in enumerate(each.headings) if heading == "offset"]
        yield from _table(each.title, each.headings, each.rows, marked=marked, right=right)
    if told.slots:
        yield from _table(
            f"The log around it ({told.log})",
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
                for slot in told.slots
            ],
            marked=[slot.focus for slot in told.slots],
            right=(1, 3),
        )
    if told.readers:
        yield from _table("Who read around it, in order", ("who", "offset=value"), told.readers)
    yield from (f"  {note}" for note in told.notes)
    if told.notes:
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
    help="the evidence for a run's findings, as a time line",
    order=70,
    add_options=add_options,
    run=explain,
)
