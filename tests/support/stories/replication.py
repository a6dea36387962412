"""Histories in which leaders lose what was replicated, or brokers contradict each other, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from workloads.history.schema import NEMESIS

ONE = 1 << 40

Sample = dict[str, Any]


def reported(s: Any, at: int, *, node: int = 1, epoch: int = 4, kind: str = "partition", **more: Any) -> Any:
    """The broker, which calls itself the leader, was asked at this time and had answered 5 ns later."""
    of = {"topic": "t", "partition": 0} if kind == "partition" else {}
    s.observations.append(
        {"process": 900, "asked": at, "time": at + 5, "kind": kind, "node": node, "leader": node,
         "leader_epoch": epoch} | of | more
    )  # fmt: skip
    return s


def led(s: Any, at: int, mark: int | None, end: int | None, **more: Any) -> Any:
    """With its high watermark and the end of its log. Its next answer shows that it led all the time."""
    reported(s, at, high_watermark=mark, log_end=end, **more)
    return reported(s, at + 10, **more)


def written(s: Any) -> Any:
    """One record, which is still there at the end."""
    return s.send(ONE, 0, at=(1, 9)).final({0: ONE}, end=1)


def written_again(s: Any) -> Any:
    """One more at the end, which shows that the log recovered from all faults."""
    return s.send(ONE, 0, at=(1, 9)).send(ONE + 1, 1, at=(90, 95)).final({0: ONE, 1: ONE + 1}, end=2)


def fault(s: Any, name: str, at: int) -> Any:
    """It is healed at once: a run with an open fault is unknown."""
    for stage, began in (("inject", at), ("heal", at + 1)):
        value = {"event": f"e{at}", "stage": stage, "target": "1", "nodes": [1], "effective": True}
        s.operation(
            name,
            at=(began, began + 1),
            process=NEMESIS,
            type="info",
            topic=None,
            partition=None,
            value=json.dumps(value),
        )
    return s


def watermark_above_the_end(s: Any) -> Any:
    return written(led(led(led(s, 20, 9, 8), 40, 8, 8), 60, 9, None))


def watermark_of_a_broker_that_was_replaced_before_its_log_ended(s: Any) -> Any:
    """It follows by then, and may have cut its log between the two requests."""
    reported(s, 20, high_watermark=9, log_end=8)
    reported(s, 30, leader=2, epoch=5, high_watermark=9, log_end=8)
    return written(reported(s, 40, leader=2, epoch=5))


def watermark_that_went_back(s: Any) -> Any:
    return written(led(led(led(s, 20, 7, 9), 40, 6, 9), 60, 8, 9))


def watermark_that_went_back_between_overlapping_answers(s: Any) -> Any:
    """The lower one was asked for at the nanosecond at which the higher one arrived."""
    reported(s, 20, high_watermark=7)
    reported(s, 25, high_watermark=6)
    return written(reported(s, 40))


def watermark_that_went_back_at_an_unknown_time(s: Any) -> Any:
    led(s, 20, 7, 9)
    reported(s, 40, high_watermark=6, asked=None)
    return written(reported(s, 60))


def watermark_behind_that_of_the_leader_before(s: Any) -> Any:
    """The new leader has all records, and learns of the high watermark with its next fetches."""
    led(s, 20, 7, 9, isr=[1, 2])
    return written(led(s, 40, 5, 9, node=2, epoch=5, isr=[2]))


def leader_without_what_was_replicated(s: Any) -> Any:
    led(s, 20, 7, 9, isr=[1, 2])
    led(s, 40, 6, 6, node=2, epoch=5, isr=[2])
    return written(led(s, 60, 6, 6, node=1, epoch=6, isr=[1, 2]))


def leader_from_outside_the_isr(s: Any) -> Any:
    led(s, 20, 7, 9, isr=[1])
    return written(led(s, 40, 6, 6, node=2, epoch=5, isr=[2]))


def leader_after_a_moment_without_one(s: Any) -> Any:
    """The last known leader returns after the ISR had been empty, without its last records."""
    led(s, 20, 7, 9, isr=[1])
    reported(s, 40, node=2, leader=-1, epoch=5, isr=[])
    return written(led(s, 60, 6, 6, epoch=6, isr=[1]))


def leader_that_had_rejoined_the_isr(s: Any) -> Any:
    """An earlier sample of the epoch, and one of an earlier epoch, lack it."""
    led(s, 5, 1, 9, epoch=3, isr=[1])
    reported(s, 20, isr=[1])
    led(s, 30, 7, 9, isr=[1, 2])
    return written(led(s, 50, 6, 6, node=2, epoch=5, isr=[2]))


def leader_that_was_in_the_isr_of_its_own_log(s: Any) -> Any:
    """Between its epoch and the one before, the leader of another topic is alone in the ISR."""
    led(s, 20, 7, 9, isr=[1, 2])
    reported(s, 40, epoch=5, isr=[1], topic="u")
    return written(led(s, 60, 6, 6, node=2, epoch=6, isr=[2]))


def leader_outside_the_isr_that_was_known_last(s: Any) -> Any:
    """Later answers do not say who is in sync, or are about something else."""
    reported(s, 20, high_watermark=7, isr=[1])
    reported(s, 30, kind="other", topic="t", partition=0, isr=[1, 2])
    reported(s, 40)
    return written(led(s, 60, 6, 6, node=2, epoch=5, isr=[2]))


def leader_of_an_unknown_isr(s: Any) -> Any:
    return written(led(led(s, 20, 7, 9), 40, 6, 6, node=2, epoch=5))


def leader_that_was_asked_when_the_answer_before_it_arrived(s: Any) -> Any:
    reported(s, 20, high_watermark=7)
    led(s, 25, 6, 6, node=2, epoch=5)
    return written(reported(s, 27))


def leader_after_the_first_of_two_losses(s: Any) -> Any:
    led(s, 20, 7, 9, isr=[1])
    fault(fault(s, "wipe", 30), "wipe", 80)
    return written_again(led(s, 40, 0, 0, epoch=5, isr=[1]))


def leader_after_the_loss_of_a_disk(s: Any) -> Any:
    led(s, 20, 7, 9, isr=[1])
    fault(s, "wipe", 42)
    return written_again(led(s, 40, 0, 0, epoch=5, isr=[1]))


def leader_before_the_loss_of_a_disk(s: Any) -> Any:
    led(s, 20, 7, 9, isr=[1])
    fault(s, "wipe", 46)
    return written(led(s, 40, 0, 0, epoch=5, isr=[1]))


def leader_at_the_loss_of_a_disk(s: Any) -> Any:
    """The fault began at the nanosecond of the answer."""
    led(s, 20, 7, 9, isr=[1])
    fault(s, "wipe", 45)
    return written_again(led(s, 40, 0, 0, epoch=5, isr=[1]))


def leader_after_a_restart(s: Any) -> Any:
    led(s, 20, 7, 9, isr=[1])
    fault(s, "restart", 30)
    return written(led(s, 40, 0, 0, epoch=5, isr=[1]))


def leader_with_all_that_was_replicated(s: Any) -> Any:
    led(s, 20, 7, 9, isr=[1, 2])
    led(s, 40, None, None, node=2, epoch=5, isr=[2])
    return written(led(s, 60, 7, 7, node=1, epoch=6, isr=[1, 2]))


def leaders_that_lose_records_one_after_another(s: Any) -> Any:
    """The third one lacks some of what the second one had kept, and the fourth one nothing of that."""
    led(s, 20, 9, 9, isr=[1, 2])
    led(s, 40, 2, 6, node=2, epoch=5, isr=[1, 2])
    led(s, 60, 2, 5, epoch=6, isr=[1, 2])
    return written(led(s, 80, 5, 5, node=2, epoch=7, isr=[1, 2]))


def watermark_of_a_leader_that_was_replaced_long_ago(s: Any) -> Any:
    """It goes on by itself, and what it reports after its successor was asked is not compared."""
    led(s, 20, 7, 9, isr=[1, 2])
    led(s, 40, 7, 7, node=2, epoch=5, isr=[1, 2])
    reported(s, 45, high_watermark=9)
    reported(s, 70)
    return written(led(s, 80, 8, 8, node=2, epoch=6, isr=[1, 2]))


def end_that_grew_after_the_first_answer(s: Any) -> Any:
    """The first answer counts: later, new records hide what is missing."""
    led(s, 20, 7, 9, isr=[1, 2])
    led(s, 40, None, None, node=2, epoch=5, isr=[1, 2])
    led(s, 60, 6, 6, node=2, epoch=5, isr=[1, 2])
    return written(led(s, 80, 8, 8, node=2, epoch=5, isr=[1, 2]))


def two_leaders_in_one_epoch(s: Any) -> Any:
    reported(reported(s, 20), 40, node=2)
    reported(reported(s, 60), 80, node=3)
    return written(reported(reported(s, 20, epoch=5), 40, node=2, leader=1, epoch=5))


def leaders_with_the_lowest_ids(s: Any) -> Any:
    return written(reported(reported(s, 20, node=0), 40))


def no_leader_in_the_epoch_of_one(s: Any) -> Any:
    """A broker does not name a leader that it cannot reach."""
    return written(reported(reported(s, 20), 40, node=2, leader=-1))


def leaders_of_two_partitions(s: Any) -> Any:
    return written(reported(reported(s, 20), 40, node=2, partition=1))


def two_controllers_in_one_epoch(s: Any) -> Any:
    reported(reported(reported(s, 10), 20, kind="quorum"), 40, kind="quorum", node=2)
    return written(reported(reported(s, 60, epoch=5, kind="quorum"), 80, kind="quorum", node=1, epoch=5))


def controlled(s: Any, at: int, leader: int, epoch: int, connection: int | None = 0) -> Any:
    """ZooKeeper had this controller."""
    reported(s, 1) if not s.observations else None
    return reported(s, at, kind="controller", node=None, leader=leader, epoch=epoch, connection=connection)


def two_controllers_in_one_epoch_of_zookeeper(s: Any) -> Any:
    """Before the second one, the first one had lost its session. Brokers report no epoch with the controller."""
    controlled(controlled(controlled(s, 20, 1, 4), 40, -1, 4), 60, 2, 4)
    controlled(controlled(s, 80, 2, 5), 100, -1, 5)
    for at, leader in ((110, 1), (120, 2)):
        reported(s, at, kind="controller_view", leader=leader, epoch=None)
    return written(s)


def controllers_of_a_quorum_and_of_zookeeper(s: Any) -> Any:
    """A migration: both count their epochs on their own."""
    return written(controlled(reported(s, 20, kind="quorum"), 40, 2, 4))


def controller_epoch_that_went_back(s: Any) -> Any:
    return written(controlled(controlled(controlled(s, 20, 1, 5), 40, 2, 4), 60, 1, 5))


def controller_epoch_that_went_back_between_sessions(s: Any) -> Any:
    """ZooKeeper does not order the reads of two sessions. Answers that overlap have no order either."""
    controlled(controlled(s, 20, 1, 5), 40, 2, 4, connection=1)
    controlled(controlled(s, 60, 1, 7, connection=2), 65, 2, 6, connection=2)
    return written(controlled(controlled(s, 80, 1, 9, connection=None), 100, 2, 8, connection=None))


def quorum_epoch_that_went_back(s: Any) -> Any:
    """The broker asked a controller that was replaced."""
    reported(s, 20, kind="quorum", leader=1, epoch=5, connection=0)
    return written(reported(s, 40, kind="quorum", leader=2, epoch=4, connection=0))


def a_controller_and_a_leader(s: Any) -> Any:
    return written(reported(reported(s, 20, kind="quorum"), 40, node=2))


def leader_that_is_not_in_sync(s: Any) -> Any:
    return written(reported(reported(s, 20, isr=[2]), 40, isr=[1, 2], replicas=[2, 1]))


def replica_in_sync_that_is_none(s: Any) -> Any:
    return written(reported(s, 20, isr=[1, 2], replicas=[1, 3]))


def empty_isr_without_a_leader(s: Any) -> Any:
    reported(s, 20, leader=-1, isr=[], replicas=[1, 3])
    return written(reported(s, 40, leader=-1, isr=[2], replicas=[1, 3], epoch=5))


def epoch_that_went_back(s: Any) -> Any:
    reported(s, 20, epoch=5, connection=3)
    return written(reported(s, 40, epoch=4, connection=3))


def epoch_that_stayed(s: Any) -> Any:
    """Another probe named a higher one."""
    reported(s, 20, epoch=5, connection=3)
    reported(s, 30, epoch=9, connection=3, kind="other", topic="t", partition=0)
    return written(reported(s, 40, epoch=5, connection=3))


def epoch_that_went_back_to_the_first(s: Any) -> Any:
    reported(reported(s, 5, epoch=3, connection=3), 20, epoch=5, connection=3)
    return written(reported(s, 40, epoch=3, connection=3))


def epoch_that_went_back_over_another_connection(s: Any) -> Any:
    """The broker may have been started again between the two. Without a number, nothing is known."""
    reported(reported(s, 20, epoch=5, connection=3), 40, epoch=4, connection=4)
    reported(s, 60, epoch=5, connection=None)
    return written(reported(s, 80, epoch=4, connection=None))


def epoch_that_went_back_between_overlapping_answers(s: Any) -> Any:
    reported(s, 20, epoch=5, connection=3)
    return written(reported(s, 25, epoch=4, connection=3))


def older_epoch_of_another_broker_and_log(s: Any) -> Any:
    reported(s, 20, epoch=5, connection=3)
    reported(s, 40, node=2, leader=1, epoch=4, connection=3)
    reported(s, 60, epoch=4, connection=3, partition=1)
    return written(reported(s, 80, epoch=4, connection=3, topic="u"))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    watermark_above_the_end: {"watermark-above-end": 1, "watermark-regression": 1},
    watermark_of_a_broker_that_was_replaced_before_its_log_ended: {},
    watermark_that_went_back: {"watermark-regression": 1},
    watermark_that_went_back_between_overlapping_answers: {},
    watermark_that_went_back_at_an_unknown_time: {},
    watermark_behind_that_of_the_leader_before: {},
    leader_without_what_was_replicated: {"leader-below-watermark": 1},
    leader_from_outside_the_isr: {"unclean-truncation": 1},
    leader_after_a_moment_without_one: {"unclean-truncation": 1},
    leader_that_had_rejoined_the_isr: {"leader-below-watermark": 1},
    leader_that_was_in_the_isr_of_its_own_log: {"leader-below-watermark": 1},
    leader_outside_the_isr_that_was_known_last: {"unclean-truncation": 1},
    leader_of_an_unknown_isr: {"leader-below-watermark": 1},
    leader_that_was_asked_when_the_answer_before_it_arrived: {},
    leader_after_the_first_of_two_losses: {"unclean-truncation": 1},
    leader_after_the_loss_of_a_disk: {"unclean-truncation": 1},
    leader_at_the_loss_of_a_disk: {"unclean-truncation": 1},
    leader_before_the_loss_of_a_disk: {"leader-below-watermark": 1},
    leader_after_a_restart: {"leader-below-watermark": 1},
    leader_with_all_that_was_replicated: {},
    leaders_that_lose_records_one_after_another: {"leader-below-watermark": 2},
    watermark_of_a_leader_that_was_replaced_long_ago: {},
    end_that_grew_after_the_first_answer: {"leader-below-watermark": 1},
    two_leaders_in_one_epoch: {"two-leaders-in-epoch": 1},
    leaders_with_the_lowest_ids: {"two-leaders-in-epoch": 1},
    no_leader_in_the_epoch_of_one: {},
    leaders_of_two_partitions: {},
    two_controllers_in_one_epoch: {"controller-conflict": 1},
    two_controllers_in_one_epoch_of_zookeeper: {"controller-conflict": 1},
    controllers_of_a_quorum_and_of_zookeeper: {},
    controller_epoch_that_went_back: {"controller-regression": 1},
    controller_epoch_that_went_back_between_sessions: {},
    quorum_epoch_that_went_back: {},
    a_controller_and_a_leader: {},
    leader_that_is_not_in_sync: {"leader-outside-isr": 1},
    replica_in_sync_that_is_none: {"leader-outside-isr": 1},
    empty_isr_without_a_leader: {},
    epoch_that_went_back: {"metadata-regression": 1},
    epoch_that_stayed: {},
    epoch_that_went_back_to_the_first: {"metadata-regression": 1},
    epoch_that_went_back_over_another_connection: {},
    epoch_that_went_back_between_overlapping_answers: {},
    older_epoch_of_another_broker_and_log: {},
}
