"""Reads the operations of Jepsen's histories, in EDN or JSON, one by one, and checks each of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import IO, Any

from workloads.history.jepsen.edn import EdnError, elements
from workloads.history.jepsen.micro_operations import Malformed, Pair, is_int, keys, pairs, rebalanced, shown
from workloads.history.text_file import not_text, opened

TYPES = ("invoke", "ok", "fail", "info")
DATA = ("send", "poll", "txn")
RESETS = ("assign", "subscribe")
OTHERS = ("crash", "debug-topic-partitions")
"""Operations of the Kafka workload that say nothing about records."""


class JepsenError(ValueError):
    """A file is not a Jepsen history; the message names the file, the position and the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Op:
    """One row of a history."""

    position: int
    """Row in the file, from 0; identifies the operation."""
    index: int
    type: str
    f: str
    process: int | str
    """A number for clients. Other processes, such as ``nemesis``, are not judged."""
    time: int | None
    """ns"""
    invoked: int
    """Position of the invocation; its own position if it has none."""
    invoked_time: int | None
    pairs: tuple[Pair, ...] = ()
    """Of completions of `DATA` operations."""
    keys: tuple[str, ...] = ()
    """Of completed assigns and subscribes."""
    rebalanced: frozenset[str] = frozenset()
    """The keys in the operation's rebalance log."""

    @property
    def is_client(self) -> bool:
        return isinstance(self.process, int)


@dataclass(kw_only=True, slots=True)
class Notes:
    """What is noticed in a file that is read."""

    clients: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows of clients by f and type."""
    steps_back: int = 0
    """Rows whose time is before that of the row above."""
    furthest: int = 0
    """ns, of the largest of these steps."""
    furthest_row: int = 0
    is_sorted: bool = False
    """Whether the rows had to be sorted by their index."""

    def reasons(self) -> Iterator[str]:
        """Why the history is unknown, whatever the checks find."""
        known = (*DATA, *RESETS)
        if any(self.clients[f, type] for f in known for type in TYPES if type != "invoke"):
            return
        found = ", ".join(f"{f} ({self._counts(f)})" for f in sorted({f for f, _ in self.clients}))
        yield (
            f"it holds no completed operation of Jepsen's Kafka workload ({', '.join(known)}), so nothing could be "
            f"judged; the operations of its clients are: {found or 'none'}"
        )

    def warnings(self) -> Iterator[str]:
        if self.is_sorted:
            yield (
                "the rows are not in the order of their index: they were sorted by it, and are numbered here in that "
                "order"
            )
        if self.steps_back:
            yield (
                f"the time goes back in {self.steps_back:,} row{'s' * (self.steps_back > 1)}, at most by "
                f"{self.furthest / 1e6:,.10g} ms in row {self.furthest_row:,}; the rows are taken in the order of "
                f"the file"
            )
        known = (*DATA, *RESETS, *OTHERS)
        if others := sorted({f for f, _ in self.clients} - {*known}):
            each = ", ".join(f"{f} ({self._counts(f)})" for f in others)
            yield f"operations that are not of Jepsen's Kafka workload were not judged: {each}"

    def _counts(self, f: str) -> str:
        return ", ".join(f"{self.clients[f, type]:,} {type}" for type in TYPES if self.clients[f, type])


class Unordered(Exception):
    """The index of a row is below that of the row above."""


def read(path: Path, notes: Notes | None = None, *, by_index: bool = False) -> Iterator[Op]:
    """The operations of a file in order. The content decides between EDN and JSON, a list or operations one by one.

    notes     is filled while operations are read. The times of rows order nothing, and may go back.
    by_index  sort the rows by their index first, for which all are in memory.

    Raises Unordered if the index goes back, unless `by_index`; JepsenError if the file cannot be read, does not parse
    or holds no operation, or if a row is malformed: a field is missing or has another type, or a process has two
    operations at a time.
    """
    number = -1
    reader = _Rows(Notes() if notes is None else notes)
    try:
        with opened(path) as file:
            for number, row in enumerate(_sorted(rows(file)) if by_index else rows(file)):
                yield reader.op(number, row)
    except OSError as error:
        raise JepsenError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise JepsenError(f"{path}: {not_text(path)}") from error
    except EdnError as error:
        raise JepsenError(f"{path}: {error}") from error
    except Malformed as error:
        raise JepsenError(f"{path}: row {number}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise JepsenError(f"{path}: {_after(number)}: {error}") from error
    if number < 0:
        raise JepsenError(f"{path}: holds no operation")


def _sorted(rows: Iterator[Any]) -> list[Any]:
    """Rows without an index stay behind the row above them."""
    places: list[tuple[int, int, Any]] = []
    last = -1
    for number, row in enumerate(rows):
        if isinstance(row, Mapping) and is_int(row.get("index")):
            last = row["index"]
        places.append((last, number, row))
    return [row for *_, row in sorted(places, key=lambda place: place[:2])]


def _after(number: int) -> str:
    return f"after row {number}" if number >= 0 else "at the beginning"


class _Rows:
    """Checks rows one after another, and joins completions to their invocations."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._open: dict[int, tuple[int, int | None, str]] = {}
        self._index = -1
        self._time: int | None = None

    def op(self, position: int, row: Any) -> Op:
        if not isinstance(row, Mapping):
            raise Malformed(f"expected a map, found {shown(row)}")
        kind, f, process = row.get("type"), row.get("f"), row.get("process")
        if kind not in TYPES:
            raise Malformed(f"type: expected one of {', '.join(TYPES)}, found {shown(kind)}")
        if not isinstance(f, str):
            raise Malformed(f"f: expected a name, found {shown(f)}")
        if isinstance(process, bool) or not isinstance(process, int | str):
            raise Malformed(f"process: expected a number or a name, found {shown(process)}")
        time = self._take_time(position, row.get("time"))
        index = self._take_index(row.get("index"))
        if isinstance(process, int):
            self._notes.clients[f, kind] += 1
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
            pairs=tuple(pairs(row.get("value"))) if f in DATA and kind != "invoke" else (),
            keys=keys("value", row.get("value")) if f in RESETS and kind != "invoke" else (),
            rebalanced=rebalanced(row),
        )

    def _take_time(self, position: int, value: Any) -> int | None:
        # Other harnesses write decimals. Times order nothing, so the nearest ns is as good.
        is_decimal = isinstance(value, float) and isfinite(value)
        time, before = round(value) if is_decimal else _whole("time", value), self._time
        if time is None:
            return None
        if before is not None and time < before:
            self._notes.steps_back += 1
            if before - time > self._notes.furthest:
                self._notes.furthest, self._notes.furthest_row = before - time, position
        self._time = time
        return time

    def _take_index(self, value: Any) -> int | None:
        index = _whole("index", value)
        if index is None:
            return None
        if index < self._index:
            raise Unordered
        self._index = index
        return index

    def _invocation(
        self, position: int, kind: str, f: str, process: Any, time: int | None
    ) -> tuple[int, int | None]:
        if not isinstance(process, int):
            return position, time
        if kind == "invoke":
            if process in self._open:
                since, _, what = self._open[process]
                raise Malformed(f"process {process} begins {f} before its {what} of row {since} completed")
            self._open[process] = position, time, f
            return position, time
        began, began_time, what = self._open.pop(process, (position, time, f))
        if what != f:
            raise Malformed(f"process {process} completes {f}, but began {what} in row {began}")
        return began, began_time


def _whole(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if not is_int(value):
        raise Malformed(f"{name}: expected a whole number, found {shown(value)}")
    return int(value)


PIECE = 1 << 18
"""Characters read at a time."""


def rows(file: IO[str]) -> Iterator[Any]:
    pieces = iter(lambda: file.read(PIECE), "")
    start = ""
    for piece in pieces:
        start += piece
        if begin := start.lstrip("\ufeff \t\r\n[{"):
            break
    else:
        begin = ""
    text = _chain(start.removeprefix("\ufeff"), pieces)
    # In JSON every key of an operation is a string, in EDN none is.
    return _json(text) if begin.startswith('"') else elements(text)


def _chain(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first
    yield from rest


def _json(pieces: Iterator[str]) -> Iterator[Any]:
    """The objects of a list, or objects one after another."""
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
                raise ValueError(f"there is more text after the end of the list: {shown(rest)}")
            return
        try:
            if listed and not separated:
                raise ValueError(
                    f"expected a comma or the end of the list, found {shown(text[at : at + 20])}"
                )
            row, at = decoder.raw_decode(text, at)
        except ValueError as error:
            # The object probably continues in the next piece. Read as much again, so that long objects take few
            # tries.
            more = "".join(p for _, p in zip(range(1 + (len(text) - at) // PIECE), pieces, strict=False))
            if more:
                text, at = text[at:] + more, 0
                continue
            if at < len(text) or listed:
                missing = "the text ends within the list" if at >= len(text) else f"not JSON: {error}"
                raise ValueError(missing) from error
            return
        separated = not listed
        yield row
