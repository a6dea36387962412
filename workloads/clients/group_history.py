"""What a group did, as its coordinators have written it to `__consumer_offsets`: positions that were committed, by
time, and who had which partitions.

Requests report the present only, so a position is known to the quarter of a second in which it was asked for. The
records have the time in ms, and their batch says whether a commit was part of a transaction, and of whose.
`OffsetCommitKey`, `OffsetCommitValue` and `GroupMetadataValue` in Kafka's source describe them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from workloads.clients.group_log import FLEXIBLE, GROUP_KEY
from workloads.clients.group_members import GroupMember, assigned
from workloads.clients.protocol import Log

COMMIT_KEYS = (0, 1)
"""Versions of the key of a committed position."""


class Commit(NamedTuple):
    """A position that took effect. time: in ms since the epoch, on the clock of the coordinator; of a commit in a
    transaction, that of its end. producer: the id of the transaction's; None outside of transactions."""

    time: int
    log: Log
    position: int
    producer: int | None


class Membership(NamedTuple):
    """The group's members, once it had given out its partitions or had nobody left. session_timeout: the longest one
    of a member, ms."""

    time: int
    generation: int
    owners: dict[Log, GroupMember]
    session_timeout: int | None


def group_history(batches: Iterable[Any], group: str) -> Iterator[Commit | Membership]:
    """In the order of the log. batches: of the partition of the group, as `log_batches` gives them. A transaction
    without an end has no commits yet, and one that was aborted has none."""
    pending: dict[int, list[Commit]] = {}
    for batch in batches:
        if batch.is_control_batch:
            waiting = pending.pop(batch.producer_id, [])
            for marker in batch:
                if marker.commit:
                    yield from (each._replace(time=marker.timestamp) for each in waiting)
            continue
        producer = batch.producer_id if batch.is_transactional else None
        for record in batch:
            found = _read(record, group, producer)
            if isinstance(found, Commit) and producer is not None:
                pending.setdefault(producer, []).append(found)
            elif found is not None:
                yield found


def _read(record: Any, group: str, producer: int | None) -> Commit | Membership | None:
    """None for what is not of the group, for what was deleted, and for a form that is not known."""
    if record.key is None or record.value is None:
        return None
    try:
        key, value = _Fields(record.key), _Fields(record.value)
        kind = key.number(">h")
        if kind not in (*COMMIT_KEYS, GROUP_KEY) or key.text() != group:
            return None
        version = value.number(">h")
        if kind == GROUP_KEY:
            return _membership(value, version, record.timestamp)
        log = (key.text() or "", key.number(">i"))
        return Commit(record.timestamp, log, value.number(">q"), producer)
    except (struct.error, IndexError, UnicodeDecodeError):
        return None


def _membership(value: _Fields, version: int, time: int) -> Membership | None:
    if version > FLEXIBLE:
        return None
    value.is_flexible = version >= FLEXIBLE
    value.text()  # type of the protocol
    generation = value.number(">i")
    value.text(), value.text()  # protocol, leader
    if version >= 2:
        value.number(">q")  # time of the state
    owners: dict[Log, GroupMember] = {}
    timeouts = []
    for _ in range(value.length(">i")):
        member = value.text() or ""
        instance = value.text() if version >= 3 else None
        client, _host = value.text() or "", value.text()
        if version >= 1:
            value.number(">i")  # timeout of a rebalance
        timeouts.append(value.number(">i"))
        value.content(">i")  # subscription
        given = assigned(value.content(">i"))
        value.skip_tags()
        owners |= dict.fromkeys(given, GroupMember(member, client, instance))
    return Membership(time, generation, owners, max(timeouts, default=None))


class _Fields:
    """Reads fields one after another. is_flexible: lengths have a variable size and are one too large (KIP-482)."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = bytes(data), 0
        self.is_flexible = False

    def number(self, form: str) -> int:
        (found,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(found)

    def length(self, form: str) -> int:
        """-1 for null."""
        return self._variable() - 1 if self.is_flexible else self.number(form)

    def content(self, form: str) -> bytes | None:
        length = self.length(form)
        if length < 0:
            return None
        found = self._data[self._at : self._at + length]
        self._at += length
        return found

    def text(self) -> str | None:
        found = self.content(">h")
        return None if found is None else found.decode()

    def skip_tags(self) -> None:
        if self.is_flexible:
            for _ in range(self._variable()):
                self._variable()
                size = self._variable()
                self._at += size

    def _variable(self) -> int:
        found = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found
