"""What happens to one configuration in one event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_kafkacheck.audit.events import BROKER_EVENTS
from pytest_kafkacheck.audit.mend import Mend
from pytest_kafkacheck.audit.rule import Effect, Rule


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """event    its name.
    effect   the worst one of the rules that apply; "keeps" where none does.
    why      the reasons for this effect. The event is also the scenario of a matrix that shows it.
    until    when it is available again, for "unavailable".
    also     reasons of other rules, such as writes that are refused besides the loss of others.
    mends    together they prevent the effect; none where no setting does.
    rules    those that give the effect.
    """

    event: str
    effect: Effect
    why: tuple[str, ...] = ()
    until: str = ""
    also: tuple[str, ...] = ()
    mends: tuple[Mend, ...] = ()
    rules: tuple[Rule, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source for rule in self.rules for source in rule.sources))

    def to_json(self) -> dict[str, Any]:
        return {
            "event": self.event,
            "scenario": self.event if self.event in BROKER_EVENTS else None,
            "effect": self.effect,
            "why": list(self.why),
            "until": self.until,
            "also": list(self.also),
            "mends": [{"setting": mend.setting, "cost": mend.cost} for mend in self.mends],
            "rules": [rule.name for rule in self.rules],
            "sources": list(self.sources),
        }
