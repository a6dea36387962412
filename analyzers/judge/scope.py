"""What facts have to look at, and what they need to know of each log, as the tallies of the runs say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pyarrow as pa

from analyzers.facts.fact import SESSION
from analyzers.history.load import MANY_RUNS, Known
from analyzers.judge.tally import Tally, most
from analyzers.spark.statements import sql_literal


def known(tallies: Mapping[str, Tally], *, knows_logs: bool = True) -> Known:
    """What they say of all runs together.

    knows_logs  whether the logs of the history are those that the tallies counted.
    """
    return Known(
        kinds=frozenset().union(*(run.kinds() for run in tallies.values())),
        sessions=session_filter(tallies),
        lengths=partial(lengths, tallies) if knows_logs else None,
    )


def session_filter(tallies: Mapping[str, Tally]) -> str:
    """SQL condition on the records of sessions that send and poll, or read.

    Without it, facts about sessions group and sort all records, of which most belong to no such session.
    """
    if len(tallies) > MANY_RUNS:
        return "true"
    sessions = {run: sorted(of_run.users | of_run.reading) for run, of_run in tallies.items()}
    conditions = [
        f"(run = {sql_literal(run)} and {SESSION} in ({', '.join(map(str, numbers))}))"
        for run, numbers in sessions.items()
        if numbers
    ]
    return " or ".join(conditions) or "false"


LENGTHS = pa.schema({
    "run": pa.string(), "topic": pa.string(), "partition": pa.int32(), "top": pa.int64(), "until": pa.int64(),
    "isolated": pa.bool_(),
})  # fmt: skip
"""Of a log with a record, as `analyzers.facts.removals` describes them."""


def lengths(tallies: Mapping[str, Tally]) -> pa.Table:
    """A row of `LENGTHS` for each log with a record."""
    rows = []
    for run, of_run in tallies.items():
        tops: dict[tuple[str, int], int | None] = dict.fromkeys(of_run.recorded)
        isolated = set()
        for client in of_run.polled:
            log = client.topic, client.partition
            tops[log] = most(tops.get(log), client.top)
            if client.final and client.committed:
                isolated.add(log)
        rows += [(run, *log, top, of_run.until, log in isolated) for log, top in tops.items()]
    return pa.Table.from_pylist([dict(zip(LENGTHS.names, row, strict=True)) for row in rows], schema=LENGTHS)
