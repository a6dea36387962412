"""What a kind of line consists of: its fields, what a value of each has to be, and what it becomes in the tables.

The importer, the exporter and the printed schema derive from this declaration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

VERSION = 1
"""Of the schema."""

IGNORED = "x_"
"""Fields whose names begin so belong to the program that writes the file."""


DOUBTS = "doubts"
"""The key of ``format.json`` with a sentence for each thing that the history does not contain and a verdict needs."""


IMPORTED = "imported"
"""The key of the column ``value`` of rows of the harness that need no phases of a run beside them."""


UNITS: Mapping[str, int] = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
"""Units of time, in ns."""

INT32, INT64 = (1 << 31) - 1, (1 << 63) - 1

SHOWN = 60
"""Characters of a wrong value that a message shows."""


class BadValue(ValueError):
    """A value is not what its field expects. The message says what was expected and what was found."""


@dataclass(frozen=True)
class Type:
    """name: as the schema prints it. check: returns the plain value, in ns for times; `unit` is that of the file."""

    name: str
    check: Callable[[Any, int], Any]


def shown(value: Any) -> str:
    """A value in a message, cut if it is long."""
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def in_unit(ns: int, unit: int) -> str:
    """A duration in a message, in the unit of the file."""
    name = next(name for name, each in UNITS.items() if each == unit)
    return f"{Decimal(ns) / unit:,f} {name}"


def plain(value: Any) -> Any:
    """JSON without the decimals by which times are read exactly."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def whole(least: int, most: int, name: str = "whole number") -> Type:
    def check(value: Any, _: int) -> int:
        if not is_whole(value) or not least <= value <= most:
            raise BadValue(f"expected a whole number from {least} to {most}, found {shown(value)}")
        return int(value)

    return Type(name, check)


def choice(*words: str) -> Type:
    def check(value: Any, _: int) -> str:
        if value not in words:
            raise BadValue(f"expected {' or '.join(words)}, found {shown(value)}")
        return str(value)

    return Type(" | ".join(words), check)


def list_of(each: Type) -> Type:
    def check(value: Any, unit: int) -> list[Any]:
        if not isinstance(value, list):
            raise BadValue(f"expected a list, found {shown(value)}")
        return [each.check(one, unit) for one in value]

    return Type(f"list of {each.name}", check)


def _time(value: Any, unit: int) -> int:
    is_number = is_whole(value) or isinstance(value, Decimal)
    # A large exponent would take all memory as a whole number.
    if not is_number or value < 0 or value > INT64 or round(value * unit) > INT64:
        raise BadValue(f"expected a time, a number from 0 on in the unit of line 1, found {shown(value)}")
    ns: int = round(value * unit)
    return ns


def _text(value: Any, _: int) -> str:
    if not isinstance(value, str):
        raise BadValue(f"expected text, found {shown(value)}")
    return value


def _name(value: Any, _: int) -> str:
    if not isinstance(value, str) or not value:
        raise BadValue(f"expected text that is not empty, found {shown(value)}")
    return value


def _boolean(value: Any, _: int) -> bool:
    if not isinstance(value, bool):
        raise BadValue(f"expected true or false, found {shown(value)}")
    return value


def _object(value: Any, _: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadValue(f"expected an object, found {shown(value)}")
    found: dict[str, Any] = plain(value)
    return found


def duration(most: int) -> Type:
    """A time that something takes, in the unit of the file. most: ns."""

    def check(value: Any, unit: int) -> int:
        is_number = is_whole(value) or isinstance(value, Decimal)
        if not is_number or not 0 <= value <= Decimal(most) / unit:
            raise BadValue(f"expected a duration from 0 to {in_unit(most, unit)}, found {shown(value)}")
        ns: int = round(value * unit)
        return ns

    return Type("duration", check)


def settings(*, with_null: bool) -> Type:
    """Settings by name, as Kafka has them: texts. with_null: null has a meaning; otherwise it is left out."""

    def check(value: Any, _: int) -> dict[str, str | None]:
        if not isinstance(value, dict):
            raise BadValue(f"expected an object, found {shown(value)}")
        found = {name: _setting(name, each) for name, each in value.items()}
        return {name: each for name, each in found.items() if with_null or each is not None}

    return Type(f"object of texts{' or null' * with_null}", check)


def _setting(name: str, value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    if value is None or isinstance(value, str):
        return value
    if is_whole(value) or isinstance(value, Decimal):
        return str(value)
    raise BadValue(f"expected texts, found {shown(value)} for {shown(name)}")


def _number(value: Any, _: int) -> float:
    if not (is_whole(value) or isinstance(value, Decimal)) or not math.isfinite(float(value)):
        raise BadValue(f"expected a number, found {shown(value)}")
    return int(value) if is_whole(value) else float(value)


def _token(value: Any, _: int) -> str | int:
    if not (isinstance(value, str) and value) and not (is_whole(value) and -INT64 <= value <= INT64):
        raise BadValue(f"expected text that is not empty, or a whole number, found {shown(value)}")
    found: str | int = value
    return found


def _spans(value: Any, unit: int) -> dict[str, list[int]]:
    if not isinstance(value, dict) or not value.keys() <= {"possibly", "surely"}:
        raise BadValue(f"expected an object with possibly and surely, found {shown(value)}")
    found = {name: list_of(TIME).check(span, unit) for name, span in value.items()}
    if any(len(span) != 2 for span in found.values()):
        raise BadValue(f"expected two times each, the first and the last, found {shown(value)}")
    return found


def _records(value: Any, _: int) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise BadValue(f"expected a list of at least one object, found {shown(value)}")
    return value


TIME = Type("time", _time)
RECORDS = Type("list of objects", _records)
TEXT = Type("text", _text)
ANY = Type("any value", lambda value, _: plain(value))
NAME = Type("text", _name)
BOOLEAN = Type("true | false", _boolean)
OBJECT = Type("object", _object)
TOKEN = Type("text or whole number", _token)
"""An identity that the writer of the file chooses."""
SPANS = Type("object of two times each", _spans)
SECONDS = Type("number of s", _number)
MILLISECONDS = whole(-INT64, INT64, "whole number of ms")
LOCK = duration(UNITS["s"] * 3600)
"""Brokers allow no longer one (group.share.max.record.lock.duration.ms)."""
SETTINGS = settings(with_null=False)
CHANGES = settings(with_null=True)
ISOLATION = choice("read_committed", "read_uncommitted")
COUNT = whole(0, INT32)
OFFSET = whole(0, INT64)
INTEGER = whole(-INT64, INT64)
SMALL = whole(-INT32, INT32)
NODE = whole(-1, INT32)


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a line."""

    name: str
    type: Type
    means: str
    required: bool = False
    column: str | None = None
    """Of the table; None: the column that has the name of the field."""
    in_value: bool = False
    """It is a key of the column ``value``, a JSON object, and no column."""
    refers: Literal["process", "session", "value", "operation"] | None = None
    """What the identity names, which gets a number in the tables."""
    unknown: str | None = None
    """What nobody can say if the field is missing. None: that it is missing has a meaning, which `means` gives."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of line, named by its field ``f``."""

    f: str
    means: str
    fields: tuple[Field, ...]
    by: Literal["client", "harness", "nemesis", "probe"] = "client"
    """Who acts. Only a client has a process of its own."""
    needs: str | None = None
    """What a file with such a line has to contain besides, and what follows if it does not."""

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        return {field.name: field for field in self.fields}


def field(name: str, type: Type, means: str, **more: object) -> Field:
    return Field(name=name, type=type, means=means, **more)  # type: ignore[arg-type]


def needed(name: str, type: Type, means: str, **more: object) -> Field:
    return field(name, type, means, required=True, **more)


def inside(name: str, type: Type, means: str, **more: object) -> Field:
    """A key of the column ``value``."""
    return field(name, type, means, in_value=True, **more)


COMPLETION = choice("ok", "fail", "info")

SPAN = (
    field(
        "invoked", TIME, "when the client began it; of a send that has an invoke line, that line may say it"
    ),
    field("completed", TIME, "when the client knew the outcome; absent: it never did, and type is info"),
)

OF_ALL = (
    needed("type", COMPLETION, "ok: it happened; fail: it did not happen; info: unknown"),
    *SPAN,
    field("error", TEXT, "the error that the client got"),
    field(
        "op",
        TOKEN,
        "names the operation, so that other lines can refer to it; absent: nobody does",
        refers="operation",
    ),
)
"""Of the operations of clients."""

OF_CLIENTS = (
    needed("process", TOKEN, "the client: never used again after a crash", refers="process"),
    field(
        "session",
        TOKEN,
        "the user for whom several clients act one after another; absent: this client",
        refers="session",
    ),
    *OF_ALL,
)

OF_OTHERS = (
    field("type", COMPLETION, "absent: ok"),
    needed("invoked", TIME, "when it began"),
    field("completed", TIME, "when it ended; absent: the same"),
)

TOPIC = needed("topic", NAME, "the topic")

LOG = (TOPIC, needed("partition", COUNT, "the partition"))
