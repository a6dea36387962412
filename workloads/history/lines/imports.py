"""Imports a history as JSON lines into the tables of a run directory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from workloads.history.compaction.compact import compact
from workloads.history.lines.fields import DOUBTS, IMPORTED, UNITS, Field
from workloads.history.lines.kinds import KINDS, RECORD
from workloads.history.lines.parse import Line, Problems, read_header, read_lines
from workloads.history.lines.survey import Survey, Token, survey
from workloads.history.schema import HARNESS, NEMESIS, TABLES
from workloads.history.writer import ROWS, Writer

SHOWN_UNITS: Mapping[int, Literal["ms", "us"]] = {UNITS["ms"]: "ms", UNITS["us"]: "us"}

AUTHORS: Mapping[str, int] = {"harness": HARNESS, "nemesis": NEMESIS}


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A history that was imported.

    unit      in which people read its times: that of the file, or s where that is ns.
    clients   names by process number, where the file does not use numbers.
    requires  as `Header.requires`; so is allow.
    """

    run: str
    clients: Mapping[int, str]
    requires: tuple[str, ...] | None
    allow: tuple[str, ...]
    unit: Literal["s", "ms", "us"] = "s"


def import_lines(path: Path, home: Path) -> Imported:
    """Import a file into ``<home>/history``, which it makes. Raises BadLines, and then leaves an unfinished one.

    A process writes its sends in the order in which it invoked them. Where the times of two are equal and nothing
    else tells their order, it is that of their offsets, so that a coarse clock makes no write look out of order.
    """
    header = read_header(path)
    problems = Problems(file=path)
    found = survey(read_lines(path, header, problems), problems)
    if not found.lines and not problems.count:
        problems.add(2, "missing; expected at least one operation after line 1")
    problems.raise_any()
    run = header.run or path.name.removesuffix(".gz").removesuffix(".jsonl")
    rows = _Rows(found, run, problems)
    with ExitStack() as stack:
        tables = {table: _Table(home, table) for table in TABLES}
        for each in tables.values():
            stack.callback(each.close)
        for line in read_lines(path, header):
            for table, row in rows.of(line):
                tables[table].append(row)
        for table, row in rows.homeless():
            tables[table].append(row)
    problems.raise_any()
    compact(home)
    _note_doubts(home, [*rows.doubts()])
    return Imported(
        run=run,
        clients=found.clients(),
        requires=header.requires,
        allow=header.allow,
        unit=SHOWN_UNITS.get(header.unit, "s"),
    )


def sent_lines(path: Path) -> dict[int, int]:
    """The number of each send's value in the tables, and the line that completes it, or that invokes it."""
    header = read_header(path)
    found = survey(read_lines(path, header), Problems(file=path))
    return {found.values[value]: send.line for value, send in found.sends.items()}


class _Table:
    """Writes rows by column, `ROWS` at a time: one by one they take four times as long."""

    def __init__(self, home: Path, table: str) -> None:
        self._writer = Writer(home / "history", table, 0)
        self._names = TABLES[table].names
        self._rows: list[dict[str, Any]] = []

    def append(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            self._writer.extend(
                len(rows), {}, {name: [row.get(name) for row in rows] for name in self._names}
            )


class _Rows:
    """Turns lines into rows of the tables."""

    def __init__(self, found: Survey, run: str, problems: Problems) -> None:
        self._found, self._run, self._problems = found, run, problems
        self._homes: dict[Token, tuple[str, int]] = {}
        """Where a poll found a value whose send does not say its partition."""
        self._lost = {value for value, send in found.sends.items() if send.partition is None}
        self._held: list[tuple[Line, dict[str, Any]]] = []
        self._missing: Counter[str] = Counter()
        self._of: Counter[str] = Counter()

    def of(self, line: Line) -> Iterator[tuple[str, dict[str, Any]]]:
        """The rows of a line, each with its table."""
        match line.kind.f:
            case "send":
                yield from self._send(line)
            case "poll":
                yield from self._poll(line)
            case "sample":
                row = self._columns(line.kind.fields, line.fields)
                row["value"] = json.dumps(row["value"]) if "value" in row else None
                yield "observations", {"run": self._run, "process": 0, "kind": "partition", **row}
            case _:
                yield "operations", self._operation(line)

    def homeless(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The sends of unknown partition: where a poll found them, otherwise in the first one of their topic."""
        for line, row in self._held:
            topic = line.fields["topic"]
            _, row["partition"] = self._homes.get(
                line.fields["value"], (topic, self._found.partitions.get(topic, 0))
            )
            yield "records", row

    def doubts(self) -> Iterator[str]:
        """A sentence for each reason why a verdict on this history cannot be valid."""
        unknown = {
            f"{f} {name}": KINDS[f].by_name[name].unknown
            for f, name in (("send", "offset"), ("poll", "committed"), ("poll", "generation"))
        }
        for what, count in self._missing.items():
            f, name = what.split()
            subject = {"offset": "acknowledged sends", "generation": "polls by members of groups"}.get(
                name, f"{f}s"
            )
            yield (
                f"The history does not contain {name} of {count:,} of {self._of[what]:,} {subject}, so nobody can "
                f"say: {unknown[what]}."
            )
        for group in sorted(self._found.committing - self._found.owning):
            yield (
                f"The history does not contain an assignment of group {group} (member lines), so nobody can say who "
                f"owned the partitions that it committed."
            )

    def _send(self, line: Line) -> Iterator[tuple[str, dict[str, Any]]]:
        fields = line.fields
        send = self._found.sends[fields["value"]]
        if send.line != line.number:
            return
        row = self._record_row(line, fields, self._found.indices[line.number])
        row |= {"op": row["value"], "type": fields["type"], "assignment": 0, "final": False}
        row |= {"partition": send.partition, "invoked": send.invoked}
        if line.is_invocation:
            row["type"] = "info"
        self._settle(line, row)
        row["transaction"] = self._transaction(line)
        if row["type"] == "ok":
            self._count("send offset", is_missing="offset" not in fields)
        if send.partition is None:
            self._held.append((line, row))
        else:
            yield "records", row

    def _poll(self, line: Line) -> Iterator[tuple[str, dict[str, Any]]]:
        fields = line.fields
        if self._found.transactions:
            self._count("poll committed", is_missing="committed" not in fields)
        if fields["process"] in self._found.members and not fields.get("final"):
            self._count("poll generation", is_missing="generation" not in fields)
        of_poll = {
            "op": self._operation_number(line),
            "type": fields["type"],
            "final": fields.get("final", False),
            "committed": fields.get("committed"),
            "generation": fields.get("generation"),
            "transaction": self._transaction(line),
        }
        at = fields.get("completed", fields["invoked"])
        assignments = {
            log: fields.get("assignment", self._found.assignment(fields["process"], *log, at))
            for log in {(record["topic"], record["partition"]) for record in fields["records"]}
        }
        for place, record in enumerate(fields["records"]):
            row = self._record_row(line, record, self._found.indices[line.number] + place) | of_poll
            value, log = record.get("value"), (record["topic"], record["partition"])
            row["assignment"] = assignments[log]
            if value is None:
                row["value"] = None
            elif "error" not in record and (send := self._found.sends.get(value)) is not None:
                home = (send.topic, send.partition)
                if value in self._lost:
                    home = self._homes.setdefault(value, log if send.topic == log[0] else (send.topic, 0))
                row["error"] = None if home == log else "misrouted"
            elif record.get("error") in ("foreign", "corrupt"):
                row["value"] = None
            yield "records", row

    def _record_row(self, line: Line, record: Mapping[str, Any], index: int) -> dict[str, Any]:
        of_line = {
            name: line.fields.get(name) for name in ("process", "session", "invoked", "completed", "error")
        }
        fields = (*line.kind.fields, *RECORD) if line.kind.f == "poll" else line.kind.fields
        row = self._columns(
            fields, {name: each for name, each in {**of_line, **record}.items() if each is not None}
        )
        for name in ("records", "op"):
            row.pop(name, None)
        return {"run": self._run, "f": line.kind.f, **row, "index": index}

    def _operation(self, line: Line) -> dict[str, Any]:
        fields, kind = line.fields, line.kind
        row = self._columns([each for each in kind.fields if not each.in_value], fields)
        value = self._columns([each for each in kind.fields if each.in_value], fields)
        value |= fields.get("more", {})
        row |= {"run": self._run, "op": self._operation_number(line)}
        row.setdefault("f", kind.f)
        row.setdefault("type", "ok")
        if kind.by != "client":
            row["process"] = AUTHORS[kind.by]
            row.setdefault("completed", row["invoked"])
        if kind.f == "topic":
            value.setdefault("event", "created")
        if kind.by == "harness" and (kind.f == "topic" or "phase" not in self._found.kinds):
            value[IMPORTED] = True
        is_over = row["type"] == "ok" or row.get("completed") is not None
        if kind.f == "txn" and self._found.has_endings and not is_over and "ending" not in fields:
            value.setdefault("requested", False)
        if "transaction" in fields:
            row["op"] = value["transaction"] = self._transaction(line)
            self._settle(line, row)
        if "delivery" in fields:
            value["delivery"] = self._delivery(line)
        if kind.f == "final-read":
            row.setdefault("start_offset", 0)
        return row | {"value": json.dumps(value) if value else None}

    def _settle(self, line: Line, row: dict[str, Any]) -> None:
        """What belongs to a transaction completes with it, unless it was refused by itself."""
        token = line.fields.get("transaction")
        of = None if token is None else self._found.transactions.get(token)
        if of is None or row["type"] == "fail":
            return
        known, row["type"] = row["type"], of.decide(row["type"])
        if row["type"] == "info":
            row["completed"] = row.get("completed") if known == "info" else of.completed
        else:
            row["completed"] = max(at for at in (row.get("completed"), of.completed) if at is not None)

    def _transaction(self, line: Line) -> int | None:
        if (token := line.fields.get("transaction")) is None:
            return None
        if (of := self._found.transactions.get(token)) is None:
            self._problems.add(
                line.number,
                f"{line.kind.f} transaction: no line with f txn has the op {token!r}; expected one",
            )
            return None
        return of.line

    def _delivery(self, line: Line) -> int | None:
        token = line.fields["delivery"]
        if token not in self._found.operations:
            self._problems.add(
                line.number,
                f"{line.kind.f} delivery: no line has the op {token!r}; expected one with f delivery",
            )
            return None
        return self._found.operations[token]

    def _operation_number(self, line: Line) -> int:
        token = line.fields.get("op")
        return line.number if token is None else self._found.operations[token]

    def _columns(self, fields: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        return {
            each.column or each.name: self._number(each, given[each.name])
            for each in fields
            if each.name in given
        }

    def _number(self, field: Field, token: Any) -> Any:
        match field.refers:
            case "process":
                processes = self._found.processes
                return [processes[one] for one in token] if isinstance(token, list) else processes[token]
            case "session":
                return self._found.sessions[token]
            case "value":
                return self._found.values[token] if token in self._found.values else self._found.stray(token)
            case _:
                return token

    def _count(self, what: str, *, is_missing: bool) -> None:
        self._of[what] += 1
        self._missing[what] += is_missing
        if not self._missing[what]:
            del self._missing[what]


def _note_doubts(home: Path, doubts: list[str]) -> None:
    file = home / "history" / "format.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | ({DOUBTS: doubts} if doubts else {})) + "\n")
