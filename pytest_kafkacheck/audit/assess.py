"""Applies the rules, found by the folder in which they lie, to a configuration."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.events import EVENTS
from pytest_kafkacheck.audit.rule import Effect, Mend, Outcome, Rule, worst


def assess(configuration: Configuration, events: Iterable[str] = EVENTS) -> tuple[Outcome, ...]:
    """The outcome of each event, in the order of `events`."""
    return tuple(outcome(configuration, event) for event in events)


def outcome(configuration: Configuration, event: str) -> Outcome:
    """What happens in the event of that name."""
    rules = [rule for rule in all_rules() if rule.concerns(configuration, event)]
    effect = worst(rule.effect for rule in rules)
    deciding = [rule for rule in rules if rule.effect == effect] if effect != "keeps" else []
    return Outcome(
        event=event,
        effect=effect,
        why=tuple(rule.reason(configuration) for rule in deciding) or (EVENTS[event].kept,),
        until=next((rule.until for rule in deciding if rule.until), ""),
        also=tuple(rule.reason(configuration) for rule in rules if rule not in deciding),
        mends=_mends(configuration, event, deciding),
        rules=tuple(deciding),
    )


def _mends(configuration: Configuration, event: str, deciding: list[Rule]) -> tuple[Mend, ...]:
    """Settings that together prevent the effect, none of them superfluous; () where the effect would stay."""
    effect = worst(rule.effect for rule in deciding)
    found: list[Mend] = []
    while deciding:
        changed = _with(configuration, found)
        choices = dict.fromkeys(mend for rule in deciding for mend in rule.mends if mend not in found)
        changing = [mend for mend in choices if mend.apply(changed) != changed]
        if not changing:
            return ()
        # One at a time: the next one may not be needed then.
        found.append(changing[0])
        deciding = _giving(effect, _with(configuration, found), event)
    for mend in list(found):
        others = [each for each in found if each is not mend]
        if others and not _giving(effect, _with(configuration, others), event):
            found = others
    return tuple(found)


def _with(configuration: Configuration, mends: Iterable[Mend]) -> Configuration:
    for mend in mends:
        configuration = mend.apply(configuration)
    return configuration


def _giving(effect: Effect, configuration: Configuration, event: str) -> list[Rule]:
    return [rule for rule in all_rules() if rule.effect == effect and rule.concerns(configuration, event)]


PACKAGE = "pytest_kafkacheck.audit.rules"


@cache
def all_rules() -> tuple[Rule, ...]:
    """In a fixed order: by file, within it as written."""
    modules = sorted(found.name for found in iter_modules(import_module(PACKAGE).__path__))
    return tuple(rule for name in modules for rule in import_module(f"{PACKAGE}.{name}").RULES)
