"""The topic is deleted and created again: another log with the same name."""

from __future__ import annotations

from typing import Any

from tests.support.miniature.partition import TOPIC, Entry, Partition
from tests.support.miniature.scheduler import MS, Steps
from tests.support.miniature.state import State


def recreate_topic(state: State, evidence: dict[str, Any]) -> Steps:
    """Until all brokers know the new topic. The run records both requests."""
    before, requested = state.topic_id, state.now
    yield state.random.randint(1, 5 * MS)
    for each in state.partitions:
        each.delete()
    for group in state.groups:
        group.forget()
    yield state.random.randint(1, 5 * MS)
    state.rows.topic(TOPIC, "deleted", before, state.settings.config, invoked=requested)
    yield state.random.randint(1, 30 * MS)
    requested = state.now
    yield state.random.randint(1, 5 * MS)
    state.incarnations += 1
    state.partitions[:] = [_created_again(state, each) for each in state.partitions]
    yield state.random.randint(1, 5 * MS)
    state.rows.topic(TOPIC, "recreated", state.topic_id, state.settings.config, invoked=requested)
    state.counts["recreations"] += 1
    yield state.random.randint(1, 30 * MS)
    evidence |= {"topic": TOPIC, "id_before": before, "id": state.topic_id}


def _created_again(state: State, former: Partition) -> Partition:
    created = Partition(former.number, former.leader, state.random, state.flaws)
    if "revived" in state.flaws:
        values = [each.value for each in former.entries if each.transaction is None]
        created.entries = [Entry(value, appended=state.now) for value in values[:3]]
        created.replicated = created.high_watermark = len(created.entries)
    return created
