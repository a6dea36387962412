"""Mutants of `analyzers.facts.conflicts` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "Spark keeps the order of a union, in which rows of one time already have the order that is asked for": (
        "conflicts: Window.partitionBy(*LOG, 'offset').orderBy('first', 'value') -> "
        "Window.partitionBy(*LOG, 'offset').orderBy('first')",
    ),
    "a value is sent once, so that all rows with the column hold the same": (
        'conflicts: "max(completed) filter (where f = \'send\') as acked_at" -> "min(completed) filter '
        "(where f = 'send') as acked_at\"",
    ),
    "the rows that come on top count in no aggregate: each has a condition of its own": (
        "conflicts: \"min(completed) filter (where f = 'poll') as polled_at\" -> 'min(completed) as "
        "polled_at'",
        "conflicts: \"min(completed) filter (where f = 'poll') as polled_at\" -> 'min(completed) filter "
        "(where true ) as polled_at'",
    ),
    "the prefilter narrows the fact down, here to all values; test_prefilter is about that": (
        "conflicts: history.records.where(seen).where(history.value_filter) -> history.records.where(seen)",
    ),
    "to choose the offsets with several values beforehand only saves work": (
        "_shared: 'low < high' -> 'low <= high'",
        "_shared: views.groupBy(*LOG, 'offset').agg(F.min('value').alias('low'), "
        "F.max('value').alias('high')).where('low < high') -> views.groupBy(*LOG, "
        "'offset').agg(F.min('value').alias('low'), F.max('value').alias('high'))",
        "conflicts: [*LOG, 'offset'] -> [*LOG]",
        "conflicts: views.join(F.broadcast(_shared(views)), [*LOG, 'offset'], 'left_semi') -> views",
    ),
    "here offsets with one value are left out before; test_planted is about facts that the prefilter narrows": (
        "conflicts: 'low < high' -> 'low <= high'",
        "conflicts: acked_at), min(polled_at)) as settled')).where('low < high') -> acked_at), "
        "min(polled_at)) as settled'))",
    ),
    "null is equal to nothing, above nothing, and the least in an order": (
        "conflicts: f'value is not null and offset is not null and (({ACKED}) or ({POLLED}))' -> f' "
        "value is not null and (({ACKED}) or ({POLLED})) '",
    ),
    "the condition is reached only where neither is null": (
        "FOLLOWS: '\\n coalesce(last_before < first, false)\\n and coalesce(low_epoch > "
        "coalesce(epoch_before, 0), false)\\n' -> '\\n coalesce(last_before < first, true)\\n and "
        "coalesce(low_epoch > coalesce(epoch_before, 0), false)\\n'",
    ),
}
