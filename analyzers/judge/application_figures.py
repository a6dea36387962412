"""Of the applications of users: how long they stood still, and their settings, as far as these are known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from analyzers.facts.pipelines import standstills
from analyzers.history.load import History
from analyzers.verdict.availability import Standstill


@dataclass(frozen=True, kw_only=True)
class ApplicationFigures:
    """Times in ns."""

    standstill: tuple[int, int, str, int, bool] | None = None
    """The longest one: how long it lasted, when it began, topic, partition, and whether timestamps of outputs show
    it. None for an application that never let an input wait."""
    settings: Mapping[str, str] = field(default_factory=dict)

    def availability(self, began: int | None) -> Standstill | None:
        """began: of the run's first operation, ns."""
        if self.standstill is None:
            return None
        lasted, since, topic, partition, is_timed = self.standstill
        return Standstill(
            topic=topic,
            partition=partition,
            lasted=lasted / 1e9,
            began=None if began is None else (since - began) / 1e9,
            by="outputs" if is_timed else "positions",
        )


def application_figures(history: History, runs: Collection[str]) -> dict[str, ApplicationFigures]:
    """By run id. One Spark job; none without runs."""
    if not runs:
        return {}
    of_runs = history.of_runs(runs)
    rows = of_runs.sql(_APPLICATIONS, waits=standstills(of_runs)).collect()
    return {
        row.run: ApplicationFigures(
            standstill=row.most
            and (row.most.lasted, -row.most.earlier, row.most.topic, row.most.partition, row.most.is_timed),
            settings={} if row.session is None else {"session.timeout.ms": row.session},
        )
        for row in rows
    }


_APPLICATIONS = """
    with longest as (
        select run, max(struct(lasted, -began as earlier, topic, partition, is_timed)) as most from {waits}
        group by run
    ), settings as (
        select run, max(get_json_object(value, '$.session_timeout')) as session from {observations}
        where kind = 'group_log' group by run
    )
    select run, most, session from longest full outer join settings using (run)
"""
