"""How a member of kafka-python joins its group."""

from __future__ import annotations

from typing import Any


def go_on_joining(consumer: Any) -> None:
    """Let the next poll of a KafkaConsumer wait for the join that the one before left under way.

    Where new partitions were the reason to join, the library forgets it with the answer of the coordinator: if a poll
    ended at that moment, the next ones would not join, and nobody would send heartbeats.
    """
    coordinator = consumer._coordinator
    if coordinator._join_task is not None:
        coordinator.request_rejoin()
