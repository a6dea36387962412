"""How a record is recognised when it is read: by a header that the recorder adds, or by its value."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

NAME = "kafkacheck"
"""Of the header. Its value names the run and the send."""

LONGEST = 200
"""Bytes of a value that identifies its record by itself; of a longer one, its digest does."""


def header_of(run: str, token: str) -> tuple[str, bytes]:
    return NAME, f"{run}/{token}".encode()


def token_in(headers: Iterable[tuple[str, bytes]] | Mapping[str, bytes] | None, run: str) -> str | None:
    """The identity in the headers of a record; None where no recorder of this run wrote it."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
    for name, value in pairs:
        of, slash, token = bytes(value or b"").decode(errors="replace").partition("/")
        if name == NAME and slash and of == run:
            return token
    return None


def value_token(value: Any) -> str:
    """The identity of a value without such a header. Text and its bytes in UTF-8 are the same value."""
    data = value if isinstance(value, bytes) else str(value).encode()
    if len(data) <= LONGEST:
        try:
            return f"={data.decode()}"
        except UnicodeDecodeError:
            pass
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def key_number(key: Any) -> int | None:
    """A number for a key, equal for text and its bytes; None for no key."""
    if key is None:
        return None
    return crc32(key if isinstance(key, bytes) else str(key).encode())
