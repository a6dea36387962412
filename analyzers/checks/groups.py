"""A partition has one owner, and its group goes on where it had got to."""

from __future__ import annotations

from analyzers.checks.check import Check

MEMBER = {"process": "process", "op": "op", "generation": "generation"}

DOUBLE_OWNERSHIP = Check(
    anomaly="double-ownership",
    over="ownerships",
    where="began < held",
    time="began",
    shows=MEMBER | {"held": "held"},
)

GROUP_SKIP = Check(
    anomaly="group-skip",
    over="handovers",
    where="there and not polled",
    time="time",
    shows=MEMBER | {"offset": "offset", "reached": "reached", "position": "position"},
)

COMMIT_REGRESSION = Check(
    anomaly="commit-regression",
    over="group_commits",
    where="offset < committed and not reset",
    time="time",
    shows=MEMBER | {"offset": "offset", "reached": "committed"},
)

FENCED_COMMIT = Check(
    anomaly="fenced-commit",
    over="group_commits",
    where="generation < newest and process != newest_process",
    time="time",
    shows=MEMBER | {"offset": "offset", "newest": "newest"},
)

EXCESS_DUPLICATES = Check(
    anomaly="excess-duplicates",
    over="redeliveries",
    where="offset < committed and first_polled < since",
    time="time",
    shows=MEMBER | {"value": "value", "offset": "offset", "committed": "committed"},
)


def orphaned_partition(bound: int | str) -> Check:
    """For a bound in ns, or SQL of it; null: no bound."""
    return Check(
        anomaly="orphaned-partition",
        over="orphans",
        where=f"lasted > {bound}",
        time="began",
        shows={"began": "began", "lasted": "lasted"},
    )
