"""Replicas are compared by batch and by record; a naive comparison of all records agrees."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecordsBuilder

from pytest_kafkacheck.cluster.kafka.replica_comparison import (
    NO_EPOCH,
    Batch,
    Comparison,
    batches,
    compare,
    first_offset,
    records,
)

Values = Mapping[int, str]
"""By offset."""


def batch(base: int, values: Iterable[str], epoch: int = 0) -> bytes:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 20)
    for number, value in enumerate(values):
        builder.append(timestamp=1000 + base + number, key=None, value=value.encode())
    builder.close()
    data = bytearray(builder.buffer())
    data[0:8] = base.to_bytes(8, "big")
    data[12:16] = epoch.to_bytes(4, "big")
    return bytes(data)


def stored(*parts: bytes) -> list[Batch]:
    return [*batches(io.BytesIO(b"".join(parts)))]


def differ(*copies: list[Batch], begin: int = 0, end: int = 100, is_compacted: bool = False) -> Comparison:
    found = {node: iter(each) for node, each in enumerate(copies, 1)}
    return compare(found, begin=begin, end=end, is_compacted=is_compacted)


def test_batches_have_their_offsets_epoch_and_records() -> None:
    first, second = stored(batch(5, "ab", epoch=3), batch(9, "c"))
    assert (first.base, first.last, first.epoch) == (5, 6, 3)
    assert (second.base, second.last, second.epoch) == (9, 9, 0)
    assert {offset: each.value for offset, each in records(first).items()} == {5: b"a", 6: b"b"}


def test_a_replica_begins_where_its_first_segment_does() -> None:
    names = ("t-0-00000000000000000042.log", "t-0-00000000000000000100.log")
    assert first_offset([Path(name) for name in names]) == 42
    assert first_offset([]) == 0


def test_old_formats_have_no_epoch() -> None:
    builder = MemoryRecordsBuilder(magic=1, compression_type=0, batch_size=1 << 20)
    builder.append(timestamp=1, key=None, value=b"a")
    builder.close()
    (one,) = stored(builder.buffer())
    assert (one.base, one.last, one.epoch) == (0, 0, NO_EPOCH)
    assert records(one)[0].value == b"a"


@pytest.mark.parametrize("rest", [b"", b"\0" * 200, batch(1, "b")[:-1], batch(1, "b")[:20]])
def test_what_is_no_whole_batch_ends_a_segment(rest: bytes) -> None:
    assert [each.base for each in stored(batch(0, "a"), rest)] == [0]


def test_equal_replicas() -> None:
    log = stored(batch(0, "ab"), batch(2, "c", epoch=1))
    found = differ(log, log, log)
    assert found == Comparison(
        records=3, compared=sum(len(each.data) for each in log), different=0, first=None
    )


def test_a_difference_has_the_records_of_all_replicas() -> None:
    found = differ(stored(batch(0, "ab"), batch(2, "c", 1)), stored(batch(0, "ax"), batch(2, "c", 1)))
    assert (found.records, found.different) == (2, 1)
    assert found.first is not None
    assert found.first.offset == 1
    assert {node: copy and copy.value for node, copy in found.first.copies.items()} == {1: b"b", 2: b"x"}


def test_another_epoch_is_a_difference() -> None:
    found = differ(stored(batch(0, "ab", epoch=1)), stored(batch(0, "ab", epoch=2)))
    assert found.different == 2


def test_a_missing_record_is_a_difference_unless_the_log_is_compacted() -> None:
    whole, short = stored(batch(0, "a"), batch(1, "b")), stored(batch(0, "a"))
    found = differ(whole, short)
    assert found.first is not None
    assert found.first.offset == 1
    assert found.first.copies[2] is None
    assert differ(whole, short, is_compacted=True).different == 0
    assert differ(whole, stored(batch(0, "x")), is_compacted=True).different == 1


def test_what_is_outside_of_the_range_does_not_count() -> None:
    one = stored(batch(0, "ab"), batch(2, "cd"), batch(4, "e"))
    other = stored(batch(0, "xb"), batch(2, "cy"), batch(4, "z"))
    assert differ(one, other, begin=1, end=3) == Comparison(records=2, compared=0, different=0, first=None)


def test_batches_may_be_cut_at_other_offsets() -> None:
    assert differ(stored(batch(0, "abc")), stored(batch(0, "a"), batch(1, "bc"))).records == 3
    same = stored(batch(0, "abc"))
    assert differ(same, same, begin=1).records == 2


@given(st.data())
def test_each_flipped_byte_is_found(data: st.DataObject) -> None:
    """Also in the header, and in a length, behind which nothing can be read."""
    whole = batch(0, ["some", "values"], epoch=2) + batch(2, ["more"], epoch=3)
    changed = bytearray(whole)
    changed[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    assert differ(stored(whole), stored(bytes(changed))).different


PARTS = st.lists(st.tuples(st.integers(1, 3), st.sampled_from("xy"), st.integers(0, 1)), max_size=5)
"""Batches of one replica: number of records, their value, leader epoch."""


@given(st.lists(PARTS, min_size=2, max_size=3), st.integers(0, 4), st.integers(4, 9))
def test_a_naive_comparison_agrees(logs: list[list[tuple[int, str, int]]], begin: int, end: int) -> None:
    copies = []
    for log in logs:
        base, parts = 0, []
        for count, value, epoch in log:
            parts.append(batch(base, value * count, epoch))
            base += count
        copies.append(stored(*parts))
    flat = [{offset: each for part in copy for offset, each in records(part).items()} for copy in copies]
    offsets = [o for o in range(begin, end) if any(o in copy for copy in flat)]
    apart = [
        o
        for o in offsets
        if len({(c[o].value, c[o].epoch, c[o].timestamp) if o in c else None for c in flat}) > 1
    ]
    found = differ(*copies, begin=begin, end=end)
    # Equal records in another batch count as equal; the whole batch differs where only its header does.
    assert found.different == len(apart)
    assert found.records == len(offsets) - len(apart)
    assert (found.first and found.first.offset) == (apart[0] if apart else None)
