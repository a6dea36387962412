"""The logs of runs with what facts about removed records need to know of each, from the tally."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from analyzers.judge.tally import Tally, most

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
