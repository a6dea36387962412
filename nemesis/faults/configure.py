"""Configure: settings of a topic are changed for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext
from nemesis.steps.configured import Configures


@dataclass(frozen=True, kw_only=True)
class Configure(Configures):
    """settings: of the topic, such as {"min.insync.replicas": 1}. Raises ValueError for none."""

    name = "configure"
    settings_of = "topic"
    draw = Draw(
        options=tuple(
            {"settings": settings}
            for settings in (
                {"segment.ms": 1000},
                {"flush.messages": 1},
                {"min.insync.replicas": 3},
                {"retention.ms": 3000, "segment.ms": 1000},
            )
        )
    )
    target_family = "topic"
    takes_all_nodes = True
    needs_all_nodes = True

    __hash__ = Configures.__hash__

    def read(self, context: FaultContext) -> Mapping[str, str]:
        topic, _ = context.log
        return context.cluster.kafka.topic_config(topic)

    def write(self, context: FaultContext, settings: Mapping[str, str | None]) -> None:
        topic, _ = context.log
        context.cluster.kafka.configure_topic(topic, settings)


def configure(
    settings: Mapping[str, Any],
    target: str = "topic",
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
) -> Event:
    """Settings of a topic, such as ``{"min.insync.replicas": 1}``, are changed for a while."""
    return Event.of(Configure(settings=settings), target, at=at, after=after, lasting=lasting)
