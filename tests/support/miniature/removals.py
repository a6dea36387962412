"""What removes records: retention and compaction, as the settings allow it, and delete-records, as the run asks."""

from __future__ import annotations

from typing import Any

from tests.support.miniature.partition import TOPIC, Partition
from tests.support.miniature.scheduler import MS, Steps
from tests.support.miniature.state import State


def retain(state: State) -> Steps:
    """Check all logs for expired records, again and again."""
    while True:
        yield state.random.randint(5 * MS, 30 * MS)
        for each in state.partitions:
            if each.has_leader:
                state.counts["expired"] += each.remove(_expired_to(state, each))


def _expired_to(state: State, partition: Partition) -> int:
    if "expiry" in state.flaws:
        return max(partition.log_start, partition.high_watermark - 5)
    end, offset = len(partition.entries), partition.log_start
    while offset < end and state.settings.expired(
        partition.entries[offset].appended, end - offset - 1, state.now
    ):
        offset += 1
    return offset


def compact(state: State) -> Steps:
    """Compact one log after the other, again and again."""
    while True:
        yield state.random.randint(5 * MS, 30 * MS)
        partition = state.random.choice(state.partitions)
        if partition.has_leader:
            state.counts["compacted"] += partition.compact()


def delete_records(state: State, evidence: dict[str, Any]) -> Steps:
    """Ask for the removal of the first half of a log. The leader answers once all replicas have removed it."""
    partition = state.random.choice(state.partitions)
    while not partition.has_leader:
        yield 5 * MS
    start = partition.log_start
    before = start + (partition.high_watermark - start + 1) // 2
    yield state.random.randint(1, 5 * MS)
    state.counts["deleted"] += partition.remove(before + (3 if "overdelete" in state.flaws else 0))
    yield state.random.randint(1, 5 * MS)
    evidence |= {
        "topic": TOPIC, "partition": partition.number, "start_before": start, "before": before,
        "start": partition.log_start,
    }  # fmt: skip
