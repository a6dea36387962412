"""The second part of the first look: rows about the order of what sessions did, and of what brokers reported.

Sessions read whole partitions, so that their facts sort most of what was recorded. To rule out a finding, it suffices
to sort polls instead of records: what a poll returned counts by its lowest and its highest offset, as long as it
returned all records between them.

One statement for all of these facts, because for an ordinary history most of the time of a statement is its planning.
``print(order_plan(CHECKS))`` shows its steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analyzers.catalogue.check import Check
from analyzers.facts.fact import ACKED, LOG, SERVED, SESSION, TIME, Fact, Grain
from analyzers.facts.registry import FACTS
from analyzers.facts.removals import NAME
from analyzers.facts.replicas import MIN_ISR, SETTLED
from analyzers.judge.first_look import Plan, Step, condition, facts_of

OF_BROKERS: tuple[Grain, ...] = ("leader", "sample", "mark", "epoch", "second")
"""Of rows that need no other part of the first look. They tell logs apart."""

GRAINS: tuple[Grain, ...] = ("session", *OF_BROKERS)

LOG_COLUMNS = ", ".join(LOG)

WHOLE_RUN = "run, cast(null as string) as topic, cast(null as int) as partition"

SAMPLED = "('partition', 'quorum', 'controller')"
"""SQL: kinds of observations that name leaders."""

LEADS = "kind = 'partition' and leader = node"
"""SQL: a broker called itself the leader."""

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
"""A condition on the records of few runs, as `analyzers.judge.scope.session_filter` makes it of a tally. Here the
statement itself looks for the sessions, so that it needs no other one and is the same for all runs."""

KEY = f"{LOG_COLUMNS}, session"

# Of events in the same nanosecond, nothing counts for what begins, but polls and acknowledgements count for a read
# that ends.
BEGINS, COMPLETES, FINISHES = range(3)

EVENT = ("event", "at", "rank", "offset", "is_whole", "high", "low", "ack", "end")
"""Columns of an event. offset and is_whole: see `analyzers.facts.fact.Grain`; high, low: of a poll;
ack: an acknowledged offset; end: of a completed read, exclusive."""


def order_plan(
    checks: Sequence[Check], grains: Sequence[Grain] = GRAINS, of: Mapping[str, Fact] = FACTS
) -> Plan:
    """The steps for those of these checks over facts with first looks of these grains."""
    facts = facts_of(checks, grains, of)
    steps: list[Step] = []
    outputs: list[str] = []
    sources: Mapping[Grain, tuple[str, Iterator[Step]]] = {
        "session": ("moments", _moments()),
        "leader": ("answered", _answered()),
        "sample": ("samples", _samples()),
        "mark": ("marks", _marks()),
        "epoch": ("epochs", _epochs()),
        "second": ("seconds", _seconds()),
    }
    for grain, (source, of_grain) in sources.items():
        conditions = {fact: where for fact in facts if (where := condition(checks, of[fact], grain))}
        if conditions:
            steps += of_grain
            bits = " | ".join(
                f"if({where}, {1 << facts.index(fact)}L, 0L)" for fact, where in conditions.items()
            )
            log = LOG_COLUMNS if grain in OF_BROKERS else WHOLE_RUN
            outputs.append(
                f"select {LOG_COLUMNS}, bit_or(suspects) as suspects "
                f"from (select {log}, {bits} as suspects from {source}) where suspects <> 0 group by {LOG_COLUMNS}"
            )
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
            {_event("ended", "completed", COMPLETES, end="end_offset")},
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
        select {LOG_COLUMNS}, offset, min(high_watermark) over (
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


def _samples() -> Iterator[Step]:
    yield Step(
        name="samples",
        says="a sample of a partition or of the controllers; of leaders what they hold",
        sql=f"""
        select {LOG_COLUMNS}, kind, leader, isr, replicas, if({LEADS}, high_watermark, null) as mark,
            if({LEADS}, log_end, null) as own_end
        from {{observations}} where kind in {SAMPLED}
        """,
    )


def _marks() -> Iterator[Step]:
    # The columns that differ most come first: Spark sorts by the first eight bytes, and compares whole rows where
    # these are equal.
    yield Step(
        name="marks",
        says="an answer of a leader: its high watermark and log start, and the highest ones of its epoch before",
        sql=f"""
        select {LOG_COLUMNS}, high_watermark as mark, max(high_watermark) over before as in_epoch,
            log_start as start, max(log_start) over before as start_in_epoch
        from {{observations}} where {LEADS}
        window before as (
            partition by leader_epoch, partition, topic, run order by time
            rows between unbounded preceding and 1 preceding
        )
        """,
    )


def _epochs() -> Iterator[Step]:
    yield Step(
        name="answers",
        says="what a broker, or ZooKeeper, said of a leader epoch, while the ISR had one size",
        sql=f"""
        select run, kind, topic, partition, leader_epoch, node, if({LEADS}, size(isr), null) as in_sync,
            min(time) as first, max(time) as last, min(if(leader < 0, null, leader)) as lowest,
            max(if(leader < 0, null, leader)) as highest, max(if({LEADS}, high_watermark, null)) as mark,
            min(if({LEADS}, log_end, null)) as end, max(if({LEADS}, log_start, null)) as start
        from {{observations}} where kind in {SAMPLED}
        group by run, kind, topic, partition, leader_epoch, node, if({LEADS}, size(isr), null)
        """,
    )
    yield Step(
        name="demanded",
        says="a topic with the lowest min.insync.replicas that was seen",
        sql=MIN_ISR,
    )
    yield Step(
        name="deleted",
        says="a log with the offset below which a leader surely deleted records because it was asked to",
        sql=f"""
        select {LOG_COLUMNS}, max(end_offset) as deleted_to
        from {{operations}} where f = 'deletion' and type = 'ok' group by {LOG_COLUMNS}
        """,
    )
    yield Step(
        name="epochs",
        says="an answer, and what was said of the same epoch, by the same broker, and of other epochs",
        sql=f"""
        select {LOG_COLUMNS}, kind, leader_epoch, last, last = max(last) over by_node as is_latest,
            min(first) over later_of_node as newer, min(first) over later as newer_elsewhere,
            min(lowest) over by_epoch as lowest_leader, max(highest) over by_epoch as highest_leader,
            start, coalesce(deleted_to, 0) as deleted_to, end as least_end, max(mark) over (
                partition by run, kind, topic, partition order by leader_epoch
                range between unbounded preceding and 1 preceding
            ) as reached,
            max(if(in_sync < min_isr, last, null)) over of_node - min(if(in_sync < min_isr, first, null)) over of_node
                as short_for
        from (
            select /*+ BROADCAST(demanded, deleted) */ *
            from (select *, {NAME} as name from answers) left join demanded using (run, name)
                left join deleted using ({LOG_COLUMNS})
        )
        window by_node as (partition by run, kind, topic, partition, node),
            later_of_node as (
                partition by run, kind, topic, partition, node order by leader_epoch desc
                range between unbounded preceding and 1 preceding
            ),
            later as (
                partition by run, kind, topic, partition order by leader_epoch desc
                range between unbounded preceding and 1 preceding
            ),
            by_epoch as (partition by run, kind, topic, partition, leader_epoch),
            of_node as (partition by run, kind, topic, partition, leader_epoch, node)
        """,
    )


def _seconds() -> Iterator[Step]:
    is_follower = "leader <> node and array_contains(isr, node)"
    yield Step(
        name="in_seconds",
        says="a second in which brokers named one ISR: the highest mark of leaders, the least that followers had",
        sql=f"""
        select {LOG_COLUMNS}, xxhash64(sort_array(isr)) as members, time div {SETTLED} as second,
            bool_or(leader = node) as led, max(if(leader = node, high_watermark, null)) as mark,
            min(if({is_follower}, log_end, null)) as follower_end
        from {{observations}} where kind = 'partition' and (leader = node or {is_follower} and log_end is not null)
        group by {LOG_COLUMNS}, xxhash64(sort_array(isr)), time div {SETTLED}
        """,
    )
    yield Step(
        name="seconds",
        says="such a second, and the highest mark before a second, up to this one, in which a leader named that ISR",
        sql=f"""
        select {LOG_COLUMNS}, follower_end, max(if(led, settled, null)) over (
            partition by {LOG_COLUMNS}, members order by second rows between unbounded preceding and current row
        ) as held
        from (
            select *, max(mark) over (
                partition by {LOG_COLUMNS} order by second range between unbounded preceding and 1 preceding
            ) as settled
            from in_seconds
        )
        """,
    )
