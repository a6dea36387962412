"""``kafkacheck defects``: known defects of released brokers and clients, and whether runs find them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import console, say, show, table
from pytest_kafkacheck.cli.common.options import (
    add_directory_option,
    add_spark_options,
    spark_options,
)
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, NOT_AS_EXPECTED, UNKNOWN, worst
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.defects.showing import Shown
    from pytest_kafkacheck.defects.table import Defect

ALL = "all"


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ids",
        metavar="ID",
        nargs="*",
        help=f"show these, such as KAFKA-19479, or '{ALL}', with what was made for them; none: list all",
    )
    parser.add_argument(
        "--blind",
        type=float,
        metavar="MINUTES",
        help="in place of that a soak of the preset safe, for so long on each release",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the soaks; default: %(default)s")
    parser.add_argument(
        "--tries", type=int, default=3, metavar="N", help="runs until one finds it; default: %(default)s"
    )
    add_json_option(parser, "the results")
    parser.add_argument("-v", "--verbose", action="store_true", help="also report the steps of each run")
    add_spark_options(parser)
    add_directory_option(parser)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.defects.table import DEFECTS

    check_json(options.json)
    if options.tries < 1:
        raise UsageError(f"--tries {options.tries}: expected 1 or more")
    if options.blind is not None and not 0 < options.blind < math.inf:
        raise UsageError(f"--blind {options.blind:g}: expected a number of minutes above 0")
    if not options.ids:
        if options.blind is not None:
            raise UsageError(f"--blind {options.blind:g}: name the defects to look for, or '{ALL}'")
        return _list(options, DEFECTS)
    defects = _selected(options.ids)
    if options.blind is None and (without := [each for each in defects if each.missing]):
        if ALL not in options.ids:
            raise UsageError("; ".join(f"{each.id}: {each.missing}" for each in without))
        defects = [each for each in defects if not each.missing]
    results: list[Shown] = []
    try:
        for shown in _show(options, defects):
            results.append(shown)
            say(f"{shown.defect} on {shown.release}: {outcome_text(shown)}")
    finally:
        if results:  # those that have ended are not lost
            _write(options, results)
    return worst([_status(each) for each in results])


def _selected(ids: Sequence[str]) -> list[Defect]:
    """Raises UsageError for an unknown one."""
    from nemesis.validation import near_or_all
    from pytest_kafkacheck.defects.table import DEFECTS

    known = {each.id: each for each in DEFECTS}
    if ALL in ids:
        return list(DEFECTS)
    for id_ in ids:
        if id_ not in known:
            raise UsageError(f"no defect {id_!r}{near_or_all(id_, known)}")
    return [known[id_] for id_ in dict.fromkeys(ids)]


def _show(options: argparse.Namespace, defects: Sequence[Defect]) -> Iterator[Shown]:
    from pytest_kafkacheck.defects.showing import blind, directed
    from pytest_kafkacheck.experiment.harness import Harness

    steps = say if options.verbose else lambda _: None
    if options.blind is not None:
        of_lab = {"say": steps, "show": show, **spark_options(options)}
        for defect in defects:
            yield from blind(
                options.dir, defect, minutes=options.blind, seed=options.seed, report=say, **of_lab
            )
        return
    with Harness(options.dir, say=steps, show=show, **spark_options(options)) as harness:
        for defect in defects:
            yield from directed(harness, defect, tries=options.tries, report=say)


def _list(options: argparse.Namespace, defects: Sequence[Defect]) -> int:
    rows = [
        [each.id, each.does, each.affected, each.release, each.control or "open", way(each)]
        for each in defects
    ]
    headings = ["defect", "what goes wrong", "affected", "shown on", "mended", "shown by"]
    if options.json is not None:
        write_json(options.json, [dict(zip(headings, row, strict=True)) for row in rows])
    if options.json != "-":
        for part in table("Known defects", headings, rows):
            console().print(part, markup=False)
    return AS_EXPECTED


def way(defect: Defect) -> str:
    """How it is shown, for people."""
    if defect.claim:
        return f"claim {defect.claim}"
    return f"not: {defect.missing}" if defect.missing else "a schedule"


def _write(options: argparse.Namespace, results: Sequence[Shown]) -> None:
    if options.json is not None:
        write_json(options.json, [each.to_json() for each in results])
    if options.json != "-":
        headings = ["defect", "release", "", "result", "seen", "run"]
        rows = [
            [
                each.defect,
                each.release,
                "mended" if each.is_control else "",
                outcome_text(each),
                each.seen,
                each.path,
            ]
            for each in results
        ]
        marked = [not each.is_as_expected for each in results]
        for part in table("Defects", headings, rows, marked=marked):
            console().print(part, markup=False)


def outcome_text(shown: Shown) -> str:
    """Such as ``found in try 1, after 45 s``."""
    what = "round" if shown.how == "blind" else "try"
    if shown.outcome == "found":
        return f"found in {what} {shown.tries}, after {shown.seconds:.0f} s"
    how_often = f"{shown.tries} {'rounds' if shown.how == 'blind' else 'tries'}, {shown.seconds:.0f} s"
    return f"nothing in {how_often}" if shown.outcome == "nothing" else f"unknown after {how_often}"


def _status(shown: Shown) -> int:
    if shown.outcome == "unknown":
        return UNKNOWN
    return AS_EXPECTED if shown.is_as_expected else NOT_AS_EXPECTED


COMMAND = Command(
    name="defects",
    help="known defects of Kafka's releases, and whether runs find them",
    order=36,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck defects",
        "kafkacheck defects KAFKA-20554 KAFKA-19479 --json defects.json",
        "kafkacheck defects KAFKA-20634 --blind 30",
    ),
)
