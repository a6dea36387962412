"""Tables of docs/scenarios.md, from the events and the rules of the audit and the scenarios of a matrix."""

from __future__ import annotations

import re

from _blocks import table

from pytest_kafkacheck.audit.assess import all_rules
from pytest_kafkacheck.audit.events import EVENTS
from pytest_kafkacheck.audit.rule import EFFECTS
from pytest_kafkacheck.matrix.scenarios import Layout, Scenario, all_scenarios

SHOWN = Layout(replication=3, brokers=3)
"""Three replicas on three brokers."""


def blocks() -> dict[str, str]:
    """Name of a generated block to its Markdown."""
    return {"audit: events": _events(), "audit: rules": _rules(), "matrix: scenarios": _scenarios()}


def _events() -> str:
    rows = [[f"`{each.name}`", each.what, each.kept] for each in EVENTS.values()]
    return table(["event", "what happens", "kept, where no rule applies, because"], rows)


def _rules() -> str:
    ordered = sorted(all_rules(), key=lambda rule: EFFECTS.index(rule.effect))
    return table(
        ["rule", "in", "effect", "why", "prevented by, together", "sources"],
        [
            [
                f"`{rule.name}`",
                ", ".join(f"`{event}`" for event in rule.events),
                {"keeps": "none: a note"}.get(rule.effect, rule.effect),
                re.sub(r"\{c\.\w+\}", "*n*", rule.why),
                "; ".join(mend.setting for mend in rule.mends) or "–",
                "; ".join(rule.sources),
            ]
            for rule in ordered
        ],
    )


def _scenarios() -> str:
    return table(
        ["scenario", "what happens", "faults, with 3 replicas", "needs"],
        [[f"`{each.name}`", each.what, _faults(each), _needs(each)] for each in all_scenarios().values()],
    )


def _faults(scenario: Scenario) -> str:
    events = scenario.faults(SHOWN)
    return (
        "; ".join(
            f"{event.at:g} s: `{event.fault.name}` {str(event.target).replace('|', 'from')} for {event.lasting:g} s"
            for event in events
        )
        or "none"
    )


def _needs(scenario: Scenario) -> str:
    needs = [
        *(["disks of their own"] if scenario.disks else []),
        *(["a separate controller"] if scenario.controllers else []),
        *(["the cluster alone"] if scenario.alone else []),
    ]
    return ", ".join(needs) or "–"
