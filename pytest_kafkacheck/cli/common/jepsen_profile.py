"""``kafkacheck analyze --profile jepsen``: histories recorded by Jepsen, judged by the rules of its Kafka checker."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.common.harness_options import spark_of
from pytest_kafkacheck.cli.common.json_output import write_json
from pytest_kafkacheck.cli.exit_status import status, worst
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from analyzers.jepsen.verdict import Judged

SHOWN = 3
"""Examples of each kind of error that are printed; the JSON has more."""


def add_jepsen_options(analyze: argparse.ArgumentParser) -> None:
    """Options of ``analyze`` that belong to the profile jepsen."""
    jepsen = analyze.add_argument_group("with --profile jepsen")
    jepsen.add_argument(
        "--ww-deps",
        action=argparse.BooleanOptionalAction,
        help="whether the order of writes in a log counts as a dependency; default: it does",
    )
    jepsen.add_argument(
        "--sub-via",
        choices=("assign", "subscribe"),
        help="how consumers got their partitions: with subscribe, polls may skip and go back between "
        "operations; default: subscribe",
    )


def analyze_jepsen(options: argparse.Namespace) -> int:
    """Judge histories by the rules of Jepsen's Kafka checker, print the answers, and write them as JSON."""
    from analyzers.jepsen.analyze import analyze
    from analyzers.jepsen.verdict import Options

    if options.allow:
        raise UsageError("--allow goes with --profile native only: Jepsen's rules say what is allowed")
    rules = Options(ww_deps=options.ww_deps is not False, sub_via=options.sub_via or "subscribe")
    spark = spark_of(options, warmed=False)
    try:
        answers = analyze(spark.session(), [Path(path) for path in options.paths], options=rules)
    finally:
        spark.stop()
    if options.json is not None:
        write_json(options.json, [answer.to_json() for answer in answers])
    if options.json != "-":
        for answer in answers:
            print(text(answer))
    return worst([status(VERDICTS[answer.valid], "valid") for answer in answers])


def text(answer: Judged) -> str:
    """An answer as text: the verdict, then each kind of error with its count and some examples."""
    lines = [f"{answer.file}: {VERDICTS[answer.valid]}"]
    lines += [f"  {line}" for line in (answer.error, *answer.reasons) if line]
    lines += [f"  warning: {line}" for line in answer.warnings]
    for kind, found in answer.errors.items():
        allowed = "" if kind in answer.bad else ", allowed"
        lines.append(f"  {kind}: {answer.counts[kind]}{allowed}")
        shown = found[:SHOWN] if isinstance(found, list) else [found]
        lines += [f"    {json.dumps(one, ensure_ascii=False)[:300]}" for one in shown if one is not True]
    return "\n".join(lines)


VERDICTS: dict[bool | str, str] = {True: "valid", False: "invalid", "unknown": "unknown"}
