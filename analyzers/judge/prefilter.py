"""A first look at a history, in one pass: which runs, values and offsets need a closer one.

Most of what is recorded breaks nothing, and to see that takes far less than to tell what was broken, how and when.
So the dearest facts are made only where this look cannot rule out that one of their checks finds something. It may
suspect too much, never too little.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG
from analyzers.facts.final_reads import FINAL_READS
from analyzers.facts.steps import DONE
from analyzers.facts.values import OF_VALUES, SAID
from analyzers.history.load import History

RESIDUES = 1 << 15
"""Suspects are told modulo this number: as one bitmap for each run, however many there are."""

BLOCK = 4
"""16 offsets are a block. Whole blocks are ruled out by two of their times, so that few sends have to be sorted:
those of blocks with a send that began at or after an acknowledgement in the same block or in a later one, and those
of the first acknowledgements there."""

MANY = 1_000
"""So many residues are looked up for each row; beyond, everything is looked at."""

ROW: Mapping[str, str] = {
    **SAID,
    "settled": f"{ACKED} and (coalesce(completed <= final_invoked, false) or offset < final_end)",
}
"""What a row that tells of a value says of it, as bits of one number."""

SUSPICIOUS: Mapping[str, Mapping[str, str]] = {
    "values": {
        "several offsets": "least < most",
        "an offset shared": "shared is not null",
        "not read": "acked and not polled",
        "not read in the end": "settled and not in_final",
        "not sent": "polled and not sent",
        "taken back": "failed and polled and (not transactional or read_committed)",
        "read before it was sent": "returned < begun",
    },
    "conflicts": {"an offset shared": "shared is not null"},
    # These are of rows. Of a step into another generation `previous` tells nothing. Records of one key are in order
    # where all are.
    "steps": {
        "back": "offset <= previous",
        "not ours": "f = 'poll' and error is not null",
        "of a group": "generation is not null",
    },
    "gaps": {
        "further": "offset > previous + 1 and (f = 'poll' or within)",
        "of a group": "generation is not null",
    },
    "acknowledgements": {"overtaken": "overtaken < invoked"},
}
"""By fact, what may be more than a healthy history has; in each the reasons are joined by or."""

SCREENED = tuple(SUSPICIOUS)


@dataclass(frozen=True, kw_only=True)
class Suspects:
    """Where a closer look is due."""

    runs: Mapping[str, frozenset[str]]
    """By fact, of those in `SCREENED`."""
    values: frozenset[int] | None
    """Modulo `RESIDUES`, those that need to be looked at; None: all."""
    offsets: frozenset[int] | None
    """Likewise, where several values were seen."""

    def within(self, history: History, fact: str) -> History | None:
        """What the fact has to be made of; None where nothing needs to be looked at."""
        if fact not in SCREENED:
            return history
        runs = self.runs.get(fact)
        if not runs:
            return None
        mine = F.col("run").isin(sorted(runs))
        only = {"values": _one_of("value", self.values), "conflicts": _one_of("offset", self.offsets)}
        return replace(
            history,
            records=history.records.where(mine),
            operations=history.operations.where(mine),
            observations=history.observations.where(mine),
            value_filter=only.get(fact, "true"),
        )


def screen(history: History) -> Suspects:
    """One Spark job, and a second one where an offset held several values."""
    rows = history.sql(statement()).collect()
    runs = {fact: frozenset(row.run for row in rows if fact in row.facts) for fact in SCREENED}
    values, offsets = (_residues(getattr(row, name) for row in rows) for name in ("values", "offsets"))
    if runs["conflicts"]:
        # Of three values at one offset the pass tells two; the third may be lost as well.
        beside = (
            history.records.where(F.col("run").isin(sorted(runs["conflicts"])))
            .where(f"value is not null and {_one_of('offset', offsets)}")
            .selectExpr(f"bitmap_construct_agg(pmod(value, {RESIDUES})) as values")
        )
        values |= _residues(row.values for row in beside.collect())
    return Suspects(runs=runs, values=_few(values), offsets=_few(offsets))


def _few(residues: frozenset[int]) -> frozenset[int] | None:
    return None if len(residues) > MANY else residues


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


def statement() -> str:
    """One row per run with something suspicious: facts (which), values, offsets (bitmaps; null or empty for none)."""
    log = ", ".join(LOG)
    suspicious = {
        fact: " or ".join(f"coalesce({sql}, false)" for sql in reasons.values())
        for fact, reasons in SUSPICIOUS.items()
    }
    rows = {name: f"{OF_VALUES} and {sql}" for name, sql in ROW.items()} | {
        fact: f"{DONE} and ({suspicious[fact]})" for fact in ("steps", "gaps")
    }
    said = " | ".join(f"if(coalesce({sql}, false), {1 << bit}, 0)" for bit, sql in enumerate(rows.values()))
    bits = ", ".join(f"said & {1 << bit} <> 0 as {name}" for bit, name in enumerate(rows))
    return f"""
    with {FINAL_READS}, told as (
        select {log}, if(f = 'poll' or type = 'ok', offset, null) as at, if({OF_VALUES}, value, null) as value,
            if(f = 'send', invoked, null) as begun, if({OF_VALUES} and f = 'poll', completed, null) as returned,
            {said} as said
        from {{records}} left join final_reads using ({log})
    ), offsets as (
        select {log}, at, min(value) as low, max(value) as high, bit_or(said) as said, min(begun) as begun,
            min(returned) as returned
        from told group by {log}, at, if(at is null, value, null)
    ), fates as (
        select {log}, low as value, if(low < high, at, null) as shared, bit_or(said) as said, min(at) as least,
            max(at) as most, min(begun) as begun, min(returned) as returned
        from offsets group by {log}, low, if(low < high, at, null)
    ), judged as (
        select *, value is not null and ({suspicious["values"]}) as broken, {suspicious["conflicts"]} as conflict
        from (select *, {bits} from fates)
    ), sends as (
        select {log}, shiftright(offset, {BLOCK}) as block, offset, invoked, completed
        from {{records}} where {ACKED} and offset is not null
    ), blocks as (
        select {log}, block, min(completed) as first, max(invoked) as last from sends group by {log}, block
    ), onwards as (
        select *, min(if(first is null, null, struct(first as at, block))) over (
            partition by {log} order by block desc rows between unbounded preceding and 1 preceding
        ) as later
        from blocks
    ), crowded as (
        select {log}, explode(array(block, coalesce(later.block, block))) as block
        from onwards where first <= last or later.at <= last
    ), overtaken as (
        select run, invoked, min(completed) over (
            partition by {log} order by offset desc range between unbounded preceding and 1 preceding
        ) as overtaken
        from sends left semi join crowded using ({log}, block)
    )
    select run, array_compact(array(
            if(bool_or(broken), 'values', null), if(bool_or(conflict), 'conflicts', null),
            if(bool_or(steps), 'steps', null), if(bool_or(gaps), 'gaps', null)
        )) as facts,
        bitmap_construct_agg(pmod(value, {RESIDUES})) filter (where broken) as values,
        bitmap_construct_agg(pmod(shared, {RESIDUES})) filter (where conflict) as offsets
    from judged where broken or conflict or steps or gaps group by run
    union all
    select run, array('acknowledgements'), null, null from overtaken
    where {suspicious["acknowledgements"]} group by run
    """
