"""How much compaction removed, as far as the counts of a run tell."""

from __future__ import annotations

import json
from typing import NamedTuple

from analyzers.judge.compaction import compacted_topics, removed_by_compaction


class Told(NamedTuple):
    f: str
    topic: str | None
    value: str | None


class Polled(NamedTuple):
    n: int
    process: int = 9
    topic: str = "t"
    partition: int = 0
    final: bool = True


def topic(name: str, policy: str | None, event: str = "created") -> Told:
    config = {} if policy is None else {"cleanup.policy": policy}
    return Told("topic", name, json.dumps({"event": event, "config": config}))


COMPACTED = topic("t", "compact")
ACKNOWLEDGED = {("t", 0): 10, ("t", 1): 5}


def test_topics_that_allow_compaction() -> None:
    others = [topic("u", "delete"), topic("v", None), Told("phase", None, "{}"), Told("topic", "w", None)]
    assert compacted_topics(others) == set()
    assert compacted_topics([COMPACTED, topic("x", "delete,compact"), *others]) == {"t", "x"}


def test_what_final_reads_did_not_find_was_removed() -> None:
    found = [Polled(4), Polled(3, partition=1)]
    assert removed_by_compaction([COMPACTED], ACKNOWLEDGED, found) == 8
    assert removed_by_compaction([COMPACTED], {("t", 0): 10}, found) == 6, (
        "partition 1 was not read to its end"
    )
    assert removed_by_compaction([COMPACTED], ACKNOWLEDGED, []) == 15


def test_only_the_longest_final_read_of_a_log_counts() -> None:
    """One process had got a part when it was given up, and another one began again. A poll may hold several rows."""
    found = [Polled(4), Polled(7, process=8), Polled(2), Polled(9, final=False), Polled(5, partition=1)]
    assert removed_by_compaction([COMPACTED], ACKNOWLEDGED, found) == 3


def test_records_that_were_not_acknowledged_do_not_make_up_for_others() -> None:
    found = [Polled(12), Polled(4, partition=1)]
    assert removed_by_compaction([COMPACTED], ACKNOWLEDGED, found) == 1


def test_other_topics_do_not_count() -> None:
    assert removed_by_compaction([topic("t", "delete")], ACKNOWLEDGED, []) is None
    assert removed_by_compaction([topic("u", "compact")], ACKNOWLEDGED, []) == 0
    again = [COMPACTED, topic("t", "compact", "deleted"), topic("t", "compact", "recreated")]
    assert removed_by_compaction(again, ACKNOWLEDGED, []) is None
