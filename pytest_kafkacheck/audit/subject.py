"""What an audit speaks of: a topic and its clients, a group, or settings that somebody named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from pytest_kafkacheck.audit.assess import outcome
from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.events import EVENTS
from pytest_kafkacheck.audit.outcome import Outcome
from pytest_kafkacheck.audit.rule import Effect
from pytest_kafkacheck.audit.setting_names import NAMES, value_text


@dataclass(frozen=True, kw_only=True)
class Subject:
    """name      such as "topic orders".
    settings  fields of a `Configuration`. Those that are left out have Kafka's defaults.
    origins   where a setting comes from, by field, such as "topic" or "--acks"; those without are assumed.
    unknown   fields that could not be read, with all values that they may have.
    events    names of those that concern it.
    notes     sentences about it.
    """

    name: str
    settings: Mapping[str, Any]
    origins: Mapping[str, str] = field(default_factory=dict)
    unknown: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    events: tuple[str, ...] = tuple(EVENTS)
    notes: tuple[str, ...] = ()

    @property
    def configuration(self) -> Configuration:
        """With the first value of each unknown setting."""
        return next(self._possible())[1]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Where an unknown setting decides, the effect is unknown; the reason says which value has which effect."""
        return tuple(self._outcome(event) for event in self.events)

    def _possible(self) -> Iterator[tuple[dict[str, Any], Configuration]]:
        for values in product(*self.unknown.values()):
            chosen = dict(zip(self.unknown, values, strict=True))
            yield chosen, Configuration(**self.settings, **chosen)

    def _outcome(self, event: str) -> Outcome:
        found = [(chosen, outcome(configuration, event)) for chosen, configuration in self._possible()]
        effects = {each.effect for _, each in found}
        if len(effects) == 1:
            return found[0][1]
        return Outcome(event=event, effect="unknown", why=(self._dependence(found),))

    def _dependence(self, found: list[tuple[dict[str, Any], Outcome]]) -> str:
        """Names only the settings that make a difference."""
        deciding = [name for name in self.unknown if _decides(name, found)]
        by_effect: dict[Effect, list[str]] = {}
        for chosen, each in found:
            text = ", ".join(f"{NAMES[name]}={value_text(name, chosen[name])}" for name in deciding)
            by_effect.setdefault(each.effect, []).append(text)
        parts = [f"{effect} with {' or '.join(dict.fromkeys(texts))}" for effect, texts in by_effect.items()]
        return f"it depends on {' and '.join(NAMES[name] for name in deciding)}: {'; '.join(parts)}"


def _decides(name: str, found: list[tuple[dict[str, Any], Outcome]]) -> bool:
    """Whether two combinations that differ only in this setting have different effects."""
    effects: dict[tuple[tuple[str, Any], ...], set[Effect]] = {}
    for chosen, each in found:
        others = tuple(sorted((key, str(value)) for key, value in chosen.items() if key != name))
        effects.setdefault(others, set()).add(each.effect)
    return any(len(each) > 1 for each in effects.values())
