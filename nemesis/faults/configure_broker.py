"""Configure broker: settings that a broker can change while it runs are changed for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext
from nemesis.steps.configured import Configures
from nemesis.targets import Groups, Target, brokers_only
from nemesis.topology import Topology


@dataclass(frozen=True, kw_only=True)
class ConfigureBroker(Configures):
    """settings: that a broker can change while it runs, such as {"log.cleaner.threads": 2}."""

    name = "configure-broker"
    settings_of = "broker"

    __hash__ = Configures.__hash__

    def check(self, topology: Topology, target: Target | Groups) -> None:
        brokers_only(topology, target, "are no brokers")

    def read(self, context: FaultContext) -> Mapping[str, str]:
        return context.cluster.kafka.broker_config(context.node_id)

    def write(self, context: FaultContext, settings: Mapping[str, str | None]) -> None:
        context.cluster.kafka.configure_broker(context.node_id, settings)


def configure_broker(
    settings: Mapping[str, Any],
    target: str | int,
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
) -> Event:
    """Settings of a running broker, such as ``{"log.cleaner.threads": 2}``, are changed for a while."""
    return Event.of(ConfigureBroker(settings=settings), target, at=at, after=after, lasting=lasting)
