"""Faults that change settings while clients work, and restore them at the end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nemesis.fault import Fault, FaultContext, Proof, SettingsOf
from nemesis.validation import finite

LIMIT = 15.0
"""Seconds for Kafka to report the new settings."""


@dataclass(frozen=True, kw_only=True)
class Configures(Fault):
    """settings: by name, one or more.

    settings_of  what they are settings of.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)

    settings_of: ClassVar[SettingsOf]

    family = "Kafka"
    proved_by = "Kafka reports the new settings"
    end_proved_by = "Kafka reports the former settings"
    takes_nodes_down = False
    restores_state = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", _as_kafka_writes_them(self.name, self.settings))

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.settings.items())))

    def options(self) -> dict[str, Any]:
        return {"settings": dict(self.settings)}

    @property
    def removes_records(self) -> bool:
        return any(each in name for name in self.settings for each in ("retention", "cleanup.policy"))

    def kafka_settings(self) -> tuple[SettingsOf, Mapping[str, str]]:
        return self.settings_of, self.settings

    @abstractmethod
    def read(self, context: FaultContext) -> Mapping[str, str]:
        """The settings that Kafka reports now."""

    @abstractmethod
    def write(self, context: FaultContext, settings: Mapping[str, str | None]) -> None:
        """Set them; None restores the default."""

    def inject(self, context: FaultContext) -> None:
        before = self.read(context)
        context.notes["before"] = {name: before.get(name) for name in self.settings}
        self.write(context, self.settings)

    def verify_injected(self, context: FaultContext) -> Proof:
        return self._verify(context, self.settings)

    def heal(self, context: FaultContext) -> None:
        if "before" in context.notes:
            self.write(context, context.notes["before"])

    def verify_healed(self, context: FaultContext) -> Proof:
        return self._verify(context, context.notes.get("before", {}))

    def _verify(self, context: FaultContext, wanted: Mapping[str, str | None]) -> Proof:
        def now() -> dict[str, str | None]:
            settings = self.read(context)
            return {name: settings.get(name) for name in wanted}

        is_set = context.wait_until(lambda: now() == dict(wanted), LIMIT)
        return Proof(is_set, {"settings": now()})


def _as_kafka_writes_them(fault: str, settings: Mapping[str, Any]) -> dict[str, str]:
    is_by_name = isinstance(settings, Mapping) and all(isinstance(name, str) for name in settings)
    if not is_by_name or not settings:
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
