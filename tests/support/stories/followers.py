"""Histories in which followers lack what was replicated, logs lose their beginnings, or an unclean election cannot be
excluded; and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.stories.replication import fault, led, reported, written, written_again
from workloads.history.schema import HARNESS

ONE = 1 << 40
S = 1_000_000_000
"""ns."""


def settings(s: Any, at: int = 1, *, topic: str = "t", **values: Any) -> Any:
    names = {name.replace("_", "."): str(value).lower() for name, value in values.items()}
    s.observations.append(
        {"process": 900, "asked": at, "time": at + 1, "kind": "settings", "node": 1, "topic": topic,
         "value": json.dumps(names)}
    )  # fmt: skip
    return s


def quorum(s: Any) -> Any:
    return reported(s, 2, kind="quorum", epoch=9)


def followed(s: Any, at: int, end: int | None, **more: Any) -> Any:
    """What broker 2 reports of its own log."""
    return reported(s, at, **{"node": 2, "leader": 1, "log_end": end, "isr": [1, 2]} | more)


def settled(s: Any) -> Any:
    """Broker 2 surely has what is below 7: the leader still names it in sync more than 1 s later."""
    led(quorum(s), 20, 7, 9, isr=[1, 2])
    return reported(led(s, 2 * S, None, 9, isr=[1, 2]), 3 * S, isr=[1, 2])


def follower_without_what_it_had(s: Any) -> Any:
    followed(settled(s), 4 * S, 6)
    followed(s, 5 * S, 7)
    return written(s)


def follower_that_is_asked_too_early(s: Any) -> Any:
    """Once while it is asked the leader names it in sync, and once at the nanosecond of that answer."""
    followed(settled(s), 2 * S - 3, 6)
    return written(followed(s, 2 * S + 5, 6))


def follower_that_left_the_isr_in_time(s: Any) -> Any:
    """After 1 s the leader does not name it any more; its own metadata are old."""
    led(quorum(s), 20, 7, 9, isr=[1, 2])
    led(s, S + 15, None, 9, isr=[1, 2])
    led(s, 2 * S, None, 9, isr=[1])
    return written(followed(s, 4 * S, 6))


def follower_that_knows_it_is_behind(s: Any) -> Any:
    return written(followed(settled(s), 4 * S, 6, isr=[1]))


def follower_with_older_metadata_than_its_leader(s: Any) -> Any:
    """It was cut off while another replica was in sync, too, so that it may not know what followed."""
    return written(followed(settled(s), 4 * S, 6, isr=[1, 2, 3]))


def follower_that_names_the_isr_in_another_order(s: Any) -> Any:
    return written(followed(settled(s), 4 * S, 6, isr=[2, 1]))


def follower_of_another_partition(s: Any) -> Any:
    followed(settled(s), 4 * S, 6, partition=1)
    return written(followed(s, 5 * S, 6, node=3, isr=[1, 3]))


def follower_of_a_later_epoch(s: Any) -> Any:
    """In its epoch alone, nobody named it in sync for long enough. It had the records in the epoch before."""
    led(settled(s), 5 * S, 7, 9, epoch=5, isr=[1, 2])
    return written(followed(s, 6 * S, 6, epoch=5))


def follower_in_sync_for_the_first_time_in_another_epoch(s: Any) -> Any:
    led(quorum(s), 20, 7, 9, isr=[1])
    led(s, 2 * S, None, 9, epoch=5, isr=[1, 2])
    return written(followed(s, 4 * S, 6, epoch=5))


def follower_without_a_quorum(s: Any) -> Any:
    led(s, 20, 7, 9, isr=[1, 2])
    led(s, 2 * S, None, 9, isr=[1, 2])
    return written(followed(s, 4 * S, 6))


def follower_after_the_loss_of_a_disk(s: Any) -> Any:
    """The second time, it is broken before the fault."""
    fault(settled(s), "wipe", 4 * S)
    followed(s, 3 * S + 100, 6)
    return written_again(followed(s, 5 * S, 6))


def follower_where_unclean_elections_are_allowed(s: Any) -> Any:
    settings(s, unclean_leader_election_enable=True)
    return written(followed(settled(s), 4 * S, 6))


def follower_where_unclean_elections_are_not_allowed(s: Any) -> Any:
    settings(s, unclean_leader_election_enable=False)
    settings(s, topic="u", unclean_leader_election_enable=True)
    return written(followed(settled(s), 4 * S, 6))


def follower_of_a_partition_that_moved(s: Any) -> Any:
    """Its log was removed and made again."""
    reported(s, 40, replicas=[1, 3])
    reported(s, 41, replicas=[2, 1])
    return written(followed(settled(s), 4 * S, 6))


def follower_of_a_partition_beside_another_one(s: Any) -> Any:
    reported(s, 40, replicas=[1, 2])
    reported(s, 41, replicas=[2, 1])
    reported(s, 42, replicas=[1, 3], partition=1)
    return written(followed(settled(s), 4 * S, 6))


def follower_of_a_topic_beside_another_one(s: Any) -> Any:
    """The other topic has more records, in the same epoch and with the same replicas."""
    led(quorum(s), 20, 9, 9, topic="u", isr=[1, 2])
    led(s, 2 * S, None, 9, topic="u", isr=[1, 2])
    return written(followed(settled(s), 4 * S, 7))


def follower_that_has_more_than_others(s: Any) -> Any:
    """In another run, the same log needs fewer records."""
    led(quorum(s), 20, 12, 12, isr=[1, 2])
    led(s, 2 * S, None, 12, isr=[1, 2])
    return written(followed(reported(s, 3 * S, isr=[1, 2]), 4 * S, 12))


def follower_at_the_nanosecond_of_a_fault(s: Any) -> Any:
    fault(settled(s), "wipe", 4 * S + 5)
    return written_again(followed(s, 4 * S, 6))


def follower_just_before_a_fault(s: Any) -> Any:
    fault(settled(s), "wipe", 4 * S + 6)
    return written_again(followed(s, 4 * S, 6))


def follower_of_a_later_leader_with_all_that_was_replicated(s: Any) -> Any:
    led(settled(s), 5 * S, 7, 7, epoch=5, isr=[1, 2])
    return written(followed(s, 6 * S, 6, epoch=5))


def leader_that_lacks_records_in_its_epoch(s: Any) -> Any:
    """A leader is no follower of itself."""
    return written(led(settled(s), 4 * S, None, 6, isr=[1, 2]))


def follower_of_a_leader_that_lacks_records(s: Any) -> Any:
    led(settled(s), 5 * S, 6, 6, epoch=5, isr=[1, 2])
    return written(followed(s, 6 * S, 6, epoch=5))


def leader_after_an_election_that_may_be_unclean(s: Any) -> Any:
    """No sample shows the ISR in the moment between."""
    settings(s, 25, unclean_leader_election_enable=True)
    led(s, 20, 7, 9, isr=[1, 2])
    return written(led(s, 40, 6, 6, node=2, epoch=5, isr=[2]))


def leader_where_only_another_topic_allows_unclean_elections(s: Any) -> Any:
    settings(s, 25, topic="u", unclean_leader_election_enable=True)
    settings(s, 26, unclean_leader_election_enable=False)
    created(s, unclean_leader_election_enable=False)
    led(s, 20, 7, 9, isr=[1, 2])
    return written(led(s, 40, 6, 6, node=2, epoch=5, isr=[2]))


def of_fault(s: Any, name: str, at: int, options: Any) -> Any:
    fault(s, name, at)
    for row in s.operations[-2:]:
        row["value"] = json.dumps(json.loads(row["value"]) | {"options": options})
    return s


def leader_of_an_election_by_hand(s: Any) -> Any:
    led(s, 20, 7, 9, isr=[1, 2])
    of_fault(s, "elect", 38, {"unclean": True})
    return written_again(led(s, 40, 6, 6, node=2, epoch=5, isr=[2]))


def created(s: Any, **config: Any) -> Any:
    """The topic, with these settings."""
    values = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
    values |= {name.replace("_", "."): str(value) for name, value in config.items()}
    s.operation(
        "topic", at=(1, 2), process=HARNESS, partition=None,
        value=json.dumps({"event": "created", "config": values}),
    )  # fmt: skip
    return s


def kept(s: Any, **config: Any) -> Any:
    return written(created(s, **config))


def starting(s: Any, at: int, start: int | None, **more: Any) -> Any:
    """The leader reports where its log begins, and leads on."""
    return reported(reported(s, at, log_start=start, **more), at + 10, **more)


def start_above_all_that_may_be_gone(s: Any) -> Any:
    return kept(starting(starting(s, 20, 0), 40, 5))


def start_that_retention_explains(s: Any) -> Any:
    return kept(starting(s, 40, 5), retention_ms=0)


def start_that_settings_explain(s: Any) -> Any:
    """What the run created the topic with was changed by somebody for a while."""
    settings(s, 30, retention_ms=3_600_000)
    return kept(starting(s, 40, 5))


def start_with_a_size(s: Any) -> Any:
    return kept(starting(settings(s, 30, retention_bytes=0), 40, 5))


def start_with_compaction(s: Any) -> Any:
    return kept(starting(settings(s, 30, cleanup_policy="delete,compact"), 40, 5))


def start_beside_settings_that_keep_all(s: Any) -> Any:
    settings(s, 30, retention_ms=-1, retention_bytes=-1, cleanup_policy="delete")
    settings(s, 31, retention_ms=3_600_001)
    settings(s, 32, topic="u", retention_bytes=5)
    return kept(starting(s, 40, 5))


def start_after_a_change_of_clocks(s: Any) -> Any:
    fault(s, "clock", 30)
    return written_again(created(starting(s, 40, 5)))


def start_of_unknown_settings(s: Any) -> Any:
    return written(starting(s, 40, 5))


def start_that_went_back(s: Any) -> Any:
    starting(s, 20, 5, connection=1)
    starting(s, 40, 4, connection=1)
    starting(s, 60, 5, connection=1)
    starting(s, 80, 3, connection=2)
    return written(starting(s, 100, 3, epoch=5, connection=1))


def start_that_went_back_without_a_connection(s: Any) -> Any:
    starting(s, 20, 5)
    return written(starting(s, 40, 4))


def start_below_that_of_another_topic(s: Any) -> Any:
    starting(s, 20, 5, topic="u", connection=1)
    return written(starting(s, 40, 4, connection=1))


def start_that_went_back_between_overlapping_answers(s: Any) -> Any:
    reported(s, 20, log_start=5, connection=1)
    reported(s, 25, log_start=4, connection=1)
    return written(reported(s, 40, connection=1))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    follower_without_what_it_had: {"replica-below-watermark": 1},
    follower_that_is_asked_too_early: {},
    follower_that_left_the_isr_in_time: {},
    follower_that_knows_it_is_behind: {},
    follower_with_older_metadata_than_its_leader: {},
    follower_that_names_the_isr_in_another_order: {"replica-below-watermark": 1},
    follower_of_another_partition: {},
    follower_of_a_later_epoch: {"replica-below-watermark": 1},
    follower_in_sync_for_the_first_time_in_another_epoch: {},
    follower_without_a_quorum: {},
    follower_after_the_loss_of_a_disk: {"replica-below-watermark": 1},
    follower_where_unclean_elections_are_allowed: {},
    follower_where_unclean_elections_are_not_allowed: {"replica-below-watermark": 1},
    follower_of_a_partition_that_moved: {},
    follower_of_a_partition_beside_another_one: {"replica-below-watermark": 1},
    follower_of_a_topic_beside_another_one: {},
    follower_that_has_more_than_others: {},
    follower_at_the_nanosecond_of_a_fault: {},
    follower_just_before_a_fault: {"replica-below-watermark": 1},
    follower_of_a_later_leader_with_all_that_was_replicated: {"replica-below-watermark": 1},
    leader_that_lacks_records_in_its_epoch: {},
    follower_of_a_leader_that_lacks_records: {"leader-below-watermark": 1},
    leader_after_an_election_that_may_be_unclean: {"unclean-truncation": 1},
    leader_where_only_another_topic_allows_unclean_elections: {"leader-below-watermark": 1},
    leader_of_an_election_by_hand: {"unclean-truncation": 1},
    start_above_all_that_may_be_gone: {"unexplained-log-start": 1},
    start_that_retention_explains: {},
    start_that_settings_explain: {},
    start_with_a_size: {},
    start_with_compaction: {},
    start_beside_settings_that_keep_all: {"unexplained-log-start": 1},
    start_after_a_change_of_clocks: {},
    start_of_unknown_settings: {},
    start_that_went_back: {"log-start-regression": 1},
    start_that_went_back_without_a_connection: {},
    start_below_that_of_another_topic: {},
    start_that_went_back_between_overlapping_answers: {},
}
