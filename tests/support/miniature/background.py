"""What brokers and probes do on their own: replication, rebalances, observations."""

from __future__ import annotations

from tests.support.miniature.partition import TOPIC
from tests.support.miniature.removals import compact, retain
from tests.support.miniature.scheduler import MS, Steps
from tests.support.miniature.state import State

SESSION_TIMEOUT = 120 * MS

PROBE = 900
"""The process of the probe. Final reads have the processes after it."""


def start(state: State) -> None:
    for number in range(len(state.partitions)):
        state.scheduler.start(_replicate(state, number))
    state.scheduler.start(_rebalance(state))
    state.scheduler.start(_probe(state))
    if state.settings.expire or "expiry" in state.flaws:
        state.scheduler.start(retain(state))
    if state.settings.compacts:
        state.scheduler.start(compact(state))


def _replicate(state: State, number: int) -> Steps:
    while True:
        yield state.random.randint(1, 6 * MS)
        state.partitions[number].replicate()


def _rebalance(state: State) -> Steps:
    while True:
        yield state.random.randint(1, 10 * MS)
        for group in state.groups:
            state.counts["rebalances"] += group.rebalance(state.now, SESSION_TIMEOUT)


def _probe(state: State) -> Steps:
    """Samples of the leaders."""
    while True:
        yield state.random.randint(10 * MS, 40 * MS)
        asked = state.now
        yield state.random.randint(1, 3 * MS)
        for partition in state.partitions:
            if not partition.has_leader:
                continue
            state.story.observations.append({
                "process": PROBE, "time": state.now + 1, "asked": asked, "kind": "partition", "topic": TOPIC,
                "partition": partition.number, "node": partition.leader, "leader": partition.leader,
                "leader_epoch": partition.epoch, "log_start": partition.log_start,
                "high_watermark": partition.high_watermark, "log_end": len(partition.entries),
                "last_stable": partition.last_stable_offset, "isr": sorted(partition.isr),
                "connection": 0,
            })  # fmt: skip
