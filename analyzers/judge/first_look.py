"""The steps of the first look: named SQL expressions, each of which does one thing with the result of earlier ones.

``print(plan(CHECKS))`` shows them. The chain follows what was seen, from single records to runs:

    final_reads -> sightings -> by_offset -> by_value -> suspicious_values
    acknowledged -> blocks -> neighbours -> crowded -> overtaken

Grouping by offset first and by value afterwards costs one shuffle where records lie in buckets by log, because both
keys contain the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analyzers.catalogue.check import Check
from analyzers.facts.fact import ACKED, LOG, Fact, FirstLook, Grain
from analyzers.facts.registry import FACTS
from analyzers.facts.removals import FINAL_READS
from analyzers.facts.steps import DONE
from analyzers.facts.values import OF_VALUES, SEEN

GRAINS: tuple[Grain, ...] = ("record", "value", "send")
"""Of rows that this part of the first look has. `analyzers.judge.first_look_order` has the others."""

RESIDUES = 1 << 15
"""Suspicious values and offsets are kept modulo this number: one bitmap for each run, however many there are."""

BLOCK_BITS = 4
"""A block is 16 offsets. Two times of a block suffice to rule out that any of its sends was overtaken, so that only
the sends of few blocks have to be sorted."""

AREA_BITS = 10
"""An area is 1,024 offsets. Areas with such blocks are looked up in a table in memory, which has at most one row for
each."""

FLAGS: Mapping[str, str] = {
    **SEEN,
    "settled": f"{ACKED} and (coalesce(completed < final_invoked, false) or offset < final_end)",
    "unknown": "f = 'send' and type = 'info'",
    "due": "f = 'poll' and (coalesce(completed < final_invoked, false) or offset < final_end)",
}
"""What a record shows of its value."""

LOG_COLUMNS = ", ".join(LOG)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One common table expression."""

    name: str
    says: str
    """What its rows are."""
    sql: str


@dataclass(frozen=True, kw_only=True)
class Plan:
    facts: tuple[str, ...]
    """Those that it can rule out. Bit n of a run's suspects is about fact n."""
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    """Queries over the steps. Together they return rows of: run, suspects (bits), suspicious_values, shared_offsets
    (bitmaps; null or empty for none)."""

    def sql(self, preamble: str = FINAL_READS) -> str:
        """preamble: common table expressions that the steps refer to."""
        steps = [*filter(None, [preamble]), *(f"{step.name} as ({step.sql})" for step in self.steps)]
        return "with " + ",\n".join(steps) + "\n" + "\nunion all\n".join(self.outputs)

    def __str__(self) -> str:
        return "\n\n".join([
            *(f"-- {step.name}: {step.says}\n{step.sql.strip()}" for step in self.steps),
            *(f"-- output\n{output.strip()}" for output in self.outputs),
        ])  # fmt: skip


def plan(checks: Sequence[Check], of: Mapping[str, Fact] = FACTS) -> Plan:
    """The steps for these checks. Facts without first looks of these grains are left out."""
    facts = facts_of(checks, GRAINS, of)
    conditions = {
        grain: {fact: where for fact in facts if (where := condition(checks, of[fact], grain))}
        for grain in GRAINS
    }
    steps: list[Step] = []
    outputs: list[str] = []
    # Conditions about sessions do not tell the values at one offset apart, so these have to be looked for as well.
    if conditions["record"] or conditions["value"] or facts_of(checks, ["session"], of):
        steps += _seen(conditions["record"], conditions["value"], facts)
        outputs.append(_suspicious_runs(sum(1 << facts.index(fact) for fact in conditions["value"])))
    if conditions["send"]:
        steps += _overtaking()
        outputs += (
            _overtaken_runs(condition, facts.index(fact)) for fact, condition in conditions["send"].items()
        )
    return Plan(facts=facts, steps=tuple(steps), outputs=tuple(outputs))


def facts_of(checks: Sequence[Check], grains: Sequence[Grain], of: Mapping[str, Fact]) -> tuple[str, ...]:
    """The facts that looks of these grains can rule out for all of these checks, in order."""
    others = {check.over for check in checks if (look := _look(check, of)) is None or look.per not in grains}
    return tuple(sorted({check.over for check in checks} - others))


def condition(checks: Sequence[Check], fact: Fact, grain: Grain) -> str:
    """What all checks over a fact ask of these rows, joined by or; empty for nothing. Equal conditions come once."""
    of_fact = {fact.name: fact}
    asked = [(check.where, _look(check, of_fact)) for check in checks if check.over == fact.name]
    wheres = dict.fromkeys(look.condition(where) for where, look in asked if look and look.per == grain)
    return " or ".join(f"coalesce({where}, false)" for where in wheres)


def _look(check: Check, of: Mapping[str, Fact]) -> FirstLook | None:
    fact = of.get(check.over)
    return fact.look(check.where) if fact and fact.looks else None


def _seen(
    per_record: Mapping[str, str], per_value: Mapping[str, str], facts: Sequence[str]
) -> Iterator[Step]:
    by_record = {fact: f"{DONE} and ({condition})" for fact, condition in per_record.items()}
    bits = list(by_record)
    flags = {name: f"{OF_VALUES} and {sql}" for name, sql in FLAGS.items()} | by_record
    said = " | ".join(f"if(coalesce({sql}, false), {1 << bit}, 0)" for bit, sql in enumerate(flags.values()))
    yield Step(
        name="sightings",
        says="a record: where which value was seen, and flags of what else it shows",
        sql=f"""
        select /*+ BROADCAST(final_reads) */ {LOG_COLUMNS}, if(f = 'poll' or type = 'ok', offset, null) as at,
            if({OF_VALUES}, value, null) as value, if(f = 'send', invoked, null) as begun_at,
            if({OF_VALUES} and f = 'poll', completed, null) as returned_at, {said} as flags
        from {{records}} left join final_reads using ({LOG_COLUMNS})
        """,
    )
    yield Step(
        name="by_offset",
        says="an offset of a log, or a value without a known offset: the smallest and the largest value there",
        sql=f"""
        select {LOG_COLUMNS}, at, min(value) as low, max(value) as high, bit_or(flags) as flags,
            min(begun_at) as begun_at, min(returned_at) as returned_at
        from sightings group by {LOG_COLUMNS}, at, if(at is null, value, null)
        """,
    )
    yield Step(
        name="by_value",
        says="a value of a log, or an offset that several values share: where and when it was seen",
        sql=f"""
        select {LOG_COLUMNS}, low as value, if(low < high, at, null) as shared, bit_or(flags) as flags,
            min(at) as first_offset, max(at) as last_offset, min(begun_at) as begun_at,
            min(returned_at) as returned_at
        from by_offset group by {LOG_COLUMNS}, low, if(low < high, at, null)
        """,
    )
    named = ", ".join(f"flags & {1 << bit} <> 0 as {name}" for bit, name in enumerate(FLAGS))
    of_records = [f"flags & {1 << len(FLAGS) + bit} <> 0" for bit in range(len(bits))]
    suspects = [
        f"if({condition}, {1 << facts.index(fact)}L, 0L)"
        for fact, condition in [
            *zip(bits, of_records, strict=True),
            # Of an offset with several values, the flags are those of all of them together.
            *(
                (fact, f"value is not null and (shared is not null or {sql})")
                for fact, sql in per_value.items()
            ),
        ]
    ]
    yield Step(
        name="suspicious_values",
        says="a row of by_value with bits of the facts that it makes suspicious",
        sql=f"""
        select run, value, shared, {" | ".join(suspects) or "0L"} as suspects
        from (select *, {named} from by_value)
        """,
    )


def _suspicious_runs(by_value: int) -> str:
    """by_value: bits of the facts that are suspicious because of a value."""
    return f"""
    select run, bit_or(suspects) as suspects,
        bitmap_construct_agg(pmod(value, {RESIDUES})) filter (where suspects & {by_value}L <> 0) as suspicious_values,
        bitmap_construct_agg(pmod(shared, {RESIDUES})) filter (where shared is not null) as shared_offsets
    from suspicious_values where suspects <> 0 or shared is not null group by run
    """


def _overtaking() -> Iterator[Step]:
    """Which sends were overtaken: a send to a higher offset had been acknowledged before this one was invoked."""
    yield Step(
        name="acknowledged",
        says="an acknowledged send",
        sql=f"""
        select {LOG_COLUMNS}, shiftright(offset, {AREA_BITS}) as area, shiftright(offset, {BLOCK_BITS}) as block,
            offset, invoked, completed
        from {{records}} where {ACKED} and offset is not null
        """,
    )
    yield Step(
        name="blocks",
        says="a block of offsets: its first acknowledgement and its last invocation",
        sql=f"""
        select {LOG_COLUMNS}, block, min(completed) as first, max(invoked) as last
        from acknowledged group by {LOG_COLUMNS}, block
        """,
    )
    yield Step(
        name="neighbours",
        says="a block, and the first acknowledgement in all higher blocks of its log",
        sql=f"""
        select *, min(if(first is null, null, struct(first as at, block))) over (
            partition by {LOG_COLUMNS} order by block desc rows between unbounded preceding and 1 preceding
        ) as later
        from blocks
        """,
    )
    yield Step(
        name="crowded",
        says="the area of a block in which a send may have been overtaken, or of the send that may have overtaken it",
        sql=f"""
        select {LOG_COLUMNS}, explode(transform(
            array(block, coalesce(later.block, block)), each -> shiftright(each, {AREA_BITS - BLOCK_BITS})
        )) as area
        from neighbours where first <= last or later.at <= last
        """,
    )
    yield Step(
        name="overtaken",
        says="a send of a crowded area, and when the first send to a higher offset was acknowledged",
        sql=f"""
        select /*+ SHUFFLE_HASH(crowded) */ run, invoked, min(completed) over (
            partition by {LOG_COLUMNS} order by offset desc range between unbounded preceding and 1 preceding
        ) as overtaken
        from acknowledged left semi join crowded using ({LOG_COLUMNS}, area)
        """,
    )


def _overtaken_runs(condition: str, bit: int) -> str:
    return f"""
    select run, {1 << bit}L as suspects, cast(null as binary) as suspicious_values,
        cast(null as binary) as shared_offsets
    from overtaken where {condition} group by run
    """
