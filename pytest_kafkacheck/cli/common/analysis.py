"""What ``kafkacheck analyze`` does besides judging runs.

With ``--explain-schema``, it prints what a history as JSON lines consists of, and what each check needs. With
``--show-plan``, it prints how the checks are evaluated. With ``--profile jepsen``, it judges histories recorded by
Jepsen by the rules of its Kafka checker. Findings rest on lines of an imported file: people look for their own text,
not for our numbers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.common.options import spark_of
from pytest_kafkacheck.cli.common.results import write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, status, worst
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from analyzers.jepsen.analyze import Judged
    from analyzers.verdict.verdict import Verdict
    from workloads.history.lines.fields import Field


WIDTH = 160
"""Characters per line if the output is no terminal."""


def print_schema() -> int:
    from rich.console import Console

    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=WIDTH)
    for part in parts():
        console.print(part, markup=False, soft_wrap=isinstance(part, str))
    return AS_EXPECTED


def print_plan() -> int:
    """Each check with its condition and what the first look asks, and the steps of the first look."""
    from rich.console import Console

    from analyzers.catalogue.registry import CHECKS
    from analyzers.facts.registry import FACTS
    from analyzers.judge.first_look import plan
    from analyzers.judge.first_look_order import order_plan

    lines = []
    for check in CHECKS:
        fact = FACTS[check.over]
        look = fact.look(check.where) if fact.looks else None
        asked = f"first look, each {look.per}: {look.condition(check.where)}" if look else "no first look"
        lines += [f"-- {check.name}: rows of {fact.name} where {check.where}", f"--   {asked}"]
    console = Console(highlight=False, emoji=False, markup=False, soft_wrap=True)
    console.print(*lines, "", str(plan(CHECKS)), "", str(order_plan(CHECKS)), sep="\n")
    return AS_EXPECTED


def parts() -> Iterator[object]:
    """What the console prints, in order."""
    from pytest_kafkacheck.cli.common.console import table
    from workloads.history.lines.fields import IGNORED, UNITS, VERSION
    from workloads.history.lines.kinds import KINDS, MORE, RECORD
    from workloads.history.lines.parse import HEADER

    yield f"A history as JSON lines, version {VERSION}: FILE.jsonl or FILE.jsonl.gz, one object in each line."
    yield ""
    yield f'  {{"{HEADER}": {VERSION}, "unit": "ms"}}'
    yield (
        '  {"f": "send", "type": "ok", "process": "writer-1", "topic": "orders", "partition": 0, "offset": 0, '
        + ('"value": "order-17", "invoked": 10, "completed": 12}')
    )
    yield (
        '  {"f": "final-read", "type": "ok", "process": "last", "topic": "orders", "partition": 0, "end_offset": 1, '
        '"invoked": 90, "completed": 95}'
    )
    yield (
        '  {"f": "poll", "type": "ok", "process": "last", "final": true, "topic": "orders", "partition": 0, '
        '"invoked": 91, "completed": 94, "records": [{"offset": 0, "value": "order-17"}]}'
    )
    yield ""
    yield from table(
        "Line 1",
        ("field", "value", "meaning"),
        [
            (HEADER, str(VERSION), "the version of this schema; required"),
            ("unit", " | ".join(UNITS), "of all times, of any one clock, and of durations; required"),
            ("run", "text", "the id of the run; absent: the name of the file"),
            (
                "requires",
                "list of text",
                "what the history has to show, see docs/anomalies.md; absent: all it is about",
            ),
            ("allow", "list of text", "anomalies that do not count, see docs/anomalies.md; absent: none"),
        ],
    )
    yield f"Every other line has a field f, and these. Lines may have any order. Fields that begin with {IGNORED} are"
    yield "ignored, null is as good as absent, and * marks what is required."
    yield ""
    for kind in (*KINDS.values(),):
        needs = "" if kind.needs is None else f" Needs {kind.needs}."
        yield from table(f"{kind.f}: {kind.means}{needs}", ("field", "value", "meaning"), _rows(kind.fields))
        if kind.f == "poll":
            yield from table("poll, each of its records", ("field", "value", "meaning"), _rows(RECORD))
    yield f"Operations may also have {MORE.name}, {MORE.type.name}: {MORE.means}."
    yield ""
    yield from table(
        "What each check needs",
        ("anomaly", "can be found in", "reads lines of", "and of records, where they have it"),
        [*_needs()],
    )
    yield "A partition without a completed final-read, and a history without an acknowledged send, are unknown."
    yield "docs/json_lines.md says what else makes a history unknown."


def _rows(fields: Iterable[Field]) -> list[tuple[str, str, str]]:
    return [
        (
            each.name + "*" * each.required,
            each.type.name,
            each.means if each.unknown is None else f"{each.means}; absent: nobody can say {each.unknown}",
        )
        for each in fields
    ]


def _needs() -> Iterator[tuple[str, str, str, str]]:
    from analyzers.catalogue.registry import CATALOGUE, CHECKS, CYCLE_CHECKS
    from analyzers.facts.registry import NEEDS, inputs
    from workloads.history.lines.kinds import CLIENTS, RECORD

    facts = {check.name: check.over for check in CHECKS}
    cycles = {check.name for check in CYCLE_CHECKS}
    optional = {each.name for kind in CLIENTS[:2] for each in kind.fields if not each.required}
    optional |= {each.name for each in RECORD if not each.required}
    optional -= {"invoked", "completed", "op", "index", "topic", "partition"}
    for anomaly in CATALOGUE:
        if anomaly.name in cycles:
            yield anomaly.name, "histories with txn", "txn", "transaction, committed"
        elif anomaly.name in facts:
            fact = facts[anomaly.name]
            of = inputs()[fact]
            kinds = sorted(of.kinds) + ["sample"] * bool(of.observations)
            where = NEEDS.get(fact)
            yield (
                anomaly.name,
                "every history" if where is None else f"histories with {where}",
                ", ".join(kinds) or "-",
                ", ".join(sorted(of.records & optional)) or "-",
            )


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
    from analyzers.jepsen.analyze import Options, analyze

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

LONGEST = 200
"""Characters of a line."""

EACH = 3
"""Examples of an anomaly whose lines are shown."""


def evidence_lines(verdict: Verdict, path: Path) -> Iterator[str]:
    """For each finding about sends, the lines of the first ones."""
    from workloads.history.lines.imports import sent_lines
    from workloads.history.lines.parse import BadLines

    if not any("value" in example for finding in verdict.findings for example in finding.examples):
        return
    try:
        numbers = sent_lines(path)
    except BadLines:  # it was moved since it was imported
        return
    wanted = [
        (finding.anomaly, numbers[example["value"]])
        for finding in verdict.findings
        for example in finding.examples[:EACH]
        if example.get("value") in numbers
    ]
    texts = _texts(path, {number for _, number in wanted})
    for anomaly, number in dict.fromkeys(wanted):
        yield f"line {number} ({anomaly}): {texts.get(number, '')}"


def _texts(path: Path, numbers: set[int]) -> dict[int, str]:
    from workloads.history.lines.parse import texts

    return {number: text.strip()[:LONGEST] for number, text in texts(path) if number in numbers}
