"""The second part of the prefilter: conditions about the order of what sessions did, and of what brokers reported.

Sessions read whole partitions, so that their facts sort most of what was recorded. To rule out a finding, it suffices
to sort polls instead of records: what a poll returned counts by its lowest and its highest offset, as long as it
returned all records between them.

One statement for all of these facts, because for an ordinary history most of the time of a statement is its planning.
``print(order_plan(CHECKS))`` shows its steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analyzers.catalogue.check import Check
from analyzers.catalogue.suspicion import Grain
from analyzers.checks.agreements import LIMIT
from analyzers.facts.acks_in_short_isr import MIN_ISR
from analyzers.facts.columns import ACKED, LOG, SERVED, SESSION, TIME
from analyzers.facts.followers import SETTLED
from analyzers.facts.watermarks import NAME
from analyzers.judge.prefilter_plan import Plan, Step, condition, facts_of

OF_BROKERS: tuple[Grain, ...] = ("leader", "sample")
"""Of conditions that need no other part of the prefilter."""

GRAINS: tuple[Grain, ...] = ("session", *OF_BROKERS)

LOG_COLUMNS = ", ".join(LOG)

USERS = f"""
    array_contains(try_element_at((
        select map_from_entries(collect_list(struct(run, users))) from (
            select run, collect_list(user) as users from (
                select run, {SESSION} as user from {{records}} group by run, {SESSION}
                having bool_or({ACKED}) and ({SESSION} >= 0 or bool_or(f = 'poll'))
                union
                select run, {SESSION} from {{operations}} where f = 'read' and type = 'ok'
            ) group by run
        )
    ), run), {SESSION})
"""
"""A condition on the records of few runs, as `analyzers.judge.tally.session_filter` makes it of a tally. Here the
statement itself looks for the sessions, so that it needs no other one and is the same for all runs."""

KEY = f"{LOG_COLUMNS}, session"

# Of events in the same nanosecond, a completed read counts for one that begins. Polls and acknowledgements do not,
# but they count for a read that ends.
ENDED, BEGINS, COMPLETES, FINISHES = range(4)

EVENT = ("event", "at", "rank", "offset", "is_whole", "high", "low", "ack", "end")
"""Columns of an event. offset and is_whole: see `analyzers.catalogue.suspicion.per_session`; high, low: of a poll;
ack: an acknowledged offset; end: of a completed read, exclusive."""


def order_plan(checks: Sequence[Check], grains: Sequence[Grain] = GRAINS) -> Plan:
    """The steps for those of these checks that declare a condition of one of these grains."""
    facts = facts_of(checks, grains)
    steps: list[Step] = []
    outputs: list[str] = []
    sources: Mapping[Grain, tuple[str, Iterator[Step]]] = {
        "session": ("moments", _moments()),
        "leader": ("answered", _answered()),
        "sample": ("compared", _compared()),
    }
    for grain, (source, of_grain) in sources.items():
        conditions = {fact: where for fact in facts if (where := condition(checks, fact, grain))}
        if conditions:
            steps += of_grain
            bits = " | ".join(
                f"if({where}, {1 << facts.index(fact)}L, 0L)" for fact, where in conditions.items()
            )
            outputs.append(f"select run, bit_or({bits}) as suspects from {source} group by run")
    return Plan(facts=facts, steps=tuple(steps), outputs=tuple(outputs))


def _moments() -> Iterator[Step]:
    yield Step(
        name="session_reads",
        says="a completed read of a session",
        sql=f"""
        select {LOG_COLUMNS}, {SESSION} as session, invoked, completed, end_offset
        from {{operations}} where f = 'read' and type = 'ok'
        """,
    )
    yield Step(
        name="session_polls",
        says="a poll of a session in a log: its lowest and highest offset, and whether it returned all between them",
        sql=f"""
        select {LOG_COLUMNS}, {SESSION} as session, {TIME} as at, min(offset) as low, max(offset) as high,
            count_if(within and offset = previous + 1) = count(*) - 1 and max(offset) - min(offset) = count(*) - 1
                and count_if(error is not null) = 0 as is_whole
        from {{records}} where f = 'poll' and offset is not null and ({{session_filter}})
        group by {LOG_COLUMNS}, {SESSION}, {TIME}, op
        """,
    )
    yield Step(
        name="events",
        says="an event of a session in a log",
        sql=f"""
        select {KEY}, inline(array(
            {_event("ended", "completed", ENDED, end="end_offset")},
            {_event("read", "invoked", BEGINS, offset="end_offset")},
            {_event("finish", "completed", FINISHES)}
        )) from session_reads
        union all
        select {KEY}, inline(array(
            {_event("poll", "at", COMPLETES, offset="low", is_whole="is_whole", high="high", low="low")}
        )) from session_polls
        union all
        select {LOG_COLUMNS}, {SESSION} as session, inline(array(
            {_event("send", "invoked", BEGINS, offset="offset")},
            {_event("ack", "completed", COMPLETES, offset="offset", ack="offset")}
        )) from {{records}} where {ACKED} and ({{session_filter}})
        """,
    )
    yield Step(
        name="moments",
        says="an event, and how far the session had got before",
        sql=f"""
        select run, event, offset, is_whole, coalesce(max(high) over before, -1) as known,
            min(low) over before as first, coalesce(max(ack) over before, -1) as written,
            min(ack) over before as earliest, coalesce(max(end) over before, -1) as ended
        from events window before as (
            partition by {KEY} order by at, rank rows between unbounded preceding and 1 preceding
        )
        """,
    )


def _event(event: str, at: str, rank: int, **columns: str) -> str:
    """A struct with the columns of `EVENT`. SQL needs the same types in each."""
    values = {"event": f"'{event}'", "at": at, "rank": str(rank), **columns}
    kinds = {"event": "string", "rank": "int", "is_whole": "boolean"}
    return "named_struct({})".format(
        ", ".join(
            f"'{name}', cast({values.get(name, 'null')} as {kinds.get(name, 'bigint')})" for name in EVENT
        )
    )


def _answered() -> Iterator[Step]:
    yield Step(
        name="served",
        says="a poll in a log, of one broker and one leader epoch",
        sql=f"""
        select {LOG_COLUMNS}, node, leader_epoch, max(offset) as offset, max({SERVED}) as at, null as high_watermark
        from {{records}} where f = 'poll' and offset is not null and node is not null
        group by {LOG_COLUMNS}, node, leader_epoch, process, op
        """,
    )
    yield Step(
        name="answered",
        says="a poll, and the lowest high watermark that the broker returned to a later request in the same epoch",
        sql=f"""
        select run, offset, min(high_watermark) over (
            partition by {LOG_COLUMNS}, node, leader_epoch order by at desc
            range between unbounded preceding and 1 preceding
        ) as watermark
        from (
            select * from served union all
            select {LOG_COLUMNS}, node, leader_epoch, null, asked, high_watermark from {{observations}}
            where kind = 'partition' and node is not null and leader = node and asked is not null
                and high_watermark is not null
        )
        """,
    )


def _compared() -> Iterator[Step]:
    yield Step(
        name="sampled",
        says="a sample of a partition or of the controllers; of leaders and in-sync followers what they hold",
        sql=f"""
        select run, kind, topic, partition, node, time, leader, leader_epoch, isr, replicas,
            xxhash64(sort_array(isr)) as members, kind = 'partition' and leader = node as leads,
            if(kind = 'partition' and leader = node, high_watermark, null) as mark,
            if(kind = 'partition' and leader = node, log_end, null) as own_end,
            if(leader <> node and array_contains(isr, node), log_end, null) as follower_end,
            if(kind = 'partition' and leader = node, log_start, null) as own_start,
            if(kind = 'partition' and leader = node, size(isr) < min_isr, null) as is_short
        from (select *, {NAME} as name from {{observations}}) left join ({MIN_ISR}) using (run, name)
        where kind in ('partition', 'quorum', 'controller')
        """,
    )
    yield Step(
        name="compared",
        says="a sample, and what had been reported before: of its epoch, of earlier ones, and by the same broker",
        sql=f"""
        select *, max(if(leads, settled, null)) over (
                partition by run, kind, topic, partition, members order by time
                rows between unbounded preceding and 1 preceding
            ) as held
        from (
            select *, max(mark) over before as reached,
                max(mark) over in_epoch_before as in_epoch,
                max(if(leader < 0, null, leader)) over in_epoch_before as other_leader,
                max(leader_epoch) over (
                    partition by run, kind, topic, partition, node order by time
                    rows between unbounded preceding and 1 preceding
                ) as newest,
                max(is_short) over (
                    partition by run, kind, topic, partition, node order by time
                    range between unbounded preceding and {2 * SETTLED} preceding
                ) as was_short,
                time = max(time) over (partition by run, kind, topic, partition, node) as is_latest,
                max(mark) over (
                    partition by run, kind, topic, partition order by time
                    range between unbounded preceding and {SETTLED} preceding
                ) as settled,
                max(leader_epoch) over (
                    partition by run, kind, topic, partition order by time
                    range between unbounded preceding and {LIMIT} preceding
                ) as settled_epoch
            from sampled window before as (
                partition by run, kind, topic, partition order by leader_epoch, time
                rows between unbounded preceding and 1 preceding
            ), in_epoch_before as (
                partition by run, kind, topic, partition, leader_epoch order by time
                rows between unbounded preceding and 1 preceding
            )
        )
        """,
    )
