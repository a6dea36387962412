"""Commits and owners of a group, read from what its coordinator has written; and whether its clock is this host's."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from kafka.protocol.consumer import ConsumerProtocolAssignment
from kafka.record.default_records import DefaultRecordBatchBuilder

from tests.support.offsets_topic import fetched, key, text
from workloads.clients.described_groups import GroupMember
from workloads.clients.group_log import Commit, Membership, group_history
from workloads.clients.requests import decoded, log_batches
from workloads.roles.group_watch import Sample, agrees

MINE, LOG = "mine-r1", ("s-r1", 2)


def commit_key(group: str = MINE, version: int = 1) -> bytes:
    return key(group, version) + text(LOG[0]) + struct.pack(">i", LOG[1])


def position(offset: int, version: int = 3) -> bytes:
    return struct.pack(">hq", version, offset) + b"epoch, metadata and time"


def members(generation: int, *given: tuple[str, str, list[int]], version: int = 3) -> bytes:
    """Of GroupMetadataValue: id, client id and partitions of each."""
    flexible = version >= 4

    def content(data: bytes, form: str) -> bytes:
        return bytes([len(data) + 1]) + data if flexible else struct.pack(form, len(data)) + data

    def name(of: str) -> bytes:
        return content(of.encode(), ">h")

    null = bytes([0]) if flexible else struct.pack(">h", -1)
    count = bytes([len(given) + 1]) if flexible else struct.pack(">i", len(given))
    tags = bytes([1, 0, 2]) + b"xx" if flexible else b""
    value = (
        struct.pack(">h", version) + name("consumer") + struct.pack(">i", generation) + name("range") + null
    )
    value += (struct.pack(">q", 7) if version >= 2 else b"") + count
    for member, client, numbers in given:
        Part = ConsumerProtocolAssignment.TopicPartition
        assignment = ConsumerProtocolAssignment(
            version=0, assigned_partitions=[Part(topic=LOG[0], partitions=numbers)], user_data=None
        ).encode()
        value += name(member) + (null if version >= 3 else b"") + name(client) + name("/host")
        value += (struct.pack(">i", 300_000) if version >= 1 else b"") + struct.pack(">i", 6000)
        value += content(b"sub", ">i") + content(bytes(assignment), ">i") + tags
    return value


def batch(base: int, *records: tuple[int, bytes, bytes | None], producer: int = -1) -> bytes:
    """(time, key, value) of each. producer: of a transaction."""
    built = DefaultRecordBatchBuilder(2, 0, producer >= 0, producer, 0, 0 if producer >= 0 else -1, 1 << 14)
    for number, (time, name, value) in enumerate(records):
        built.append(number, time, name, value, [])
    return struct.pack(">q", base) + bytes(built.build())[8:]


def marker(base: int, time: int, producer: int, *, commit: bool) -> bytes:
    name, value = struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 1)
    data = bytearray(batch(base, (time, name, value), producer=producer))
    (attributes,) = struct.unpack_from(">h", data, 21)
    struct.pack_into(">h", data, 21, attributes | 0x20)
    return bytes(data)


def read(*batches: bytes) -> list[Commit | Membership]:
    return [*group_history(decoded(b"".join(batches)), MINE)]


@pytest.mark.parametrize("version", [0, 1])
def test_a_commit_has_its_position_and_its_time(version: int) -> None:
    found = read(
        batch(0, (1000, commit_key(version=version), position(5)), (1001, commit_key("other"), position(6))),
        batch(2, (1003, commit_key(), None), (1004, b"\0", b"\0"), (1005, commit_key(), position(7, 4))),
    )
    assert found == [Commit(1000, LOG, 5, None), Commit(1005, LOG, 7, None)]


def test_a_commit_in_a_transaction_takes_effect_with_its_end() -> None:
    found = read(
        batch(0, (1000, commit_key(), position(5)), producer=70),
        batch(1, (1001, commit_key(), position(6)), producer=71),
        marker(2, 1007, 70, commit=True),
        marker(3, 1008, 71, commit=False),
        batch(4, (1009, commit_key(), position(8)), producer=72),
        marker(5, 1010, 70, commit=True),
    )
    assert found == [Commit(1007, LOG, 5, 70)], (
        "71 was aborted, 72 is open, and 70 has committed nothing more"
    )


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_a_generation_has_its_owners(version: int) -> None:
    value = members(4, ("m-1", "app-0", [2, 3]), ("m-2", "app-1", [0]), version=version)
    (found,) = read(batch(0, (1000, key(MINE), value)))
    first, second = GroupMember("m-1", "app-0", None), GroupMember("m-2", "app-1", None)
    owners = {(LOG[0], 2): first, (LOG[0], 3): first, (LOG[0], 0): second}
    assert found == Membership(1000, 4, owners, 6000)


def test_a_group_without_members_has_no_owners() -> None:
    assert read(batch(0, (1000, key(MINE), members(5)))) == [Membership(1000, 5, {}, None)]


@pytest.mark.parametrize("value", [members(5, version=3)[:9], struct.pack(">h", 5) + b"unknown"])
def test_a_form_that_is_not_known_is_left_out(value: bytes) -> None:
    assert read(batch(0, (1000, key(MINE), value))) == []


def test_a_log_is_read_to_its_end() -> None:
    answers = [batch(3, (1, b"a", b"b"), (1, b"a", b"b")), batch(5, (1, b"a", b"b"))]
    asked: list[Any] = []

    def ask(request: Any) -> Any:
        asked.append(request.topics[0].partitions[0].fetch_offset)
        return fetched(answers.pop(0) if answers else b"", mark=9, partition=4)

    found = [each.base_offset for each in log_batches(ask, ("__consumer_offsets", 4), 3, 9)]
    assert (found, asked) == ([3, 5], [3, 5, 6])


def test_a_leader_that_refuses_is_an_error() -> None:
    def ask(_: Any) -> Any:
        return fetched(b"", mark=9, partition=4, error=29)

    with pytest.raises(OSError, match="error 29"):
        [*log_batches(ask, ("__consumer_offsets", 4), 3, 9)]


SECOND = 1_000_000_000


def committed(*times: tuple[float, int]) -> list[dict[str, Any]]:
    return [
        {"topic": LOG[0], "partition": LOG[1], "time": int(at * SECOND), "value": {"position": offset}}
        for at, offset in times
    ]


def seen(*samples: tuple[float, float, int]) -> list[Sample]:
    return [Sample(int(a * SECOND), int(b * SECOND), LOG, offset) for a, b, offset in samples]


def test_a_clock_agrees_whose_commits_lie_between_the_samples() -> None:
    samples = seen((0, 1.0, 5), (1.0, 2.0, 9), (2.0, 3.0, 12))
    assert agrees(committed((0.5, 5), (1.5, 9), (2.9, 12)), samples)
    assert agrees(committed((0.5, 5), (0.8, 9), (2.9, 12)), samples), "replicas held one up"
    assert agrees([], [])


@pytest.mark.parametrize(
    "rows",
    [
        committed((0.5, 5), (2.5, 9), (2.9, 12)),
        committed((0.5, 5), (1.5, 9)),
        committed((0.5, 5), (0.8, 9), (1.1, 12)),
    ],
)
def test_a_clock_disagrees_that_is_ahead_or_mostly_behind_and_a_commit_may_lack(rows: list[Any]) -> None:
    assert not agrees(rows, seen((0, 1.0, 5), (1.0, 2.0, 9), (2.0, 3.0, 12)))
