"""Histories in which eligible leader replicas contradict the ISR or the next leader, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.support.stories.followers import created, of_fault
from tests.support.stories.replication import reported, written, written_again


def eligible(
    s: Any, at: int, of: Sequence[int], *, isr: Sequence[int] = (), known: Sequence[int] = (), epoch: int = 4,
    leader: int = -1, **more: Any,
) -> Any:  # fmt: skip
    """Broker 1 named these as eligible, these as in sync, and these as the last known leader."""
    reported(s, 1, node=9, epoch=1) if not s.observations else None
    value = json.dumps({"eligible": list(of), "last_known": list(known)})
    return reported(
        s, at, kind="eligible", epoch=epoch, leader=leader, isr=list(isr), value=value,
        **{"topic": "t", "partition": 0} | more,
    )  # fmt: skip


def demanding(s: Any, least: int, *, topic: str = "t", at: int = 10) -> Any:
    value = {"min.insync.replicas": str(least)}
    return reported(s, at, kind="settings", leader=None, epoch=None, topic=topic, value=json.dumps(value))


def elected(s: Any, at: int, leader: int, *, epoch: int = 5, **more: Any) -> Any:
    return reported(s, at, node=2, leader=leader, epoch=epoch, **more)


def allowing_unclean(s: Any, topic: str = "t") -> Any:
    value = {"unclean.leader.election.enable": "true"}
    return reported(s, 90, kind="settings", leader=None, epoch=None, topic=topic, value=json.dumps(value))


def eligible_and_in_sync(s: Any) -> Any:
    eligible(s, 20, [2, 3], isr=[1, 3], leader=1)
    return written(eligible(s, 40, [2], isr=[1, 3], leader=1))


def eligible_beside_enough_in_sync(s: Any) -> Any:
    """Only as many as the setting demands."""
    demanding(s, 2)
    eligible(s, 20, [3], isr=[1, 2], leader=1)
    return written(eligible(s, 40, [], isr=[1, 2], leader=1))


def eligible_beside_too_few_in_sync(s: Any) -> Any:
    """The setting was higher once. That of another topic counts for nothing."""
    demanding(demanding(demanding(s, 2), 3, at=12), 1, topic="u")
    return written(eligible(s, 20, [3], isr=[1, 2], leader=1))


def eligible_beside_enough_in_sync_after_other_changes(s: Any) -> Any:
    """The same setting stands in other operations and samples, and a fault changed another one."""
    demanding(created(s, min_insync_replicas=2), 2)
    of_fault(s, "configure", 14, {"settings": {"retention.ms": "1"}})
    other = json.dumps({"min.insync.replicas": "9"})
    reported(s, 16, kind="other", leader=None, epoch=None, topic="t", value=other)
    return written_again(eligible(s, 20, [3], isr=[1, 2], leader=1))


def eligible_without_known_settings(s: Any) -> Any:
    demanding(s, 1, topic="u")
    return written(eligible(s, 20, [3], isr=[1, 2], leader=1))


def eligible_after_a_change_of_the_setting(s: Any) -> Any:
    """Its new value may have been missed."""
    demanding(s, 2)
    of_fault(s, "configure", 14, {"settings": {"min.insync.replicas": "3"}})
    return written_again(eligible(s, 20, [3], isr=[1, 2], leader=1))


def leader_that_was_not_eligible(s: Any) -> Any:
    """Its time is that of the first answer."""
    return written(elected(ineligible(s), 60, 3, connection=0))


def leader_that_was_not_eligible_after_other_operations(s: Any) -> Any:
    """The setting stands in that of the topic, and nothing allows unclean elections."""
    created(s, unclean_leader_election_enable="false")
    return written_again(ineligible(of_fault(s, "pause", 30, {})))


def leader_with_the_lowest_id(s: Any) -> Any:
    return written(elected(eligible(s, 20, [2], known=[1]), 40, 0))


def ineligible(s: Any) -> Any:
    return elected(eligible(s, 20, [2], known=[1]), 40, 3)


def leader_that_was_eligible_at_first(s: Any) -> Any:
    """It returned after an unclean stop, before another one was elected."""
    eligible(eligible(s, 20, [2, 3]), 30, [2])
    return written(elected(s, 40, 3))


def leader_that_was_known_last(s: Any) -> Any:
    eligible(eligible(s, 20, [1], known=[1]), 30, [], known=[1])
    return written(elected(s, 40, 1))


def leader_that_was_eligible(s: Any) -> Any:
    """Whom other brokers call the leader in the epoch before, and after, says nothing about it."""
    eligible(eligible(s, 20, [2, 3], known=[1]), 30, [2], known=[1])
    elected(elected(s, 5, 3, epoch=4), 60, 3, epoch=6)
    elected(s, 30, 3, kind="other", topic="t", partition=0)
    return written(elected(s, 40, 2))


def leader_after_an_epoch_that_was_missed(s: Any) -> Any:
    return written(elected(eligible(s, 20, [2], known=[1]), 40, 3, epoch=6))


def leader_after_an_isr_that_was_not_empty(s: Any) -> Any:
    """Where they are off, the last one stays in the ISR. Another partition has a leader all the time."""
    eligible(s, 20, [2], isr=[3])
    eligible(s, 22, [2], isr=[], leader=1, partition=1)
    return written(elected(elected(s, 40, 3), 42, 3, partition=1))


def leader_of_another_partition(s: Any) -> Any:
    return written(elected(eligible(s, 20, [2], known=[1]), 40, 3, partition=1))


def ineligible_leader_named_by_the_same_probe(s: Any) -> Any:
    eligible(s, 20, [2], known=[1])
    reported(s, 30, leader=-1, isr=[])
    return written(eligible(s, 40, [], isr=[3], epoch=5, leader=3))


def ineligible_leader_where_unclean_elections_are_allowed(s: Any) -> Any:
    return written(allowing_unclean(ineligible(s)))


def ineligible_leader_where_another_topic_allows_them(s: Any) -> Any:
    return written(allowing_unclean(ineligible(s), topic="u"))


def ineligible_leader_after_a_forced_election(s: Any) -> Any:
    """Another one follows."""
    ineligible(of_fault(s, "elect", 30, {"election": "unclean"}))
    return written_again(of_fault(s, "elect", 60, {"election": "unclean"}))


def ineligible_leader_before_a_forced_election(s: Any) -> Any:
    return written_again(of_fault(ineligible(s), "elect", 46, {"election": "unclean"}))


def ineligible_leader_when_an_election_was_forced(s: Any) -> Any:
    """At the nanosecond of the answer that named the leader."""
    return written_again(of_fault(ineligible(s), "elect", 45, {"election": "unclean"}))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    eligible_and_in_sync: {"eligible-conflict": 1},
    eligible_beside_enough_in_sync: {"eligible-conflict": 1},
    eligible_beside_too_few_in_sync: {},
    eligible_beside_enough_in_sync_after_other_changes: {"eligible-conflict": 1},
    eligible_without_known_settings: {},
    eligible_after_a_change_of_the_setting: {},
    leader_that_was_not_eligible: {"ineligible-leader": 1},
    leader_that_was_not_eligible_after_other_operations: {"ineligible-leader": 1},
    leader_with_the_lowest_id: {"ineligible-leader": 1},
    leader_that_was_eligible_at_first: {"ineligible-leader": 1},
    leader_that_was_known_last: {},
    leader_that_was_eligible: {},
    leader_after_an_epoch_that_was_missed: {},
    leader_after_an_isr_that_was_not_empty: {},
    leader_of_another_partition: {},
    ineligible_leader_named_by_the_same_probe: {"ineligible-leader": 1},
    ineligible_leader_where_unclean_elections_are_allowed: {},
    ineligible_leader_where_another_topic_allows_them: {"ineligible-leader": 1},
    ineligible_leader_after_a_forced_election: {},
    ineligible_leader_before_a_forced_election: {"ineligible-leader": 1},
    ineligible_leader_when_an_election_was_forced: {},
}
