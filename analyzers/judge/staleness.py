"""How late sessions read what they had written: measured for runs with a role that states that it does so."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from analyzers.facts.sessions import session_writes
from analyzers.history.load import History
from analyzers.history.run_progress import parse
from analyzers.judge.tally import Tally
from analyzers.verdict.staleness import Staleness


def measured_runs(tallies: Mapping[str, Tally]) -> list[str]:
    """The runs with a client of which the harness recorded ``"reads_own": true``, and with reads of sessions."""
    return sorted(
        run
        for run, of_run in tallies.items()
        if of_run.reading
        and any(row.f == "worker" and parse(row.value).get("reads_own") is True for row in of_run.harness)
    )


def stalenesses(history: History, runs: Collection[str]) -> dict[str, Staleness]:
    """By run id, of those of `runs` with an acknowledged write of a session. One Spark job; none without runs."""
    if not runs:
        return {}
    writes = session_writes(history.of_runs(runs))
    rows = history.records.sparkSession.sql(_STATEMENT, writes=writes).collect()
    return {
        row.run: Staleness(
            writes=row.writes,
            reads=row.reads,
            missed=row.missed,
            unseen=row.unseen,
            median=_s(row.quantiles[0]) if row.quantiles else None,
            percentile_90=_s(row.quantiles[1]) if row.quantiles else None,
            longest=_s(row.longest),
        )
        for row in rows
    }


def _s(time: int | None) -> float | None:
    return None if time is None else time / 1e9


_STATEMENT = """
    with late as (select *, if(seen is null, null, greatest(seen - time, 0)) as staleness from {writes})
    select run, count(*) as writes, count(read_end) as reads,
        count_if(read_end is not null and (seen is null or seen > read_end)) as missed,
        count_if(seen is null) as unseen,
        percentile_approx(staleness, array(0.5, 0.9)) as quantiles, max(staleness) as longest
    from late group by run
"""
