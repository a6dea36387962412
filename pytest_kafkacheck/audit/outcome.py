"""What happens to one configuration in one event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_kafkacheck.audit.events import EVENTS
from pytest_kafkacheck.audit.mend import Mend
from pytest_kafkacheck.audit.rule import Effect, Rule


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """event    its name.
    effect   the worst one of the rules that apply; "keeps" where none does.
    why      the reasons for this effect. The event is also the scenario of a matrix that shows it,
             unless it names a claim.
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
            "scenario": self.event if EVENTS[self.event].claim is None else None,
            "claim": EVENTS[self.event].claim,
            "effect": self.effect,
            "why": list(self.why),
            "until": self.until,
            "also": list(self.also),
            "mends": [{"setting": mend.setting, "cost": mend.cost} for mend in self.mends],
            "rules": [rule.name for rule in self.rules],
            "sources": list(self.sources),
        }
