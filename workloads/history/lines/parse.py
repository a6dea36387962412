"""Reads a file of JSON lines: line 1 says how to read it, every other one is checked against its kind."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from workloads.history.lines.fields import (
    IGNORED,
    UNITS,
    VERSION,
    BadValue,
    Field,
    Kind,
    in_unit,
    plain,
    shown,
)
from workloads.history.lines.kinds import KINDS, MORE, RECORD
from workloads.history.text_file import not_text, opened

HEADER = "kafkacheck_history"
"""The field of line 1 with the version of the schema."""

SUFFIXES = (".jsonl", ".jsonl.gz")

LONGEST_HEADER = 1 << 16
"""Characters of line 1 that are read to see whether a file is a history."""

LONGEST = 64 << 20
"""Characters of a line. A file without line ends must not take all memory."""

EXAMPLES = 5
"""Bad lines that a message shows; the others are counted."""

WITH_MORE: Mapping[str, Mapping[str, Field]] = {
    name: {**kind.by_name, MORE.name: MORE} for name, kind in KINDS.items()
}

RECORD_FIELDS: Mapping[str, Field] = {each.name: each for each in RECORD}


class BadLines(ValueError):
    """A file is not a history as JSON lines. The message names the file, the lines and the reasons."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """Line 1.

    unit      of the times, in ns.
    run       the id of the run; None: the name of the file.
    requires  names of promises without which the verdict is unknown; None: those that the history is about.
    allow     names of anomalies that are reported without effect.
    """

    unit: int
    run: str | None = None
    requires: tuple[str, ...] | None = None
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line that fits its kind. fields: without those that are absent; times in ns."""

    number: int
    kind: Kind
    fields: dict[str, Any]

    @property
    def is_invocation(self) -> bool:
        return self.fields.get("type") == "invoke"


@dataclass(kw_only=True)
class Problems:
    """The bad lines of a file, of which the first are kept."""

    file: Path
    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, number: int, reason: object) -> None:
        self.count += 1
        if len(self.first) < EXAMPLES:
            self.first.append(f"line {number}: {reason}")

    def raise_any(self) -> None:
        """Raise BadLines if there is one."""
        if self.count:
            more = self.count - len(self.first)
            others = f"; and {more:,} more bad line{'s' * (more > 1)}" if more else ""
            raise BadLines(f"{self.file}: {'; '.join(self.first)}{others}")


def is_lines(path: Path) -> bool:
    """Whether it has the name of a history as JSON lines, or is a file whose line 1 is that of one."""
    if path.name.endswith(SUFFIXES):
        return True
    if not path.is_file():
        return False
    try:
        with opened(path) as file:
            return HEADER in _object(file.readline(LONGEST_HEADER).removeprefix("\ufeff"))
    except (OSError, EOFError, zlib.error, ValueError):
        return False


def read_header(path: Path) -> Header:
    """Raises BadLines for a file that cannot be read, or whose first line is no header."""
    for number, text in texts(path):
        try:
            return _header(_object(text))
        except BadValue as error:
            raise BadLines(f"{path}: line {number}: {error}") from error
    raise BadLines(
        f'{path}: is empty; expected line 1 to be {{"{HEADER}": {VERSION}, "unit": "ms"}} with the unit of its times'
    )


def read_lines(path: Path, header: Header, problems: Problems | None = None) -> Iterator[Line]:
    """The lines after the first one that fit their kind. The others are added to `problems`, or skipped.

    Raises BadLines for a file that cannot be read to its end.
    """
    for number, text in texts(path):
        if number == 1 or not text.strip():
            continue
        try:
            yield parse(number, _object(text), header.unit)
        except BadValue as error:
            if problems is not None:
                problems.add(number, error)


def parse(number: int, row: Mapping[str, Any], unit: int) -> Line:
    """Check an object against its kind. Raises BadValue."""
    name = row.get("f")
    if not isinstance(name, str) or name not in KINDS:
        raise BadValue(f"f: expected one of {', '.join(KINDS)}, found {shown(name)}")
    kind = KINDS[name]
    known = kind.by_name if name in ("send", "poll", "sample") else WITH_MORE[name]
    fields = _checked(f"{name} ", {key: each for key, each in row.items() if key != "f"}, known, unit)
    if name == "poll":
        fields["records"] = [
            _record(place, each, fields, unit) for place, each in enumerate(fields["records"])
        ]
    _check_whole(kind, fields, unit)
    return Line(number=number, kind=kind, fields=fields)


def _record(place: int, row: Any, poll: Mapping[str, Any], unit: int) -> dict[str, Any]:
    where = f"records[{place}] "
    if not isinstance(row, dict):
        raise BadValue(f"{where.strip()}: expected an object, found {shown(row)}")
    fields = _checked(where, row, RECORD_FIELDS, unit)
    for name in ("topic", "partition"):
        if name not in fields:
            if name not in poll:
                raise BadValue(f"{where}{name}: missing, and the line has none either; expected one of both")
            fields[name] = poll[name]
    if "value" not in fields and "error" not in fields:
        raise BadValue(
            f"{where}value: missing; expected it, or error: foreign | corrupt for one that nobody sent"
        )
    return fields


def _checked(where: str, row: Mapping[str, Any], known: Mapping[str, Field], unit: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in row.items():
        if name.startswith(IGNORED) or value is None:
            continue
        if name not in known:
            raise BadValue(
                f"{where}{shown(name)}: no such field; there are {', '.join(known)}, and your own, which begin with "
                f"{IGNORED}"
            )
        if name == "type" and value == "invoke" and where == "send ":
            fields[name] = value
            continue
        try:
            fields[name] = known[name].type.check(value, unit)
        except BadValue as error:
            raise BadValue(f"{where}{name}: {error}") from None
    for name, each in known.items():
        if each.required and name not in fields:
            raise BadValue(f"{where}{name}: missing; expected {each.type.name}, {each.means}")
    return fields


def _check_whole(kind: Kind, fields: dict[str, Any], unit: int) -> None:
    """What single fields do not show."""
    f, type = kind.f, fields.get("type")
    invoked, completed = fields.get("invoked"), fields.get("completed")
    if kind.by == "client":
        if type == "invoke":
            if completed is not None:
                raise BadValue(
                    "send completed: expected none with type invoke; the completion has a line of its own"
                )
            if invoked is None:
                raise BadValue("send invoked: missing; expected the time at which the client sent the record")
        elif type in ("ok", "fail") and completed is None:
            raise BadValue(f"{f} completed: missing; expected the time of the outcome with type {type}")
        if f != "send" and invoked is None:
            raise BadValue(f"{f} invoked: missing; expected the time at which the client began it")
    if invoked is not None and completed is not None and completed < invoked:
        early = in_unit(invoked - completed, unit)
        raise BadValue(f"{f} completed: expected a time from invoked on, found one {early} before it")
    if f == "send" and type == "ok" and "partition" not in fields:
        raise BadValue("send partition: missing; expected the one that was acknowledged, with type ok")
    if f == "final-read" and type == "ok" and "end_offset" not in fields:
        raise BadValue(
            "final-read end_offset: missing; expected the end of the log that it got to, with type ok"
        )
    if f == "inspect" and type == "ok" and "topic" not in fields:
        raise BadValue("inspect topic: missing; expected the one that the broker described, with type ok")
    if f == "txn" and "op" not in fields:
        raise BadValue("txn op: missing; expected the name by which its sends refer to it")
    if f == "member" and fields["event"] in ("assigned", "revoked", "lost"):
        for name in ("topic", "partition"):
            if name not in fields:
                raise BadValue(f"member {name}: missing; expected it with the event {fields['event']}")


def _header(row: Mapping[str, Any]) -> Header:
    known = (HEADER, "unit", "run", "requires", "allow")
    example = f'such as {{"{HEADER}": {VERSION}, "unit": "ms"}}'
    if HEADER not in row:
        raise BadValue(
            f"{HEADER}: missing; expected the version of the schema and the unit of the times, {example}"
        )
    if row[HEADER] != VERSION or isinstance(row[HEADER], bool):
        raise BadValue(
            f"{HEADER}: expected version {VERSION}, which this kafkacheck reads, found {shown(row[HEADER])}"
        )
    if not isinstance(unit := row.get("unit"), str) or unit not in UNITS:
        raise BadValue(f"unit: expected one of {', '.join(UNITS)}, found {shown(unit)}")
    for name in row:
        if name not in known and not name.startswith(IGNORED):
            raise BadValue(f"{shown(name)}: no such field of line 1; there are {', '.join(known)}")
    run = row.get("run")
    if run is not None and not (isinstance(run, str) and run):
        raise BadValue(f"run: expected text that is not empty, found {shown(run)}")
    lists = {name: row.get(name) for name in ("requires", "allow")}
    for name, value in lists.items():
        if value is not None and not (
            isinstance(value, list) and all(isinstance(each, str) for each in value)
        ):
            raise BadValue(f"{name}: expected a list of names, found {shown(value)}")
    requires = lists["requires"]
    return Header(
        unit=UNITS[unit],
        run=run,
        requires=None if requires is None else tuple(requires),
        allow=tuple(lists["allow"] or ()),
    )


def _object(text: str) -> dict[str, Any]:
    try:
        row = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise BadValue(f"not JSON ({reason}): expected one object, found {shown(text.strip())}") from error
    if not isinstance(row, dict):
        raise BadValue(f"expected an object, found {shown(plain(row))}")
    return row


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"{text} is no number") from error


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no number in JSON")


_DECODER = json.JSONDecoder(parse_float=_decimal, parse_constant=_refuse)
"""Made once: making one for each line takes a quarter of the time."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of the file, numbered from 1."""
    number = 0
    try:
        with opened(path) as file:
            while text := file.readline(LONGEST + 1):
                number += 1
                if len(text) > LONGEST:
                    raise BadLines(
                        f"{path}: line {number}: longer than {LONGEST:,} characters; expected one object"
                    )
                yield number, text.removeprefix("\ufeff") if number == 1 else text
    except UnicodeDecodeError as error:
        raise BadLines(f"{path}: {not_text(path)}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadLines(f"{path}: after line {number}: not a whole gzip file ({error})") from error
    except OSError as error:
        raise BadLines(f"{path}: cannot be read ({error.strerror or error})") from error
