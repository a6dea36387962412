"""``kafkacheck analyze --explain-schema``: what a history as JSON lines consists of, and what each check needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.exit_status import AS_EXPECTED

if TYPE_CHECKING:
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


def parts() -> Iterator[object]:
    """What the console prints, in order."""
    from pytest_kafkacheck.cli.common.table import table
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
                "what the history has to show, see docs/promises.md; absent: all it is about",
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
    from analyzers.facts.inputs import inputs
    from analyzers.facts.registry import NEEDS
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
