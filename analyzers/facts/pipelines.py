"""What an application made of its inputs: outputs and their order, and how long it wrote none."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import ACKED, MAYBE_ABORTED, POLLED, fact, is_withheld, shared
from analyzers.history.load import History

PIPELINES = """
    pipelines as (
        select run, topic, partition, end_offset as position, get_json_object(value, '$.sink') as sink,
            get_json_object(value, '$.guarantee') as guarantee,
            coalesce(get_json_object(value, '$.isolation'), 'unknown') as isolation
        from {operations} where f = 'pipeline' and type = 'ok'
    )
"""
"""A common table expression: the logs that an application reads, of runs whose outputs were all read."""

_OUTPUTS = """
    select distinct * from (
        select /*+ REPARTITION(value, run, sink) */ * from (
            select run, sink, sink_partition, at, said.source as value, said.written from (
                select run, topic as sink, partition as sink_partition, start_offset as at,
                    from_json(value, 'source bigint, written bigint') as said
                from {operations} where f = 'output'
            )
        )
    )
"""
"""The rows of an input are moved into one partition first, so that nothing moves them again to group them."""

INPUTS = f"""
    inputs as (
        select /*+ BROADCAST(pipelines) */ run, topic, partition, value,
            min(offset) filter (where f = 'poll') as offset, max(offset) filter (where f = 'poll') as last_offset,
            min(invoked) filter (where f = 'send') as fed,
            bool_or({MAYBE_ABORTED}) filter (where f = 'send') as maybe_aborted,
            coalesce(bool_or(committed), false) as isolated,
            max(key) as key
        from {{records}} left semi join pipelines using (run, topic, partition)
        where f = 'send' or (final and {POLLED})
        group by run, topic, partition, value
    )
"""
"""A common table expression: the records in these logs; `offset` is null for one that no final read found."""

WATCHED = """
    watched as (
        select run, topic, partition, array_sort(collect_list(struct(time, owner, position))) as samples
        from (
            select run, topic, partition, time, if(is_sample and has_owners, null, owner) as owner,
                if(is_sample and has_positions, null, position) as position
            from (
                select *, bool_or(is_owner) over (partition by run) as has_owners,
                    bool_or(not is_sample and not is_owner) over (partition by run) as has_positions
                from (
                    select run, topic, partition, time, kind = 'group' as is_sample,
                        get_json_object(value, '$.generation') is not null as is_owner,
                        get_json_object(value, '$.owner') as owner,
                        cast(get_json_object(value, '$.position') as bigint) as position
                    from {observations} where kind in ('group', 'group_log')
                )
            )
        ) group by run, topic, partition
    )
"""
"""A common table expression: per log, when the group had another owner or position, as its coordinator wrote it down
or, where that is not known, reported it. Facts join it last: the filters of checks come first then, so that few rows
carry the array."""

COMMITTED = """
    positions_seen as (
        select run, topic, partition, time, cast(get_json_object(value, '$.position') as bigint) as position,
            kind = 'group' as is_sample
        from {observations} where kind in ('group', 'group_log')
    ), committed_positions as (
        select run, topic, partition, time, position
        from (
            select *, bool_or(not is_sample) over (partition by run) as has_log from positions_seen
            where position is not null
        ) where not (is_sample and has_log)
    )
"""
"""Common table expressions: the positions that an application's group had committed, by log and time: as its
coordinator wrote them down or, where that is not known, when it reported another one."""


@shared
def outputs(history: History) -> DataFrame:
    """One row per record that an application wrote and input that it names: run, sink, sink_partition, at (its
    offset), value (of the input), written (ns)."""
    return history.sql(_OUTPUTS)


def owner(at: str) -> str:
    """SQL over `samples`: the instance that had the log at that time, ns, or last before a rebalance; may be null."""
    return f"get(reverse(filter(samples, s -> s.owner is not null and s.time <= {at})), 0).owner"


@fact(needs="pipeline")
def inputs(history: History) -> DataFrame:
    """One row per record that the final read found in a log that an application reads, unless it has no output and is
    withheld from the application (see `is_withheld`).

    Columns: value, offset, last_offset, fed (ns, when it was sent), sink, guarantee, position (which the group
    committed at the end; null if unknown); of its outputs: made (how many), first, second (structs of
    sink_partition, at and written: ns, as the record's timestamp has it); passed: whether the application did not
    stop before it: its offset is below the position or, if that is unknown, below one with an output.
    Where the group was watched: passed_at (ns, when a position behind it was committed first), and the instances that
    had its log: passed_by (then, or when it was fed), first_by and second_by (when those outputs were written),
    last_by (at the end). next_written (ns): the first output of a later input of its log. All of these may be null.
    """
    return history.sql(
        f"""
        with {PIPELINES}, {INPUTS}, {WATCHED}, made as (
            select run, sink, value, array_sort(collect_list(struct(sink_partition, at, written))) as got
            from {{outputs}} group by value, run, sink
        ), joined as (
            select /*+ BROADCAST(pipelines) */ run, topic, partition, value, offset, last_offset, fed, sink,
                guarantee, position, coalesce(size(got), 0) as made, get(got, 0) as first, get(got, 1) as second
            from inputs join pipelines using (run, topic, partition) left join made using (value, run, sink)
            where offset is not null
                and not (got is null and {is_withheld("maybe_aborted", "isolated", "isolation")})
        ), reached as (
            select *, max(if(made > 0, offset, null)) over (partition by run, topic, partition) as reached,
                min(first.written) over (
                    partition by run, topic, partition order by offset desc
                    rows between unbounded preceding and 1 preceding
                ) as next_written
            from joined
        ), observed as (
            select *, get(filter(samples, s -> s.position > offset), 0).time as passed_at,
                get(reverse(samples), 0).time as last_time
            from reached left join watched using (run, topic, partition)
        )
        select *, coalesce(offset < coalesce(position, reached), false) as passed,
            {owner("coalesce(passed_at, fed)")} as passed_by, {owner("first.written")} as first_by,
            {owner("second.written")} as second_by, {owner("last_time")} as last_by
        from observed
    """,
        outputs=outputs(history),
    )


@fact(needs="pipeline")
def output_order(history: History) -> DataFrame:
    """One row per input with an output and partition of the sink, of applications that keep the order of keys.

    Columns: value, offset, fed, key, sink, sink_partition, at (the offset of its first output there), written (ns),
    overtaker: the highest offset of the inputs with the same key whose first output there comes before; may be null;
    is_overtaken: whether that is a later input; written_by: the instance that had the log of the input when the
    output was written; may be null.
    """
    return history.sql(
        f"""
        with {PIPELINES}, {INPUTS}, {WATCHED}, placed as (
            select /*+ BROADCAST(pipelines) */ run, topic, partition, key, value, offset, fed, sink,
                sink_partition, min(struct(at, written)) as first
            from inputs join pipelines using (run, topic, partition)
                join {{outputs}} as outputs using (value, run, sink)
            where guarantee = 'order-per-key' and key is not null
            group by value, sink_partition, run, topic, partition, key, offset, fed, sink
        ), ordered as (
            select *, first.at as at, first.written as written, max(offset) over (
                partition by key, run, topic, partition, sink, sink_partition order by first.at
                range between unbounded preceding and 1 preceding
            ) as overtaker
            from placed
        )
        select *, coalesce(overtaker > offset, false) as is_overtaken, {owner("written")} as written_by
        from ordered left join watched using (run, topic, partition)
    """,
        outputs=outputs(history),
    )


@fact(needs="pipeline")
def strange_outputs(history: History) -> DataFrame:
    """One row per record in the sink of an application that names something that is no record that was sent to the
    logs of the source.

    Columns: topic, partition, offset (in the sink), written (ns).
    """
    return history.sql(
        f"""
        with {PIPELINES}, fed as (
            select /*+ BROADCAST(pipelines) */ run, sink, value
            from {{records}} join pipelines using (run, topic, partition) where f = 'send'
        )
        select /*+ BROADCAST(pipelines) */ distinct run, sink as topic, sink_partition as partition, at as offset,
            written
        from {{outputs}} left semi join pipelines using (run, sink) left anti join fed using (value, run, sink)
    """,
        outputs=outputs(history),
    )


@fact(needs="aggregate")
def aggregates(history: History) -> DataFrame:
    """One row per key of which an application made aggregates, judged by a function of its user.

    Columns: topic, partition (of the inputs), sink, key, inputs, outputs (how many), wrong (what is wrong with them;
    null for nothing), fed (ns, the timestamp of the first input), last (text: partition and offset of the last
    output), written (ns, its timestamp). The last two and fed may be null.
    """
    return history.sql("""
        select run, topic, partition, get_json_object(value, '$.sink') as sink,
            get_json_object(value, '$.of_key') as key, cast(get_json_object(value, '$.inputs') as bigint) as inputs,
            cast(get_json_object(value, '$.outputs') as bigint) as outputs,
            get_json_object(value, '$.wrong') as wrong, cast(get_json_object(value, '$.fed') as bigint) as fed,
            get_json_object(value, '$.last') as last, cast(get_json_object(value, '$.written') as bigint) as written
        from {operations} where f = 'aggregate' and type = 'ok'
    """)


_STANDSTILLS = f"""
    with {COMMITTED}, sources as (
        select run, topic, partition, end_offset as position, get_json_object(value, '$.sink') as sink,
            invoked as until
        from {{operations}} where f = 'pipeline' and type = 'ok'
    ), fed as (
        select /*+ BROADCAST(sources) */ run, topic, partition, sink, until, position, value, offset,
            completed as acked
        from {{records}} join sources using (run, topic, partition) where {ACKED} and offset is not null
    ), made as (
        select run, sink, value, min(written) as written from {{outputs}} group by run, sink, value
    ), joined as (
        select run, topic, partition, until, position, offset, acked, written
        from fed left join made using (run, sink, value)
    ), clocks as (
        select run, count(written) > 0 and 2 * count_if(written >= acked) >= count(written) as is_timed
        from joined group by run
    ), passed as (
        select *, min(seen) over (
            partition by run, topic, partition order by at desc range between unbounded preceding and current row
        ) as passed_at
        from (
            select run, topic, partition, offset as at, null as seen, until, position, acked, written from joined
            union all
            select run, topic, partition, position - 1, time, null, null, null, null from committed_positions
        )
    ), answered as (
        select /*+ BROADCAST(clocks) */ run, topic, partition, acked, is_timed, coalesce(
            if(is_timed, written, passed_at), if(at < position, null, until)
        ) as answered
        from passed join clocks using (run) where acked is not null
    ), waits as (
        select run, topic, partition, is_timed, answered as ended,
            greatest(lag(answered) over log, min(acked) over later) as began
        from answered
        window log as (partition by run, topic, partition order by answered),
            later as (
                partition by run, topic, partition order by answered
                rows between current row and unbounded following
            )
    )
    select run, topic, partition, began, ended - began as lasted, is_timed from waits where began < ended
"""


@fact(needs="pipeline")
def standstills(history: History) -> DataFrame:
    """One row per time between two outputs of inputs of a log in which an input waited whose send was acknowledged.

    Columns: began, lasted (ns); is_timed: whether the outputs have timestamps of when they were written. Where most
    of them lie before the acknowledgements of their inputs, as those of Kafka Streams do, and of aggregates, which
    name no input, what counts is when a committed position behind an input was reported.

    An input that was never answered waits until the outputs were read at the end, unless it lies below the position
    that the group had committed then: it is lost, and nobody works at it.
    """
    return history.sql(_STANDSTILLS, outputs=outputs(history))
