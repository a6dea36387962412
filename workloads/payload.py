"""Record payloads that say where they belong, so that a reader recognises what does not."""

from __future__ import annotations

import struct
from typing import Literal
from zlib import crc32

Problem = Literal["foreign", "corrupt", "misrouted"]

MAGIC = b"KCHK"
HEADER = struct.Struct(">4sBBiq")
"""Magic, lengths of run and topic in bytes, partition, value; then run, topic, filling, CRC32 of all that."""

CRC = struct.Struct(">I")


def encode(run: str, topic: str, partition: int, value: int, *, size: int = 0) -> bytes:
    """The payload of a value; filled up to `size` bytes if it is shorter.

    Raises ValueError for a run or topic longer than 255 bytes.
    """
    names = run.encode(), topic.encode()
    if max(map(len, names)) > 255:
        raise ValueError(f"run {run!r}, topic {topic!r}: each may have up to 255 bytes")
    body = HEADER.pack(MAGIC, len(names[0]), len(names[1]), partition, value) + names[0] + names[1]
    body = body.ljust(size - CRC.size, b".")
    return body + CRC.pack(crc32(body))


def decode(payload: bytes | None, run: str, topic: str, partition: int) -> tuple[int | None, Problem | None]:
    """The value of a payload polled from a partition, and what is wrong with it.

    foreign    not of this run (no value)
    corrupt    not as it was written (no value)
    misrouted  of this run, written for another partition or topic (with its value)
    """
    if payload is None or len(payload) < HEADER.size + CRC.size or not payload.startswith(MAGIC):
        return None, "foreign"
    body = payload[: -CRC.size]
    if CRC.unpack(payload[-CRC.size :])[0] != crc32(body):
        return None, "corrupt"
    _, of_run, of_topic, home, value = HEADER.unpack_from(body)
    names = body[HEADER.size : HEADER.size + of_run + of_topic]
    if names[:of_run] != run.encode():
        return None, "foreign"
    if names[of_run:] != topic.encode() or home != partition:
        return value, "misrouted"
    return value, None
