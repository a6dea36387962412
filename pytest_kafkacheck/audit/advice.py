"""The smallest set of changes after which the fewest events lose something, and what that leaves.

A change is one of settings. An upgrade is none, and `flush.messages=1` is not proposed: every append would wait for
the disk. What only these prevent is named with what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from pytest_kafkacheck.audit.assess import all_rules
from pytest_kafkacheck.audit.configuration import ELR_KNOWN, NAMES, Configuration, value_text
from pytest_kafkacheck.audit.report import Report, Subject
from pytest_kafkacheck.audit.rule import (
    ACKS_ALL,
    CLEAN_ELECTIONS,
    COMMIT_AFTER,
    CURRENT_PROTOCOL,
    DISKS,
    ELIGIBLE_REPLICAS,
    MIN_ISR,
    RACKS,
    REPLICAS,
    RESET_EARLIEST,
    SYNC,
    THREE_VOTERS,
    Mend,
)

CHEAPEST_FIRST = (
    RESET_EARLIEST, COMMIT_AFTER, CLEAN_ELECTIONS, ACKS_ALL, MIN_ISR, REPLICAS, DISKS, THREE_VOTERS, RACKS,
    CURRENT_PROTOCOL, ELIGIBLE_REPLICAS,
)  # fmt: skip
"""Of two sets of equal size that prevent as much, that with the earlier ones is proposed."""

SET_IN_KAFKA = {
    "replication": "", "min_isr": "", "unclean": "", "elr": "", "protocol": "", "acks": "producer",
    "auto_offset_reset": "consumer",
}  # fmt: skip
"""Fields that are settings with a value, and of whom; "" is the scope of the subject."""

IGNORED = ("version", "mode", "idempotence")
"""Fields that follow from others."""


COSTS = {
    "replication": "three times the disk and the traffic between brokers of one replica, and a broker for each",
    "min_isr": "writes with acks=all are refused while fewer than 2 replicas are in sync",
}
"""Of fields that a mend sets together with others."""

FEATURE_COST = "none while it runs; kafka-features.sh upgrade sets it, and no file does"

SHORT = {
    id(SYNC): "only flush.messages=1 prevents it, with which every append waits for the disk",
    id(ELIGIBLE_REPLICAS): "only eligible leader replicas prevent it: an upgrade to Kafka 4.1",
}
"""What is not proposed."""


@dataclass(frozen=True)
class Change:
    """scopes: whose setting it is. field, name, value: None for what is no setting of a file; `text` says it then."""

    text: str
    cost: str
    scopes: tuple[str, ...] = ()
    field: str | None = None
    name: str | None = None
    value: str | None = None

    def __str__(self) -> str:
        return self.text + (f" ({', '.join(self.scopes)})" if self.scopes else "")


@dataclass(frozen=True)
class Advice:
    """events: how many there are. before, after: names of those that lose something, by what prevents the rest.
    unknown:
    names of those of which nothing is known."""

    changes: tuple[Change, ...]
    events: int
    before: tuple[str, ...]
    after: dict[str, str]
    unknown: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(
            [self._first(), *([f"Not known: {', '.join(self.unknown)}."] if self.unknown else [])]
        )

    def _first(self) -> str:
        if not self.before:
            return f"No event of {self.events} is known to lose anything."
        left = [f"{event} ({prevents})" if prevents else event for event, prevents in self.after.items()]
        number = f"{len(left) or 'no'} of {self.events} events {'loses' if len(left) == 1 else 'lose'}"
        named = f", {'this' if len(left) == 1 else 'these'}: {', '.join(left)}" if left else ""
        if not self.changes:
            return f"No setting prevents more: {number}{named}."
        return f"Set {', '.join(map(str, self.changes))}: then {number}{named}."

    def to_json(self) -> dict[str, Any]:
        return {
            "line": str(self),
            "changes": [
                {"setting": each.text, "scopes": list(each.scopes), "cost": each.cost}
                for each in self.changes
            ],
            "events": self.events,
            "loses_before": list(self.before),
            "loses_after": list(self.after),
            "unknown": list(self.unknown),
        }


def advise(report: Report) -> Advice:
    """For all subjects together: they share brokers and clients."""
    every = list(dict.fromkeys(each.event for judged in report.judged for each in judged.outcomes))
    possible = [(subject, [c for _, c in subject.possible()]) for subject in report.subjects]
    before = _losing(possible, every, ())
    mends = _candidates(possible, every, ())
    # What one change leaves may need another one, which nothing proposed before.
    while (further := _candidates(possible, every, mends)) != mends:
        mends = further
    best = len(_losing(possible, every, mends))
    chosen = next(
        found
        for size in range(len(mends) + 1)
        for found in combinations(mends, size)
        if len(_losing(possible, every, found)) == best
    )
    after = _losing(possible, every, chosen)
    outcomes = [each for judged in report.judged for each in judged.outcomes]
    unknown = dict.fromkeys(
        each.event for each in outcomes if each.effect == "unknown" and each.event not in before
    )
    return Advice(
        changes=tuple(_changes(possible, chosen)),
        events=len(every),
        before=tuple(before),
        after={event: _prevention(possible, event, chosen) for event in after},
        unknown=tuple(unknown),
    )


Possible = list[tuple[Subject, list[Configuration]]]
"""Subjects, each with all configurations that it may have."""


def _applied(configuration: Configuration, mends: Iterable[Mend]) -> Configuration:
    for mend in mends:
        configuration = mend.apply(configuration)
    return configuration


LOSES = tuple(rule for rule in all_rules() if rule.effect == "loses")


def _losing(possible: Possible, events: Sequence[str], mends: Sequence[Mend]) -> list[str]:
    """Those of the events in which something is lost, with these changes."""
    changed = [(subject, [_applied(each, mends) for each in those]) for subject, those in possible]
    return [
        event
        for event in events
        if any(
            rule.concerns(each, event)
            for subject, those in changed
            if event in subject.events
            for each in those
            for rule in LOSES
        )
    ]


def _candidates(possible: Possible, events: Sequence[str], known: Sequence[Mend]) -> list[Mend]:
    """Those known, and those that prevent what they leave."""
    found = {id(mend) for mend in known} | {
        id(mend)
        for subject, those in possible
        for event in events
        if event in subject.events
        for each in (_applied(one, known) for one in those)
        for rule in LOSES
        if rule.concerns(each, event)
        for mend in rule.mends
        if not (mend is ELIGIBLE_REPLICAS and (each.number < ELR_KNOWN or each.mode != "kraft"))
    }
    return [mend for mend in CHEAPEST_FIRST if id(mend) in found]


def _prevention(possible: Possible, event: str, mends: Sequence[Mend]) -> str:
    """What is not proposed, and would prevent it."""
    for mend in (SYNC, ELIGIBLE_REPLICAS):
        if not _losing(possible, [event], [*mends, mend]):
            return SHORT[id(mend)]
    return ""


def _changes(possible: Possible, mends: Sequence[Mend]) -> list[Change]:
    """What the mends set, each setting once, with all whose setting it is."""
    found: dict[tuple[str, str], Change] = {}
    for subject, those in possible:
        for before in those:
            for mend in mends:
                after = mend.apply(before)
                for change in _differences(subject, before, after, mend):
                    key = (change.text, change.cost)
                    scopes = (*found[key].scopes, *change.scopes) if key in found else change.scopes
                    found[key] = replace(change, scopes=tuple(dict.fromkeys(scopes)))
                before = after
    merged: dict[str, Change] = {}
    for change in found.values():
        if change.text in merged:
            known = merged[change.text]
            change = replace(known, scopes=tuple(dict.fromkeys([*known.scopes, *change.scopes])))
        merged[change.text] = change
    return list(merged.values())


def _differences(
    subject: Subject, before: Configuration, after: Configuration, mend: Mend
) -> Iterable[Change]:
    fields = [
        field for field in NAMES if field not in IGNORED and getattr(before, field) != getattr(after, field)
    ]
    if not set(fields) <= SET_IN_KAFKA.keys() or after.mode != before.mode:
        if fields:
            yield Change(mend.setting, mend.cost)
        return
    for field in fields:
        if field == "elr":
            yield Change("eligible.leader.replicas.version=1", FEATURE_COST, ("cluster",))
            continue
        name = subject.keys.get(field, NAMES[field])
        value = value_text(field, getattr(after, field))
        yield Change(
            f"{name}{'=' if '.' in name or name in ('acks', 'replicas') else ' '}{value}",
            COSTS.get(field, mend.cost),
            (SET_IN_KAFKA[field] or subject.scope,),
            field,
            name,
            value,
        )
