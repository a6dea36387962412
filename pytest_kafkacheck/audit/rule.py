"""A rule: in which events and with which configurations something is lost or refused, why, and by which source."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.mend import Mend

Effect = Literal["loses", "unknown", "unavailable", "keeps"]
EFFECTS: tuple[Effect, ...] = ("loses", "unknown", "unavailable", "keeps")
"""The worst one first."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """name     unique.
    events   in which it may apply.
    effect   "loses": acknowledged records may be lost. "unavailable": writes, or reads as well, are refused longer
             than an election takes. "unknown": it depends on a fact that is not known. "keeps": neither; the rule
             only adds a note.
    applies  whether it does with a configuration, in the event of that name.
    why      with fields of the configuration in the form ``{c.min_isr}``.
    until    when what is unavailable is available again.
    mends    all of them together prevent it.
    sources  where this is documented, or was measured.
    """

    name: str
    events: tuple[str, ...]
    effect: Effect
    applies: Callable[[Configuration, str], bool]
    why: str
    until: str = ""
    mends: tuple[Mend, ...] = ()
    sources: tuple[str, ...]

    def concerns(self, configuration: Configuration, event: str) -> bool:
        return event in self.events and self.applies(configuration, event)

    def reason(self, configuration: Configuration) -> str:
        return self.why.format(c=configuration)


def worst(effects: Iterable[Effect]) -> Effect:
    return min(effects, key=EFFECTS.index, default="keeps")
