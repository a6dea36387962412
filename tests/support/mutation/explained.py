"""Mutants of facts that no history can tell from the original, by the reason for that."""

from __future__ import annotations

_BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "gaps._blocks: f\"offset is not null and (f = 'poll' or ({ACKED}))\" -> f\" (f = 'po"
        "ll' or ({ACKED})) \"",
        "leader_polls.leader_polls: \"f = 'poll' and offset is not null and node is not nu"
        'll" -> " f = \'poll\' and node is not null "',
        "leader_polls.leader_polls: history.records.where(\"f = 'poll' and offset is not n"
        'ull and node is not null") -> history.records',
        "leader_polls.leader_polls: polls.unionByName(answers, allowMissingColumns=True)."
        "withColumn('watermark', F.min('high_watermark').over(later)).where('op is not nu"
        "ll') -> polls.unionByName(answers, allowMissingColumns=True).withColumn('waterma"
        "rk', F.min('high_watermark').over(later))",
        "proved_sends.proved_sends: 'invoked is not null and offset is not null' -> ' offset is not null '",
        "proved_sends.proved_sends: in_by('offset', 'acked_at').over(above)).where('value"
        " is not null') -> in_by('offset', 'acked_at').over(above))",
        "session_reads.session_reads: begun.unionByName(done, allowMissingColumns=True).u"
        "nionByName(polled, allowMissingColumns=True).withColumn('reached', F.max('reache"
        "d').over(sofar)).where(f'kind = {BEGINS}') -> begun.unionByName(done, allowMissi"
        "ngColumns=True).unionByName(polled, allowMissingColumns=True).withColumn('reache"
        "d', F.max('reached').over(sofar))",
        "session_sends.session_sends: begun.unionByName(done, allowMissingColumns=True).w"
        "ithColumn('reading', F.max('reading').over(line)).withColumn('writing', F.max('w"
        "riting').over(line)).where(f'kind = {BEGINS}') -> begun.unionByName(done, allowM"
        "issingColumns=True).withColumn('reading', F.max('reading').over(line)).withColum"
        "n('writing', F.max('writing').over(line))",
        "session_sends.session_sends: f\"offset is not null and (f = 'poll' or ({ACKED}))\""
        " -> f\" (f = 'poll' or ({ACKED})) \"",
        "session_writes.session_writes: filter (where {POLLED})').alias('seen')).where('t"
        "ime is not null') -> filter (where {POLLED})').alias('seen'))",
    ),
    "the row itself holds nothing of what is aggregated": (
        "session_reads.session_reads: Window.partitionBy(*key).orderBy('at', 'kind').rows"
        "Between(Window.unboundedPreceding, 0) -> Window.partitionBy(*key).orderBy('at', "
        "'kind').rowsBetween(Window.unboundedPreceding, -1)",
        "session_sends.session_sends: Window.partitionBy(*key).orderBy('at', 'kind').rows"
        "Between(Window.unboundedPreceding, 0) -> Window.partitionBy(*key).orderBy('at', "
        "'kind').rowsBetween(Window.unboundedPreceding, -1)",
    ),
    "Spark keeps the order of a union, in which rows of one time already have the order that is asked for": (
        "conflicts.conflicts: Window.partitionBy(*LOG, 'offset').orderBy('first', 'value'"
        ") -> Window.partitionBy(*LOG, 'offset').orderBy('first')",
        "session_sends.session_sends: Window.partitionBy(*key).orderBy('at', 'kind') -> W"
        "indow.partitionBy(*key).orderBy('at')",
        "session_writes.session_writes: Window.partitionBy(*LOG, 'session').orderBy('at',"
        " F.col('next_read').asc_nulls_first()) -> Window.partitionBy(*LOG, 'session').or"
        "derBy('at')",
    ),
    "a value is sent once, so that all rows with the column hold the same": (
        'conflicts.conflicts: "max(completed) filter (where f = \'send\') as acked_at" -> "'
        "min(completed) filter (where f = 'send') as acked_at\"",
        "proved_sends.proved_sends: f\"min({name}) filter (where f = 'send') as {name}\" ->"
        " f\"max({name}) filter (where f = 'send') as {name}\"",
        "session_writes.session_writes: f'max(completed) filter (where {ACKED})' -> f'min"
        "(completed) filter (where {ACKED})'",
        "session_writes.session_writes: f'max(offset) filter (where {ACKED})' -> f'min(of"
        "fset) filter (where {ACKED})'",
        "session_writes.session_writes: f'max(process) filter (where {ACKED})' -> f'min(p"
        "rocess) filter (where {ACKED})'",
    ),
    "the rows that come on top count in no aggregate: each has a condition of its own": (
        "conflicts.conflicts: \"min(completed) filter (where f = 'poll') as polled_at\" -> "
        "'min(completed) as polled_at'",
        "conflicts.conflicts: \"min(completed) filter (where f = 'poll') as polled_at\" -> "
        "'min(completed) filter (where true ) as polled_at'",
        "session_writes.session_writes: f'value is not null and (({ACKED}) or ({POLLED}))"
        "' -> f' value is not null '",
    ),
    "only polls have the column": (
        "gaps.BITS: \"f = 'poll' and committed\" -> ' committed '",
        "gaps._acknowledged_blocks: \"f = 'poll' and committed\" -> ' committed '",
        "leader_polls.leader_polls: \"f = 'poll' and offset is not null and node is not nu"
        "ll\" -> ' offset is not null and node is not null '",
        "session_writes.session_writes: \"f = 'poll' and committed\" -> ' committed '",
    ),
    "the prefilter narrows the fact down, here to all values; test_prefilter is about that": (
        "conflicts.conflicts: history.records.where(seen).where(history.value_filter) -> "
        "history.records.where(seen)",
        "proved_sends.proved_sends: history.records.where(f'value is not null and (({UNKN"
        "OWN}) or ({POLLED}))').where(history.value_filter) -> history.records.where(f'va"
        "lue is not null and (({UNKNOWN}) or ({POLLED}))')",
    ),
    "null is equal to nothing, above nothing, and the least in an order": (
        "conflicts.conflicts: f'value is not null and offset is not null and (({ACKED}) o"
        "r ({POLLED}))' -> f' value is not null and (({ACKED}) or ({POLLED})) '",
        "gaps._acknowledged_blocks: f'offset is not null and value is not null and (({ACK"
        "ED}) or {polled})' -> f' value is not null and (({ACKED}) or {polled}) '",
        "leader_polls.leader_polls: \"f = 'poll' and offset is not null and node is not nu"
        'll" -> " f = \'poll\' and offset is not null "',
        "leader_polls.leader_polls: \"kind = 'partition' and node is not null\" -> \" kind = 'partition' \"",
        "leader_polls.leader_polls: 'at is not null and high_watermark is not null' -> ' at is not null '",
        "leader_polls.leader_polls: 'at is not null and high_watermark is not null' -> ' "
        "high_watermark is not null '",
        "leader_polls.leader_polls: epoch', 'asked as at', 'high_watermark').where('at is"
        " not null and high_watermark is not null') -> epoch', 'asked as at', 'high_water"
        "mark')",
        "proved_sends.proved_sends: f'value is not null and (({UNKNOWN}) or ({POLLED}))' "
        "-> f' (({UNKNOWN}) or ({POLLED})) '",
        "proved_sends.proved_sends: f'{ACKED} and offset is not null' -> f' {ACKED} '",
    ),
    "a poll with an error has no value, or one that was sent to another log": (
        "proved_sends.UNKNOWN: \"f = 'send' and type = 'info'\" -> \" type = 'info' \"",
    ),
    "the condition is reached only where neither is null": (
        "conflicts.FOLLOWS: '\\n coalesce(last_before < first, false)\\n and coalesce(low_e"
        "poch > coalesce(epoch_before, 0), false)\\n' -> '\\n coalesce(last_before < first,"
        " true)\\n and coalesce(low_epoch > coalesce(epoch_before, 0), false)\\n'",
    ),
    "it only saves work: what it leaves out matters to no step with a gap": (
        "gaps._acknowledged_blocks: \"f = 'poll' and committed\" -> \" f = 'poll' \"",
        "gaps._acknowledged_blocks: f'({POLLED} and not coalesce(committed, false))' -> f'( {POLLED} )'",
        "gaps._acknowledged_blocks: history.records.where(\"f = 'poll' and committed\") -> history.records",
        "gaps._acknowledged_blocks: history.records.where(\"f = 'poll' and committed\").sel"
        "ect(*LOG).distinct() -> history.records.where(\"f = 'poll' and committed\").select"
        "(*LOG)",
        "gaps._acknowledged_blocks: history.records.where(f'offset is not null and value "
        "is not null and (({ACKED}) or {polled})').join(F.broadcast(careful), LOG, 'left_"
        "semi') -> history.records.where(f'offset is not null and value is not null and ("
        "({ACKED}) or {polled})')",
        "gaps.gaps: \"offset > previous + 1 and (f = 'poll' or within)\" -> \" (f = 'poll' or within) \"",
        'gaps.gaps: "offset > previous + 1 and (f = \'poll\' or within)" -> "offset > previ'
        "ous - 1 and (f = 'poll' or within)\"",
        'gaps.gaps: "offset > previous + 1 and (f = \'poll\' or within)" -> "offset > previ'
        "ous and (f = 'poll' or within)\"",
        'gaps.gaps: "offset > previous + 1 and (f = \'poll\' or within)" -> "offset >= prev'
        "ious + 1 and (f = 'poll' or within)\"",
    ),
    "the record at which a step ends lies in the block": (
        "gaps.gaps: left_out.withColumn('block', F.expr(f'shiftright(offset, {BLOCK})'))."
        "join(_blocks(history), [*LOG, 'block'], 'left') -> left_out.withColumn('block', "
        "F.expr(f'shiftright(offset, {BLOCK})')).join(_blocks(history), [*LOG, 'block'], "
        "'inner')",
    ),
}

EXPLAINED = {name: reason for reason, names in _BY_REASON.items() for name in names}
"""Name of a mutant to the reason."""
