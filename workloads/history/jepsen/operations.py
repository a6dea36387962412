"""Reads the operations of Jepsen's histories one by one, and checks each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloads.history.jepsen.edn import EdnError
from workloads.history.jepsen.micro_operations import Malformed, Pair, is_int, keys, pairs, rebalanced, shown
from workloads.history.jepsen.stream import rows

TYPES = ("invoke", "ok", "fail", "info")
DATA = ("send", "poll", "txn")
RESETS = ("assign", "subscribe")


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


def read(path: Path) -> Iterator[Op]:
    """The operations of a file in order. The content decides between EDN and JSON, a list or operations one by one.

    Raises JepsenError if the file cannot be read, does not parse or holds no operation, or if a row is malformed: a
    field is missing or has another type, time or index go back, or a process has two operations at a time.
    """
    number = -1
    reader = _Rows()
    try:
        with path.open(encoding="utf-8") as file:
            for number, row in enumerate(rows(file)):
                yield reader.op(number, row)
    except OSError as error:
        raise JepsenError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise JepsenError(f"{path}: {_after(number)}: not UTF-8 text ({error.reason})") from error
    except EdnError as error:
        raise JepsenError(f"{path}: {error}") from error
    except Malformed as error:
        raise JepsenError(f"{path}: row {number}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise JepsenError(f"{path}: {_after(number)}: {error}") from error
    if number < 0:
        raise JepsenError(f"{path}: holds no operation")


def _after(number: int) -> str:
    return f"after row {number}" if number >= 0 else "at the beginning"


class _Rows:
    """Checks rows one after another, and joins completions to their invocations."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, int | None, str]] = {}
        self._last: dict[str, int] = {"index": -1}

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
            pairs=tuple(pairs(row.get("value"))) if f in DATA and kind != "invoke" else (),
            keys=keys("value", row.get("value")) if f in RESETS and kind != "invoke" else (),
            rebalanced=rebalanced(row),
        )

    def _forward(self, name: str, value: Any) -> int | None:
        if value is None:
            return None
        if not is_int(value):
            raise Malformed(f"{name}: expected a whole number, found {shown(value)}")
        if value < self._last.setdefault(name, value):
            raise Malformed(f"{name}: {value} after {self._last[name]}, expected it not to go back")
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
                raise Malformed(f"process {process} begins {f} before its {what} of row {since} completed")
            self._open[process] = position, time, f
            return position, time
        began, began_time, what = self._open.pop(process, (position, time, f))
        if what != f:
            raise Malformed(f"process {process} completes {f}, but began {what} in row {began}")
        return began, began_time
