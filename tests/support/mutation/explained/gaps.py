"""Mutants of `analyzers.facts.gaps` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "_blocks: f\"offset is not null and (f = 'poll' or ({ACKED}))\" -> f\" (f = 'poll' or ({ACKED})) \"",
    ),
    "only polls have the column": (
        "COMMITTED: \"f = 'poll' and committed\" -> ' committed '",
        "_acknowledged_blocks: \"f = 'poll' and committed\" -> ' committed '",
    ),
    "null is equal to nothing, above nothing, and the least in an order": (
        "_acknowledged_blocks: f'offset is not null and value is not null and (({ACKED}) or {polled})' "
        "-> f' value is not null and (({ACKED}) or {polled}) '",
    ),
    "it only saves work: what it leaves out matters to no step with a gap": (
        "_acknowledged_blocks: \"f = 'poll' and committed\" -> \" f = 'poll' \"",
        "_acknowledged_blocks: f'({POLLED} and not coalesce(committed, false))' -> f'( {POLLED} )'",
        "_acknowledged_blocks: history.records.where(\"f = 'poll' and committed\") -> history.records",
        "_acknowledged_blocks: history.records.where(\"f = 'poll' and "
        "committed\").select(*LOG).distinct() -> history.records.where(\"f = 'poll' and "
        'committed").select(*LOG)',
        "_acknowledged_blocks: history.records.where(f'offset is not null and value is not null and "
        "(({ACKED}) or {polled})').join(F.broadcast(careful), LOG, 'left_semi') -> "
        "history.records.where(f'offset is not null and value is not null and (({ACKED}) or {polled})')",
        "gaps: \"offset > previous + 1 and (f = 'poll' or within)\" -> \" (f = 'poll' or within) \"",
        'gaps: "offset > previous + 1 and (f = \'poll\' or within)" -> "offset > previous - 1 and (f = '
        "'poll' or within)\"",
        'gaps: "offset > previous + 1 and (f = \'poll\' or within)" -> "offset > previous and (f = '
        "'poll' or within)\"",
        'gaps: "offset > previous + 1 and (f = \'poll\' or within)" -> "offset >= previous + 1 and (f = '
        "'poll' or within)\"",
    ),
    "the record at which a step ends lies in the block": (
        "gaps: left_out.withColumn('block', F.expr(f'shiftright(offset, "
        "{BLOCK})')).join(_blocks(history), [*LOG, 'block'], 'left') -> left_out.withColumn('block', "
        "F.expr(f'shiftright(offset, {BLOCK})')).join(_blocks(history), [*LOG, 'block'], 'inner')",
    ),
}
