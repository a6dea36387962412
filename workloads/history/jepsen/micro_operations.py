"""The value of an operation: the records that its micro-operations sent and polled, or the keys that it names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

INTEGER = re.compile(r"-?(?:0|[1-9]\d*)")
LONG = 1 << 63
"""Offsets are below it."""


class Malformed(Exception):
    """A row is not an operation; the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A record that was sent or polled."""

    call: str
    """send | poll"""
    mop: int
    """Position of the micro-operation in its operation, from 0."""
    key: str
    value: str | None
    """Canonical JSON; None for a poll that names the key without any record."""
    offset: int | None = None


def canonical(value: Any) -> str:
    """A value as canonical JSON, in which the number 1 and the string "1" differ."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def pairs(value: Any) -> Iterator[Pair]:
    if value is None:
        return
    for mop, each in enumerate(_list("value", value)):
        match _list(f"micro-operation {mop}", each):
            case ["send", key, [offset, sent]]:
                yield Pair(call="send", mop=mop, key=_key(key), offset=_offset(offset), value=canonical(sent))
            case ["send", key, list()]:
                raise Malformed(f"micro-operation {mop}: expected an offset and a value, found {shown(each)}")
            case ["send", key, sent]:
                yield Pair(call="send", mop=mop, key=_key(key), value=canonical(sent))
            case ["poll"] | ["poll", None]:
                pass
            case ["poll", dict() as polled]:
                for key, records in polled.items():
                    yield from _polled(mop, _key(key), records)
            case _:
                raise Malformed(
                    f"micro-operation {mop}: expected [send key value] or [poll {{key records}}], found {shown(each)}"
                )


def _polled(mop: int, key: str, records: Any) -> Iterator[Pair]:
    if not records and isinstance(records, list | None):
        yield Pair(call="poll", mop=mop, key=key, value=None)
        return
    for record in _list(f"micro-operation {mop}, key {key}", records):
        if not isinstance(record, list) or len(record) != 2:
            raise Malformed(
                f"micro-operation {mop}, key {key}: expected [offset value] for each record, found {shown(record)}"
            )
        offset, value = record
        yield Pair(call="poll", mop=mop, key=key, offset=_offset(offset), value=canonical(value))


def _key(key: Any) -> str:
    """The keys of JSON objects are strings, so a key made of digits counts as a number."""
    if isinstance(key, str) and INTEGER.fullmatch(key):
        return key
    return canonical(key)


def _offset(offset: Any) -> int | None:
    if offset is None:
        return None
    if not is_int(offset) or not 0 <= offset < LONG:
        raise Malformed(f"offset: expected a whole number from 0, found {shown(offset)}")
    return int(offset)


def keys(name: str, value: Any) -> tuple[str, ...]:
    if value is None or not isinstance(value, list):
        value = [] if value is None else [value]
    return tuple(map(_key, _list(name, value)))


def rebalanced(row: Mapping[str, Any]) -> frozenset[str]:
    log = row.get("rebalance-log")
    if not log:
        return frozenset()
    events = _list("rebalance-log", log)
    if not all(isinstance(event, Mapping) for event in events):
        raise Malformed(f"rebalance-log: expected maps with keys, found {shown(log)}")
    return frozenset(key for event in events for key in keys("rebalance-log", event.get("keys")))


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Malformed(f"{name}: expected a list, found {shown(value)}")
    return value


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
