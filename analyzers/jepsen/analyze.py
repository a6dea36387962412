"""Judges files with Jepsen histories, all files of a call in one Spark application."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from analyzers.jepsen.checks import NO_WRITER, UNSEEN, errors, last_ok, ranked
from analyzers.jepsen.cycles import Edge, Operation, cycles, dependencies, evidence, parts_with_cycles, spans
from analyzers.jepsen.tables import Tables, tables
from workloads.history.jepsen.operations import Notes
from workloads.history.jepsen.tables import write

SubVia = Literal["assign", "subscribe"]

ALWAYS = {"int-send-skip", "G0", "G0-realtime", "PL-1-cycle-exists", "strong-PL-1-cycle-exists"}
"""Allowed, because Kafka does not isolate the writes of transactions from each other."""

REBALANCED = {"poll-skip", "nonmonotonic-poll"}
"""Allowed if a group can move partitions between polls."""

WITH_WW = {"G1c", "G1c-realtime", "PL-2-cycle-exists", "strong-PL-2-cycle-exists"}
"""Allowed if the order of writes counts as a dependency."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of the reference checker."""

    ww_deps: bool = True
    sub_via: SubVia = "subscribe"

    @property
    def allowed(self) -> frozenset[str]:
        return frozenset(
            ALWAYS
            | (REBALANCED if self.sub_via == "subscribe" else set())
            | (WITH_WW if self.ww_deps else set())
        )


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The answer about one file."""

    file: str
    errors: Mapping[str, Any]
    """By error type, the first errors of it."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """By error type, the number of all errors."""
    bad: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why the history is unknown instead of valid."""
    error: str | None = None
    """Why the file was not judged."""
    warnings: tuple[str, ...] = ()
    """What is strange about the history, and changes nothing."""

    @property
    def valid(self) -> bool | Literal["unknown"]:
        if self.bad:
            return False
        return "unknown" if self.reasons or self.error else True

    def to_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "file": self.file,
            "valid": self.valid,
            "error-types": sorted(self.errors),
            "bad-error-types": list(self.bad),
            "errors": dict(self.errors),
            "counts": dict(self.counts),
        }
        if self.reasons:
            answer["reasons"] = list(self.reasons)
        if self.error:
            answer["error"] = self.error
        if self.warnings:
            answer["warnings"] = list(self.warnings)
        return answer


def judged(
    file: str,
    errors: Mapping[str, Any],
    counts: Mapping[str, int],
    reasons: Sequence[str],
    options: Options,
    warnings: Sequence[str] = (),
) -> Judged:
    bad = sorted(errors.keys() - options.allowed)
    return Judged(
        file=file,
        errors={kind: errors[kind] for kind in sorted(errors)},
        counts={kind: counts[kind] for kind in sorted(errors)},
        bad=tuple(bad),
        reasons=tuple(reasons),
        warnings=tuple(warnings),
    )


EXAMPLES = 32
"""Errors of a type, and unseen messages of a key, that are listed. Counts cover all of them."""

SKIPPED = 1000
"""Values of one skip that are listed."""

EDGES = 2_000_000
"""Dependencies and operations that may be in a cycle, in all files together. With more, cycles are not searched
for."""

EMPTY, TIMEOUT = "empty-transaction-graph", "cycle-search-timeout"


def analyze(
    spark: SparkSession,
    files: Sequence[Path],
    *,
    options: Options = Options(),
    examples: int = EXAMPLES,
    limit: int = EDGES,
) -> list[Judged]:
    """The answer of the reference checker for each file, in their order.

    The answer for a file that is not a history is the reason. Raises ValueError without files.
    """
    if not files:
        raise ValueError("files: at least one history is needed, got none")
    with tempfile.TemporaryDirectory(prefix="kafkacheck-jepsen-") as folder:
        written = write(files, Path(folder))
        with tables(spark, Path(folder), without=written.without) as facts:
            found = _ErrorsOfRuns(facts, options, examples, limit)
            return [
                Judged(file=str(file), errors={}, error=written.failed[place])
                if place in written.failed
                else found.judged(written.runs[place], file, written.notes[place])
                for place, file in enumerate(files)
            ]


class _ErrorsOfRuns:
    """The errors found in all runs."""

    def __init__(self, facts: Tables, options: Options, examples: int, limit: int) -> None:
        self._options = options
        self._errors: dict[int, dict[str, Any]] = defaultdict(dict)
        self._counts: dict[int, dict[str, int]] = defaultdict(dict)
        self._reasons: dict[int, list[str]] = defaultdict(list)
        self._take_errors(facts, examples)
        self._take_cycles(facts, examples, limit)

    def judged(self, run: int, file: Path, notes: Notes) -> Judged:
        return judged(
            str(file),
            self._errors[run],
            self._counts[run],
            [*self._reasons[run], *notes.reasons()],
            self._options,
            warnings=[*notes.warnings()],
        )

    def _take_errors(self, facts: Tables, examples: int) -> None:
        rows = ranked(errors(facts), at_most=max(1, examples)).collect()
        rows.sort(key=attrgetter("run", "type", "part", "rank"))
        skipped = _skipped(facts, rows)
        last = {row.run: row.time for row in last_ok(facts.operations).collect()}
        for (run, kind), group in groupby(rows, key=attrgetter("run", "type")):
            mine = list(group)
            if kind == NO_WRITER.type:
                self._reasons[run].append(_no_writer(mine))
            elif kind == UNSEEN.type:
                self._errors[run][kind] = _unseen(mine, last.get(run))
                self._counts[run][kind] = sum(self._errors[run][kind]["unseen"].values())
            else:
                self._errors[run][kind] = [_entry(row, skipped) for row in mine]
                self._counts[run][kind] = mine[0].total

    def _take_cycles(self, facts: Tables, examples: int, limit: int) -> None:
        graph = dependencies(facts, ww=self._options.ww_deps)
        connected = {row.run for row in graph.select("run").union(_after_another(facts)).distinct().collect()}
        for run in _runs(facts) - connected:
            self._errors[run][EMPTY] = True
            self._counts[run][EMPTY] = 1
        where = spans(graph).persist()
        try:
            if not where.take(1):
                return
            part = parts_with_cycles(facts, graph, where)
            sizes = part.edges.groupBy("run").count().union(part.operations.groupBy("run").count()).collect()
            if sum(row["count"] for row in sizes) > limit:
                self._give_up({row.run: row["count"] for row in sizes}, limit)
                return
            for run, cycle in _cycles(part.edges, part.operations):
                kind = cycle["type"]
                self._counts[run][kind] = self._counts[run].get(kind, 0) + 1
                if self._counts[run][kind] <= examples:
                    self._errors[run].setdefault(kind, []).append(cycle)
        finally:
            where.unpersist()

    def _give_up(self, sizes: Mapping[int, int], limit: int) -> None:
        for run, size in sizes.items():
            self._errors[run][TIMEOUT] = [{"type": TIMEOUT, "edges": size, "limit": limit}]
            self._counts[run][TIMEOUT] = 1


def _skipped(facts: Tables, rows: Sequence[Row]) -> Mapping[tuple[int, str, int], str]:
    """The values between the two positions of each listed skip, by run, key and place."""
    wanted = set()
    for row in rows:
        entry = json.loads(row.entry)
        if "from" in entry:
            end = min(entry["to"], entry["from"] + 1 + SKIPPED)
            wanted |= {(row.run, entry["key"], place) for place in range(entry["from"] + 1, end)}
    if not wanted:
        return {}
    places = facts.order.sparkSession.createDataFrame(sorted(wanted), "run int, key string, place bigint")
    found = facts.order.join(F.broadcast(places), ["run", "key", "place"])
    return {
        (row.run, row.key, row.place): row.value
        for row in found.select("run", "key", "place", "value").collect()
    }


def _entry(row: Row, skipped: Mapping[tuple[int, str, int], str]) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(row.entry)
    if "from" in entry:
        places = range(entry.pop("from") + 1, entry.pop("to"))[:SKIPPED]
        entry["skipped"] = [skipped[row.run, entry["key"], place] for place in places]
    for name in ("key", "value"):
        if name in entry:
            entry[name] = json.loads(entry[name])
    for name in ("values", "skipped"):
        if name in entry:
            entry[name] = [json.loads(value) for value in entry[name]]
    if row.type == "inconsistent-offsets":
        entry["values"].sort(key=_sort_key)
    return entry


def _unseen(rows: Sequence[Row], time: int | None) -> dict[str, Any]:
    messages: dict[str, list[Any]] = {}
    totals: dict[str, int] = {}
    for row in rows:
        entry = json.loads(row.entry)
        key = _name(entry["key"])
        messages.setdefault(key, []).append(json.loads(entry["value"]))
        totals[key] = row.total
    for values in messages.values():
        values.sort(key=_sort_key)
    return {"time": time, "unseen": totals, "messages": messages}


def _no_writer(rows: Sequence[Row]) -> str:
    entry = json.loads(rows[0].entry)
    return (
        f"{rows[0].total} value(s) were polled that no completed operation sent, the first {entry['value']} of key "
        f"{entry['key']} in row {entry['reader']}; the reference ends its analysis there"
    )


def _name(key: str) -> str:
    """A key as text, for use as a key of a JSON object."""
    decoded = json.loads(key)
    return decoded if isinstance(decoded, str) else key


def _sort_key(value: Any) -> tuple[bool, Any]:
    number = isinstance(value, int | float)
    return not number, value if number else str(value)


def _after_another(facts: Tables) -> DataFrame:
    """Runs with an operation that began after another one had completed."""
    done = facts.operations.where("f in ('send', 'poll', 'txn')")
    return (
        done.groupBy("run")
        .agg(F.expr("min(pos) filter (where type = 'ok')").alias("first"), F.max("invoked").alias("last"))
        .where("first < last")
        .select("run")
    )


def _runs(facts: Tables) -> set[int]:
    return {row.run for row in facts.operations.select("run").distinct().collect()}


def _cycles(edges: DataFrame, operations: DataFrame) -> Iterator[tuple[int, dict[str, Any]]]:
    by_span: dict[tuple[int, int], tuple[list[Operation], list[Row]]] = defaultdict(lambda: ([], []))
    for row in operations.collect():
        operation = Operation(pos=row.pos, index=row["index"], type=row.type, invoked=row.invoked)
        by_span[row.run, row.span][0].append(operation)
    for row in edges.collect():
        by_span[row.run, row.span][1].append(row)
    for (run, _), (inside, rows) in sorted(by_span.items()):
        rows.sort(key=lambda row: (row["rank"], row.key, row.value))
        for cycle in cycles(inside, map(_edge, rows)):
            yield run, cycle


def _edge(row: Row) -> Edge:
    entry = evidence(
        kind=row.kind,
        key=row.key,
        value=row.value,
        following=row.next,
        source_mop=row.source_mop,
        target_mop=row.target_mop,
    )
    return Edge(source=row.source, target=row.target, kind=row.kind, evidence=entry)
