"""Configuration changed while clients work, and back again at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.targets import Family, Groups, Target
from nemesis.topology import Topology
from nemesis.validation import brokers_only, finite

LIMIT = 15.0
"""Seconds for Kafka to tell the new settings."""


@dataclass(frozen=True, kw_only=True)
class Configure(Fault):
    """settings of the workload's own topic, such as {"min.insync.replicas": 1}. Raises ValueError for none."""

    settings: Mapping[str, Any] = field(default_factory=dict)

    name: ClassVar[str] = "configure"
    puts_back: ClassVar[bool] = True
    strikes: ClassVar[Family] = "topic"
    together: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", _spelt("configure", self.settings))

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.settings.items())))

    def options(self) -> dict[str, Any]:
        return {"settings": dict(self.settings)}

    def kafka_settings(self) -> tuple[Literal["topic", "broker"], Mapping[str, str]]:
        return "topic", self.settings

    def inject(self, context: FaultContext) -> None:
        topic, _ = context.log
        before = context.cluster.kafka.topic_config(topic)
        context.notes["before"] = {name: before.get(name) for name in self.settings}
        context.cluster.kafka.configure_topic(topic, self.settings)

    def verify_injected(self, context: FaultContext) -> Proof:
        topic, _ = context.log
        return _set(context, lambda: context.cluster.kafka.topic_config(topic), self.settings)

    def heal(self, context: FaultContext) -> None:
        topic, _ = context.log
        if "before" in context.notes:
            context.cluster.kafka.configure_topic(topic, context.notes["before"])

    def verify_healed(self, context: FaultContext) -> Proof:
        topic, _ = context.log
        return _set(
            context, lambda: context.cluster.kafka.topic_config(topic), context.notes.get("before", {})
        )


@dataclass(frozen=True, kw_only=True)
class ConfigureBroker(Fault):
    """settings that a broker can change while it runs, such as {"log.cleaner.threads": 2}."""

    settings: Mapping[str, Any] = field(default_factory=dict)

    name: ClassVar[str] = "configure-broker"
    puts_back: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", _spelt("configure-broker", self.settings))

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.settings.items())))

    def options(self) -> dict[str, Any]:
        return {"settings": dict(self.settings)}

    def kafka_settings(self) -> tuple[Literal["topic", "broker"], Mapping[str, str]]:
        return "broker", self.settings

    def check(self, topology: Topology, target: Target | Groups) -> None:
        brokers_only(topology, target, "are no brokers")

    def inject(self, context: FaultContext) -> None:
        before = context.cluster.kafka.broker_config(context.node)
        context.notes["before"] = {name: before.get(name) for name in self.settings}
        context.cluster.kafka.configure_broker(context.node, self.settings)

    def verify_injected(self, context: FaultContext) -> Proof:
        return _set(context, lambda: context.cluster.kafka.broker_config(context.node), self.settings)

    def heal(self, context: FaultContext) -> None:
        if "before" in context.notes:
            context.cluster.kafka.configure_broker(context.node, context.notes["before"])

    def verify_healed(self, context: FaultContext) -> Proof:
        wanted = context.notes.get("before", {})
        return _set(context, lambda: context.cluster.kafka.broker_config(context.node), wanted)


def _set(context: FaultContext, told: Any, wanted: Mapping[str, str | None]) -> Proof:
    """Whether what is told has all that is wanted."""
    fine = context.until(lambda: {name: told().get(name) for name in wanted} == dict(wanted), LIMIT)
    now = told()
    return Proof(fine, {"settings": {name: now.get(name) for name in wanted}})


def _spelt(fault: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """As Kafka spells them."""
    if (
        not isinstance(settings, Mapping)
        or not settings
        or not all(isinstance(name, str) for name in settings)
    ):
        raise ValueError(
            f"{fault} settings={settings!r}: expected settings by name, as {{'min.insync.replicas': 1}}"
        )
    for name, value in settings.items():
        if not isinstance(value, (str, bool)) and not finite(value):
            raise ValueError(f"{fault} settings[{name!r}]={value!r}: expected text, a number, True or False")
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in sorted(settings.items())
    }
