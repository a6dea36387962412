"""How keys and tombstones are sent. A key is a number of 8 bytes. A tombstone has no value, so a header identifies
it: compaction keeps the headers of the records that stay. The same header identifies a record for an application,
whose key and value are text of the user's choice."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

HEADER = "kafkacheck"
"""Name of the header that has the payload of a tombstone, and of a record with a body."""

KEY = struct.Struct(">q")


class Keyed(NamedTuple):
    """The key of a record, and whether the record is a tombstone: from then on, the key has no value.

    body  the value that applications get, with the key as text; the payload goes into the header. None: the value is
          the payload.
    """

    key: int
    tombstone: bool = False
    body: bytes | None = None


Wire = tuple[bytes | None, bytes | None, list[tuple[str, str | bytes | None]]]
"""Key, value and headers of a record as brokers store it."""


def to_wire(payload: bytes, keyed: Keyed | None) -> Wire:
    """The parts of a record with this payload. Raises struct.error for a key of more than 64 bits."""
    if keyed is None:
        return None, payload, []
    if keyed.body is not None:
        return key_text(keyed.key).encode(), keyed.body, [(HEADER, payload)]
    key = KEY.pack(keyed.key)
    return (key, None, [(HEADER, payload)]) if keyed.tombstone else (key, payload, [])


def from_wire(
    key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, Any]] | None
) -> tuple[bytes | None, Keyed | None]:
    """Payload and key of a record. None for a key that is not one of ours, and for a missing payload.

    The key of a record with a body is not restored: it is text, and the payload identifies the record.
    """
    in_header = next((payload for name, payload in headers or () if name == HEADER), None)
    if value is not None and in_header is not None:
        return in_header, None
    if key is None or len(key) != KEY.size:
        return value, None
    if value is None:
        return in_header, Keyed(KEY.unpack(key)[0], tombstone=True)
    return value, Keyed(KEY.unpack(key)[0])


def key_text(key: int) -> str:
    """The key of a record with a body, as applications get it."""
    return f"key-{key}"
