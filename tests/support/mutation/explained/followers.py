"""Mutants of `analyzers.facts.followers` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "only samples of partitions name in-sync replicas": (
        "_FOLLOWERS:  log_end)\\n from {{observations}} where kind = 'partition' and node <> leader and "
        "array_contains(isr, node)\\n ), ordered as (\\n select *, max(mark) o ->  log_end)\\n from "
        "{{observations}} where node <> leader and array_contains(isr, node) ), ordered as (\\n select "
        "*, max(mark) o",
    ),
    "only samples of partitions name replicas, and null is not counted": (
        "_FOLLOWERS: n, replicas from {{observations}} where kind = 'partition')\\n group by run, topic, "
        "partition havin -> n, replicas from {{observations}} where true )\\n group by run, topic, "
        "partition havin",
    ),
    "without in-sync replicas, the rows that come on top are compared with no sample": (
        "_FOLLOWERS: ,\\n null as sample\\n from settled where sample is not null\\n union all\\n select "
        "run, topic, partitio -> ,\\n null as sample\\n from settled where true union all\\n select run, "
        "topic, partitio",
    ),
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "_FOLLOWERS: ld, {NAME} as name\\n from ordered where sample is not null\\n )\\n select /*+ "
        "BROADCAST(losses, unclea -> ld, {NAME} as name\\n from ordered where true )\\n select /*+ "
        "BROADCAST(losses, unclea",
    ),
}
