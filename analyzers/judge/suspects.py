"""The first look: cheap passes over a history that find the runs, values and offsets that need a second one.

Most of what is recorded breaks no promise, and to see that takes far less work than to say what was broken, how and
when. So the most expensive facts are computed only where the first look cannot rule out that one of their checks
finds something. What it asks is derived from the conditions of the checks (see `analyzers.facts.fact.FirstLook`). It
may suspect too much, never too little. A fact without a first look is computed for the whole history.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from analyzers.catalogue.check import Check
from analyzers.facts.fact import Fact, Grain
from analyzers.facts.registry import FACTS
from analyzers.history.load import History
from analyzers.judge.first_look import RESIDUES, facts_of, plan
from analyzers.judge.first_look_order import GRAINS, OF_BROKERS, USERS, order_plan

MAX_RESIDUES = 1_000
"""Up to this number of residues is looked up for each record. With more suspects, the whole run is examined."""

MAX_LOGS = 1_000
"""Up to this number of logs is looked up for each record and sample. With more suspects, whole runs are examined."""

Place = tuple[str, str | None, int | None]
"""Run, topic and partition. Without the latter the controllers of the run, or all of it."""

Disordered = Mapping[str, frozenset[Place]]
"""By fact."""


@dataclass(frozen=True, kw_only=True)
class Suspects:
    """What needs a closer look, as far as some checks are concerned."""

    checks: Sequence[Check] = ()
    """The checks that were asked about. Any other one needs the whole history."""
    runs: Mapping[str, frozenset[str]]
    """By fact, of those that the first look can rule out."""
    values: frozenset[int] | None = None
    """The suspicious values modulo `RESIDUES`; None: all."""
    offsets: frozenset[int] | None = None
    """The offsets at which several values were seen, likewise."""
    conflicting: frozenset[str] | None = None
    """The runs in which several values were seen at some offset; None: unknown."""
    logs: Mapping[str, frozenset[Place]] = field(default_factory=dict)
    """By fact, of those that only have conditions about what brokers did: where in the runs."""

    def confine(self, history: History, fact: str, checks: Sequence[Check]) -> History | None:
        """The part of the history from which the fact is computed for these checks; None: no part is needed."""
        if not all(check in self.checks for check in checks):
            return history
        if fact not in self.runs:
            return history
        runs = self.runs[fact]
        if not runs:
            return None
        if 0 < len(self.logs.get(fact, ())) <= MAX_LOGS:
            return history.of_logs(self.logs[fact])
        residues = {"value": self.values, "offset": self.offsets}
        # The suspicious values and offsets are known only of looks at values.
        column = FACTS[fact].confined_to if self._only_by_value(fact) else None
        value_filter = _one_of(column, residues[column]) if column else "true"
        return replace(history.of_runs(runs), value_filter=value_filter)

    def _only_by_value(self, fact: str) -> bool:
        return {look.per for look in FACTS[fact].looks} == {"value"}


def find_suspects(history: History, checks: Sequence[Check], facts: Mapping[str, Fact] = FACTS) -> Suspects:
    """Both parts, one after another."""
    return with_order(find_suspicious_values(history, checks, facts), history, checks, facts=facts)


def find_suspicious_values(
    history: History, checks: Sequence[Check], facts: Mapping[str, Fact] = FACTS
) -> Suspects:
    """What looks at records, values and sends rule out. One Spark job, and a second one where an offset held several
    values; none where no fact can be ruled out."""
    steps = plan(checks, facts)
    if not steps.steps:
        return Suspects(checks=checks, runs={})
    rows = history.rows(steps.sql())
    values = _residues(row.suspicious_values for row in rows)
    offsets = _residues(row.shared_offsets for row in rows)
    conflicting = frozenset(row.run for row in rows if row.shared_offsets)
    if offsets:
        # Of three values at one offset, the pass knows the smallest and the largest. The third may be lost as well.
        with_several = f"value is not null and {_one_of('offset', offsets)}"
        shared_by = history.of_runs(conflicting).records.where(with_several)
        bitmaps = shared_by.selectExpr(f"bitmap_construct_agg(pmod(value, {RESIDUES})) as bits").collect()
        values |= _residues(row.bits for row in bitmaps)
    return Suspects(
        checks=checks,
        runs={
            fact: frozenset(row.run for row in rows if row.suspects >> bit & 1)
            for bit, fact in enumerate(steps.facts)
        },
        values=_unless_many(values),
        offsets=_unless_many(offsets),
        conflicting=conflicting,
    )


def with_order(
    suspects: Suspects,
    history: History,
    checks: Sequence[Check],
    disordered: Disordered | None = None,
    *,
    facts: Mapping[str, Fact] = FACTS,
) -> Suspects:
    """With those of looks at sessions and brokers. disordered: as `find_disordered` returned them
    for all checks; None: they are looked for now."""
    if disordered is None or suspects.conflicting is None:
        asked = [check for check in checks if check in suspects.checks]
        grains = GRAINS if suspects.conflicting is not None else OF_BROKERS
        disordered = find_disordered(history, asked, grains, facts)
    # Looks at sessions do not tell the values at one offset apart.
    of_sessions = {*facts_of(checks, ["session"], facts)}
    conflicting = suspects.conflicting or frozenset()
    runs = {fact: frozenset(run for run, _, _ in found) for fact, found in disordered.items()}
    runs |= {fact: runs[fact] | conflicting for fact in of_sessions & runs.keys()}
    logs = {fact: found for fact, found in disordered.items() if fact not in of_sessions}
    return replace(suspects, runs={**suspects.runs, **runs}, logs=logs)


def find_disordered(
    history: History,
    checks: Sequence[Check],
    grains: Sequence[Grain] = GRAINS,
    facts: Mapping[str, Fact] = FACTS,
) -> Disordered:
    """What looks at sessions and brokers do not rule out. One Spark job; none without such a look."""
    steps = order_plan(checks, grains, facts)
    if not steps.facts:
        return {}
    if history.is_kept:  # with its plan, so the statement must be the same for all runs
        of_sessions = "true" if history.loaded.has_many_runs else USERS
    else:  # the name of a run may have braces
        of_sessions = history.sessions.replace("{", "{{").replace("}", "}}")
    statement = steps.sql(preamble="").replace("{session_filter}", of_sessions)
    rows = history.rows(statement)
    return {
        fact: frozenset((row.run, row.topic, row.partition) for row in rows if row.suspects >> bit & 1)
        for bit, fact in enumerate(steps.facts)
    }


def _unless_many(residues: frozenset[int]) -> frozenset[int] | None:
    return None if len(residues) > MAX_RESIDUES else residues


def _residues(bitmaps: Iterable[bytes | None]) -> frozenset[int]:
    return frozenset(
        byte * 8 + bit
        for bitmap in bitmaps
        for byte, bits in enumerate(bitmap or b"")
        if bits
        for bit in range(8)
        if bits >> bit & 1
    )


def _one_of(column: str, residues: Collection[int] | None) -> str:
    if residues is None:
        return "true"
    return f"pmod({column}, {RESIDUES}) in ({', '.join(map(str, sorted(residues))) or 'null'})"
