"""Mutants of `analyzers.facts.members` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "an assignment has a log": ("assignments: known.where('topic is not null') -> known",),
    "an event that comes several times at once ends an assignment as if it came once": (
        "assignments: of_logs.select(*GROUP_LOG, 'process').distinct() -> of_logs.select(*GROUP_LOG, "
        "'process')",
    ),
    (
        "Spark keeps the order of a union, in which rows of one time already have the order that is asked for"
    ): (
        "committed_before: Window.partitionBy(*GROUP_LOG, 'era').orderBy('moment', 'kind') -> "
        "Window.partitionBy(*GROUP_LOG, 'era').orderBy('moment')",
    ),
    "the row itself holds nothing of what is aggregated": (
        "committed_before: Window.partitionBy(*GROUP_LOG, 'era').orderBy('moment', "
        "'kind').rowsBetween(UNBOUNDED, -1) -> Window.partitionBy(*GROUP_LOG, "
        "'era').orderBy('moment', 'kind').rowsBetween(UNBOUNDED, 0)",
    ),
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "committed_before: asked.unionByName(done, allowMissingColumns=True).withColumn('committed', "
        "F.max('committed').over(line)).where('kind = 0') -> asked.unionByName(done, "
        "allowMissingColumns=True).withColumn('committed', F.max('committed').over(line))",
    ),
    "only the rows of workers have these events": (
        "deaths: \"f = 'worker' and get_json_object(value, '$.event') in ('stopped', 'crashed', "
        "'killed')\" -> \" get_json_object(value, '$.event') in ('stopped', 'crashed', 'killed') \"",
    ),
    "only the rows of workers name a process, which starts before it does anything": (
        "deaths: \"f = 'worker' and get_json_object(value, '$.event') in ('stopped', 'crashed', "
        "'killed')\" -> \" f = 'worker' \"",
        "deaths: history.operations.where(ended) -> history.operations",
    ),
    "only members and commits have a group": (
        "_members: history.operations.where(\"f in ('member', 'commit')\") -> history.operations",
    ),
    "a polled record has an offset": (
        "of_groups: \"f = 'poll' and offset is not null\" -> \" f = 'poll' \"",
    ),
    "the filter only saves work, and holds for every record when a fact is computed by itself": (
        "of_groups: history.records.where(\"f = 'poll' and offset is not "
        "null\").where(history.offset_filter) -> history.records.where(\"f = 'poll' and offset is not "
        'null")',
    ),
}
