"""What brokers answered to clients that searched by time, or asked for descriptions of topics."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import fact
from analyzers.history.load import History

_SEARCHES = """
    with answered as (
        select run, topic, partition, process, op, invoked, completed, start_offset as known, end_offset as offset,
            cast(get_json_object(value, '$.timestamp') as bigint) as timestamp,
            cast(get_json_object(value, '$.found') as bigint) as found,
            cast(get_json_object(value, '$.value') as bigint) as value
        from {operations} where f = 'search' and type = 'ok' and end_offset is not null
    ), sightings as (
        select /*+ BROADCAST(s) */ s.run, s.op,
            bool_or(r.completed < s.invoked) and bool_or(r.final and r.invoked > s.completed) as lasted
        from {records} r join answered s
            on r.run = s.run and r.topic = s.topic and r.partition = s.partition and r.offset = s.known
                and r.value = s.value
        where r.f = 'poll' group by s.run, s.op
    )
    select answered.*, coalesce(lasted, false) as lasted from answered left join sightings using (run, op)
"""


@fact(needs="search")
def searches(history: History) -> DataFrame:
    """One row per ``search`` that a leader answered with an offset.

    Columns:

    - process, op, invoked, completed (ns); offset, the answer.
    - timestamp, the one that was searched for; found, that of the record at the answered offset, null if it was not
      polled. Both in ms since the epoch.
    - known: the offset at which the process had polled a record of the timestamp; value: of that record.
    - lasted: whether this record was in the log during the search, because a poll had returned it there before, and
      a final read did so afterwards.
    """
    return history.sql(_SEARCHES)


FEW = 100_000
"""Up to this number of different texts, about 10 MB, each is parsed once and broadcast. With more, the text of each
row is parsed."""

_ASKED = """
    asked as (
        select substring_index(topic, '@', 1) as topic, run, f = 'alter' as is_change, type, process, op, invoked,
            completed, value as text
        from {operations} where f = 'alter' and type <> 'fail' or f = 'inspect' and type = 'ok'
    )
"""

_TEXTS = f"with {_ASKED} select approx_count_distinct(text) as texts from asked"

_PARSED = (
    "from_json(text, 'change string, node int, exists boolean, partitions int, retention_ms bigint, "
    "config map<string, string>') as value"
)

_EACH = f"select *, {_PARSED} from asked"
_ONCE = f"""
    select /*+ BROADCAST(texts) */ * from asked
        left join (select text, {_PARSED} from (select distinct text from asked)) as texts using (text)
"""

_INSPECTIONS = f"""
    with {_ASKED}, described as (
        parsed_texts
    ), moments as (
        select topic, run, if(is_change, invoked, completed) as at, is_change, type, process, op, invoked, completed,
            value.change, value.node, value.exists as there, value.partitions,
            coalesce(try_cast(value.config['retention.ms'] as bigint), value.retention_ms) as retention,
            coalesce(map_contains_key(value.config, 'retention.ms'), false) as is_stated
        from described
    ), ordered as (
        select run, topic, is_change, process, op, invoked, completed, node, there, partitions, retention,
            max(type = 'info') over before as unknown,
            max(struct(completed, change)) filter (where is_change) over before as changed,
            max(struct(completed, partitions)) filter (where is_change and partitions is not null) over before
                as sized,
            max(struct(completed, retention))
                filter (where is_change and (retention is not null or is_stated)) over before as kept
        from moments window before as (
            partition by topic, run order by at, not is_change rows between unbounded preceding and current row
        )
    ), compared as (
        select run, topic, process, op, invoked, completed, completed as time, node, there, partitions, retention,
            unknown or coalesce(changed.completed >= invoked, false) as unclear, changed.change = 'delete' as deleted,
            sized.partitions as wanted, kept.retention as wanted_retention
        from ordered where not is_change and changed is not null
    )
    select *, if(deleted, 'deleted', concat_ws(', ', concat(wanted, ' partitions'),
            concat('retention.ms ', wanted_retention))) as expected,
        if(there, concat_ws(', ', concat(partitions, ' partitions'), concat('retention.ms ', retention)),
            'unknown topic') as reported
    from compared
"""


@fact(needs="inspect")
def inspections(history: History) -> DataFrame:
    """One row per topic, broker and inspection, if some change of the topic was not refused before it ended.

    Columns:

    - process, op, node, time (ns): who asked which broker, and when it had answered.
    - there, partitions, retention: what the broker reported; the latter two are null where it did not.
    - deleted: whether the last change is a deletion; wanted, wanted_retention: the last number of partitions and the
      last setting that a change stated, null for none; expected, reported: all of this as text.
    - unclear: whether one of these changes has an unknown outcome, or was not acknowledged before the inspection
      began.
    """
    has_few = not history.in_one_piece and history.rows(_TEXTS)[0].texts <= FEW
    return history.sql(_INSPECTIONS.replace("parsed_texts", _ONCE if has_few else _EACH))
