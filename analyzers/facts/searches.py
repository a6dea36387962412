"""Per search for an offset by time: the record that it was for, and the record that it found."""

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
