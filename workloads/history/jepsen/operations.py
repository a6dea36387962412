"""Jepsen's histories: operations, read from EDN or JSON one by one and checked as they come."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from workloads.history.jepsen.edn import EdnError, elements

PIECE = 1 << 18
"""Characters read at a time."""

TYPES = ("invoke", "ok", "fail", "info")
DATA = ("send", "poll", "txn")
RESETS = ("assign", "subscribe")
INTEGER = re.compile(r"-?(?:0|[1-9]\d*)")
LONG = 1 << 63


class JepsenError(ValueError):
    """A file that is no Jepsen history; the text names the file, the place and the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A record that was sent or polled."""

    call: str
    """send | poll"""
    mop: int
    """Position of its micro-operation in the operation, from 0."""
    key: str
    value: str | None
    """Canonical JSON; None stands for a poll that names the key without any record."""
    offset: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Op:
    """One row of a history."""

    position: int
    """In the file, from 0: how an operation is referred to."""
    index: int
    type: str
    f: str
    process: int | str
    """An int for clients; others, such as ``nemesis``, are not judged."""
    time: int | None
    """ns"""
    invoked: int
    """Position of the invocation; its own where it has none."""
    invoked_time: int | None
    pairs: tuple[Pair, ...] = ()
    """Of completions of `DATA` operations."""
    keys: tuple[str, ...] = ()
    """Of completed assigns and subscribes."""
    rebalanced: frozenset[str] = frozenset()
    """The keys that the operation's rebalance log names."""

    @property
    def client(self) -> bool:
        return isinstance(self.process, int)


def read(path: Path) -> Iterator[Op]:
    """The operations of a file, in order; EDN or JSON by its content, a list or one operation after another.

    Raises JepsenError where the file cannot be read, does not parse, holds no operation, or a row is malformed: a
    missing or wrongly typed field, a time or index that goes back, a process that does two things at a time.
    """
    number = -1
    reader = _Rows()
    try:
        with path.open(encoding="utf-8") as file:
            for number, row in enumerate(_rows(file)):
                yield reader.op(number, row)
    except OSError as error:
        raise JepsenError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise JepsenError(f"{path}: {_after(number)}: no UTF-8 text ({error.reason})") from error
    except EdnError as error:
        raise JepsenError(f"{path}: {error}") from error
    except _Malformed as error:
        raise JepsenError(f"{path}: row {number}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise JepsenError(f"{path}: {_after(number)}: {error}") from error
    if number < 0:
        raise JepsenError(f"{path}: holds no operation")


def _after(number: int) -> str:
    return f"after row {number}" if number >= 0 else "at the beginning"


def canonical(value: Any) -> str:
    """A value as the text that stands for it; numbers stay apart from strings."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


class _Malformed(Exception):
    """A row that is no operation; the reason."""


class _Rows:
    """Checks rows, one after the other, and joins completions to their invocations."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, int | None, str]] = {}
        self._last: dict[str, int] = {"index": -1}

    def op(self, position: int, row: Any) -> Op:
        if not isinstance(row, Mapping):
            raise _Malformed(f"expected a map, found {_told(row)}")
        kind, f, process = row.get("type"), row.get("f"), row.get("process")
        if kind not in TYPES:
            raise _Malformed(f"type: expected one of {', '.join(TYPES)}, found {_told(kind)}")
        if not isinstance(f, str):
            raise _Malformed(f"f: expected a name, found {_told(f)}")
        if isinstance(process, bool) or not isinstance(process, int | str):
            raise _Malformed(f"process: expected a number or a name, found {_told(process)}")
        time = self._forward("time", row.get("time"))
        index = self._forward("index", row.get("index"))
        invoked, invoked_time = self._invocation(position, kind, f, process, time)
        return Op(
            position=position,
            index=position if index is None else index,
            type=kind,
            f=f,
            process=process,
            time=time,
            invoked=invoked,
            invoked_time=invoked_time,
            pairs=tuple(_pairs(row.get("value"))) if f in DATA and kind != "invoke" else (),
            keys=_keys("value", row.get("value")) if f in RESETS and kind != "invoke" else (),
            rebalanced=_rebalanced(row),
        )

    def _forward(self, name: str, value: Any) -> int | None:
        if value is None:
            return None
        if not _is_int(value):
            raise _Malformed(f"{name}: expected a whole number, found {_told(value)}")
        if value < self._last.setdefault(name, value):
            raise _Malformed(f"{name}: {value} after {self._last[name]}, histories go forward only")
        self._last[name] = value
        return int(value)

    def _invocation(
        self, position: int, kind: str, f: str, process: Any, time: int | None
    ) -> tuple[int, int | None]:
        if not isinstance(process, int):
            return position, time
        if kind == "invoke":
            if process in self._open:
                since, _, what = self._open[process]
                raise _Malformed(f"process {process} begins {f} while its {what} of row {since} goes on")
            self._open[process] = position, time, f
            return position, time
        began, began_time, what = self._open.pop(process, (position, time, f))
        if what != f:
            raise _Malformed(f"process {process} completes {f}, but began {what} in row {began}")
        return began, began_time


def _pairs(value: Any) -> Iterator[Pair]:
    if value is None:
        return
    for mop, each in enumerate(_list("value", value)):
        match _list(f"micro-operation {mop}", each):
            case ["send", key, [offset, sent]]:
                yield Pair(call="send", mop=mop, key=_key(key), offset=_offset(offset), value=canonical(sent))
            case ["send", key, list()]:
                raise _Malformed(
                    f"micro-operation {mop}: expected an offset and a value, found {_told(each)}"
                )
            case ["send", key, sent]:
                yield Pair(call="send", mop=mop, key=_key(key), value=canonical(sent))
            case ["poll"] | ["poll", None]:
                pass
            case ["poll", dict() as polled]:
                for key, records in polled.items():
                    yield from _polled(mop, _key(key), records)
            case _:
                raise _Malformed(
                    f"micro-operation {mop}: expected [send key value] or [poll {{key records}}], found {_told(each)}"
                )


def _polled(mop: int, key: str, records: Any) -> Iterator[Pair]:
    if not records and isinstance(records, list | None):
        yield Pair(call="poll", mop=mop, key=key, value=None)
        return
    for record in _list(f"micro-operation {mop}, key {key}", records):
        if not isinstance(record, list) or len(record) != 2:
            raise _Malformed(
                f"micro-operation {mop}, key {key}: expected [offset value] for each record, found {_told(record)}"
            )
        offset, value = record
        yield Pair(call="poll", mop=mop, key=key, offset=_offset(offset), value=canonical(value))


def _key(key: Any) -> str:
    """JSON has only strings for the keys of what was polled: those of digits are taken for numbers."""
    if isinstance(key, str) and INTEGER.fullmatch(key):
        return key
    return canonical(key)


def _offset(offset: Any) -> int | None:
    if offset is None:
        return None
    if not _is_int(offset) or not 0 <= offset < LONG:
        raise _Malformed(f"offset: expected a whole number from 0, found {_told(offset)}")
    return int(offset)


def _keys(name: str, value: Any) -> tuple[str, ...]:
    if value is None or not isinstance(value, list):
        value = [] if value is None else [value]
    return tuple(map(_key, _list(name, value)))


def _rebalanced(row: Mapping[str, Any]) -> frozenset[str]:
    log = row.get("rebalance-log")
    if not log:
        return frozenset()
    events = _list("rebalance-log", log)
    if not all(isinstance(event, Mapping) for event in events):
        raise _Malformed(f"rebalance-log: expected maps with keys, found {_told(log)}")
    return frozenset(key for event in events for key in _keys("rebalance-log", event.get("keys")))


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _Malformed(f"{name}: expected a list, found {_told(value)}")
    return value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _told(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _rows(file: IO[str]) -> Iterator[Any]:
    pieces = iter(lambda: file.read(PIECE), "")
    start = ""
    for piece in pieces:
        start += piece
        if begin := start.lstrip("\ufeff \t\r\n[{"):
            break
    else:
        begin = ""
    text = _chain(start.removeprefix("\ufeff"), pieces)
    # In EDN no key of an operation is a string, in JSON every one is.
    return _json(text) if begin.startswith('"') else elements(text)


def _chain(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first
    yield from rest


def _json(pieces: Iterator[str]) -> Iterator[Any]:
    """The objects of a list, or one after another."""
    decoder = json.JSONDecoder()
    text, at = next(pieces).lstrip(), 0
    listed = text.startswith("[")
    at = int(listed)
    separated = True
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            separated = separated or text[at] == ","
            at += 1
        if at < len(text) and listed and text[at] == "]":
            if rest := text[at + 1 :].strip() or next((p for p in pieces if p.strip()), ""):
                raise ValueError(f"more follows after the end of the list: {_told(rest)}")
            return
        try:
            if listed and not separated:
                raise ValueError(
                    f"expected a comma or the end of the list, found {_told(text[at : at + 20])}"
                )
            row, at = decoder.raw_decode(text, at)
        except ValueError as error:
            # Cut in the middle, most likely; what is longer than a piece doubles what is read.
            more = "".join(p for _, p in zip(range(1 + (len(text) - at) // PIECE), pieces, strict=False))
            if more:
                text, at = text[at:] + more, 0
                continue
            if at < len(text) or listed:
                missing = "the text ends within the list" if at >= len(text) else f"no JSON: {error}"
                raise ValueError(missing) from error
            return
        separated = not listed
        yield row
