"""How transactions ended, who read their records and who passed them, and on which others they depend."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import LOG, POLLED, SERVED, fact
from analyzers.facts.members import readings
from analyzers.facts.removals import removed_beginnings
from analyzers.history.load import History

NAMED = [
    "run", "op", "process", "type", "invoked", "completed",
    "get_json_object(value, '$.transactional_id') as name",
    "cast(get_json_object(value, '$.epoch') as bigint) as epoch",
    "get_json_object(value, '$.producer_id') as producer_id",
]  # fmt: skip

REFUTED = "coalesce(get_json_object(value, '$.requested') = 'false', false)"
"""The program that recorded the history says that the end was never requested."""


def transactions(history: History) -> DataFrame:
    """One row per operation ``txn``.

    Columns: run, op, process, type, invoked, completed (ns), ending (ns, null for none), unended (whether it is known
    that its client did not request an end), and fenced (ns): the first completion of an init that fenced its
    producer; null for none.

    The later of two inits fences the producer of the earlier one. An epoch tells which was later only where they
    overlap, or where the producer's own init is not known: a transactional id gets a new producer id, with new
    epochs, when its epochs are exhausted or it has expired.
    """
    ends = [
        "cast(get_json_object(value, '$.ending') as bigint) as ending",
        f"type <> 'ok' and (completed is not null or {REFUTED}) and get_json_object(value, '$.ending') is null "
        "as unended",
    ]
    known = history.operations.where("f = 'txn'").selectExpr(*NAMED, *ends)
    inits = (
        history.operations.where("f = 'init'")
        .selectExpr(*NAMED)
        .groupBy("run", "name")
        .agg(
            F.expr("collect_list(struct(process, type, invoked, completed, epoch, producer_id))").alias(
                "inits"
            )
        )
    )
    own = "exists(inits, o -> o.process = process and o.invoked > i.invoked)"
    claims = "filter(inits, o -> o.process = process and o.type = 'ok' and o.invoked <= invoked)"
    claimed = f"array_max(transform({claims}, o -> o.completed))"
    later = f"coalesce(i.invoked > {claimed}, false)"
    higher = "(i.epoch > epoch and coalesce(i.producer_id = producer_id, true))"
    fencing = f"i.type = 'ok' and i.process <> process and ({later} or {higher}) and not {own}"
    fenced = f"array_min(transform(filter(inits, i -> coalesce({fencing}, false)), i -> i.completed))"
    return (
        known.join(F.broadcast(inits), ["run", "name"], "left")
        .withColumn("fenced", F.expr(fenced))
        .drop("inits", "name", "epoch", "producer_id")
    )


FINAL = -1
"""The number of the reader that stands for all final reads together."""


def coverage(history: History) -> DataFrame:
    """One row per log. Columns: spans, an array of (reader, low, high), both ends inclusive.

    A span is the range of offsets, from the first to the last, that a process polled in one assignment and reading
    (see `analyzers.facts.members`), or that one of its completed reads covered. Only processes count whose polls all
    have isolation.level=read_committed. Spans of a reader that overlap or touch are one, so a session that reads on
    has one span, however often it reads.
    """
    each = (
        readings(history)
        .groupBy(*LOG, "process", "assignment", "reading", "final")
        .agg(
            F.expr("min(low)").alias("low"),
            F.expr("max(high)").alias("high"),
            F.expr("every(committed)").alias("committed"),
        )
    )
    careful = (
        each.groupBy("run", "process").agg(F.expr("every(committed)").alias("committed")).where("committed")
    )
    reads = (
        history.operations.where("f in ('read', 'final-read') and type = 'ok' and start_offset < end_offset")
        .join(F.broadcast(careful), ["run", "process"], "left_semi")
        .selectExpr(
            *LOG,
            f"if(f = 'final-read', {FINAL}, process) as reader",
            "start_offset as low",
            "end_offset - 1 as high",
        )
    )
    polled = each.where("committed").selectExpr(*LOG, f"if(final, {FINAL}, process) as reader", "low", "high")
    return (
        _merged(polled.unionByName(reads))
        .groupBy(*LOG)
        .agg(F.expr("collect_list(struct(reader, low, high))").alias("spans"))
    )


def _merged(spans: DataFrame) -> DataFrame:
    line = Window.partitionBy(*LOG, "reader").orderBy("low", "high")
    before = line.rowsBetween(Window.unboundedPreceding, -1)
    return (
        spans.withColumn("reached", F.max("high").over(before))
        .withColumn("number", F.expr("count_if(low - 1 > reached)").over(line))
        .groupBy(*LOG, "reader", "number")
        .agg(F.min("low").alias("low"), F.max("high").alias("high"))
    )


COMMITTED = "f = 'poll' and coalesce(committed, false)"
IS_SERVED = "(fetched is not null or completed is not null)"
"""Of a poll: it is known when the broker had answered."""

READER = f"if(coalesce(final, false), {FINAL}, process)"


def values_of_transactions(history: History) -> DataFrame:
    """One row per log and value of a transaction.

    Columns: value, transaction; of the send: process, kind (its completion type), offset, invoked (ns);
    of the polls: polled (by any process), readers (those with read_committed), within (the transactions they
    polled in), first_read (ns, when the first response arrived of which that is known), read_offset.
    """
    rows = history.records.where(
        f"value is not null and ((f = 'send' and transaction is not null) or ({POLLED}))"
    )
    sent = "f = 'send'"
    return (
        rows.groupBy(*LOG, "value")
        .agg(
            F.expr(f"max(transaction) filter (where {sent})").alias("transaction"),
            F.expr(f"max(process) filter (where {sent})").alias("process"),
            F.expr(f"max(type) filter (where {sent})").alias("kind"),
            F.expr(f"max(offset) filter (where {sent})").alias("offset"),
            F.expr(f"min(invoked) filter (where {sent})").alias("invoked"),
            F.expr("bool_or(f = 'poll')").alias("polled"),
            F.expr(f"collect_set({READER}) filter (where {COMMITTED})").alias("readers"),
            F.expr(f"collect_set(transaction) filter (where {COMMITTED})").alias("within"),
            F.expr(f"min({SERVED}) filter (where {IS_SERVED} and {COMMITTED})").alias("first_read"),
            F.expr(f"min(offset) filter (where {COMMITTED})").alias("read_offset"),
        )
        .where("transaction is not null")
    )


@fact(needs="txn")
def transactional_writes(history: History) -> DataFrame:
    """The rows of `values_of_transactions` with their offset, and

    - missed: readers (read_committed) that passed the offset and never found the value; none if it may have been
      removed from the beginning of the log, or by compaction,
    - saw: readers that polled any record of the transaction,
    - ending (ns): when the end of the transaction was requested; null if it was not, or if that is not known,
    - last_sent (ns): when its last send was invoked; until then it was open,
    - unended: whether its client gave up and did not request an end,
    - fenced (ns): when its producer had been fenced; null for never.
    """
    passed = "filter(spans, s -> offset between s.low and s.high and not array_contains(readers, s.reader))"
    found = without_compacted(coverage(history).select(*LOG, "spans"), history)
    parts = (
        values_of_transactions(history)
        .join(F.broadcast(found), LOG, "left")
        .join(F.broadcast(removed_beginnings(history)), LOG, "left")
        .withColumn("spans", F.expr("if(offset < removed_to, null, spans)"))
        .withColumn("missed", F.expr(f"coalesce(transform({passed}, s -> s.reader), array())"))
        .drop("spans", "removed_to")
    )
    known = transactions(history).selectExpr("run", "op as transaction", "ending", "unended", "fenced")
    of = Window.partitionBy("run", "transaction")
    return (
        parts.unionByName(known, allowMissingColumns=True)
        .withColumn("saw", F.array_distinct(F.flatten(F.collect_list("readers").over(of))))
        .withColumn("ending", F.max("ending").over(of))
        .withColumn("last_sent", F.max("invoked").over(of))
        .withColumn("unended", F.max("unended").over(of))
        .withColumn("fenced", F.max("fenced").over(of))
        .where("value is not null")
    )


@fact(needs="txn")
def committed_polls(history: History) -> DataFrame:
    """One row per poll and log with read_committed that returned records and completed.

    Columns: process, op, offset (the highest returned), value (at it), time (ns, when its
    last response had arrived), and last_stable: the lowest one that the leader returned to a request sent later; null
    for none. The
    definition of read-above-lso says which answers count.
    """
    polls = (
        history.records.where("f = 'poll' and coalesce(committed, false) and offset is not null")
        .where("completed is not null")
        .groupBy(*LOG, "process", "op")
        .agg(F.expr("max(struct(offset, value))").alias("top"), F.expr(f"max({SERVED})").alias("at"))
        .selectExpr(*LOG, "process", "op", "top.offset as offset", "top.value as value", "at")
    )
    log = Window.partitionBy(*LOG)
    answers = (
        history.observations.where("kind = 'partition'")
        .withColumn("latest", F.max("leader_epoch").over(log))
        .where("node = leader and leader_epoch = latest")
        .withColumn("least_end", F.min("log_end").over(log))
        .where("last_stable is not null and high_watermark >= least_end")
        .selectExpr(*LOG, "asked as at", "last_stable")
        .where("at is not null")
    )
    # A request sent in the same nanosecond as the completion is not ordered after it.
    later = Window.partitionBy(*LOG).orderBy(F.desc("at")).rangeBetween(Window.unboundedPreceding, -1)
    return (
        polls.unionByName(answers, allowMissingColumns=True)
        .withColumn("last_stable", F.min("last_stable").over(later))
        .where("op is not null")
        .withColumnRenamed("at", "time")
    )


def dependencies(history: History) -> DataFrame:
    """One row per dependency of one transaction (target) on another (source).

    Columns: run, topic, partition, kind, source, target. Kinds: ``ww``, where the next known record of a log after
    one of the source is of the target; ``wr``, where the target polled a record of the source with read_committed.
    """
    parts = values_of_transactions(history)
    # The offset in an acknowledgement counts only if the transaction committed, that of a read_committed poll always.
    placed = parts.withColumn("at", F.expr("coalesce(read_offset, if(kind = 'ok', offset, null))"))
    line = Window.partitionBy(*LOG).orderBy("at", "value")
    ww = (
        placed.where("at is not null and kind <> 'fail'")
        .withColumn("source", F.lag("transaction").over(line))
        .selectExpr(*LOG, "'ww' as kind", "source", "transaction as target")
    )
    wr = parts.selectExpr(*LOG, "'wr' as kind", "transaction as source", "explode(within) as target")
    return ww.unionByName(wr).where("source <> target")


def cycle_candidates(history: History, kinds: tuple[str, ...]) -> DataFrame:
    """The dependencies of these kinds that may be part of a cycle, including cycles with realtime edges.

    Columns: run, topic, partition, kind, and source, target: structs of (ended, op, invoked, completed,
    type), where ended (ns) orders all transactions by their ends.

    In that order, a cycle needs at least one dependency that goes back, and lies within the span of such
    dependencies. So only dependencies within the union of these spans are returned, and none where no dependency goes
    back. Realtime edges never go back: a transaction that ended before another one began also ended before it.
    """
    wanted = ", ".join(f"'{kind}'" for kind in kinds)
    node = "struct(coalesce(completed, invoked) as ended, op, invoked, completed, type)"
    nodes = transactions(history).selectExpr("run", "op", f"{node} as node")
    # Of several records that show the same dependency, take the first, so that examples are reproducible.
    edges = (
        dependencies(history)
        .where(f"kind in ({wanted})")
        .groupBy("run", "kind", "source", "target")
        .agg(F.expr("min(struct(topic, partition)) as place"))
        .select("run", "place.topic", "place.partition", "kind", "source", "target")
    )
    for end in ("source", "target"):
        named = nodes.selectExpr("run", f"op as {end}", f"node as {end}_node")
        edges = edges.join(named, ["run", end]).drop(end).withColumnRenamed(f"{end}_node", end)
    spans = edges.selectExpr(
        "*", "source > target as is_back", "least(source, target) as low", "greatest(source, target) as high"
    )
    # Of two that begin together, one that goes back comes first, so that the other one lies in its span.
    line = Window.partitionBy("run").orderBy("low", F.desc("is_back"))
    before = line.rowsBetween(Window.unboundedPreceding, -1)
    sofar = line.rowsBetween(Window.unboundedPreceding, 0)
    high = F.expr("if(is_back, high, null)")
    return (
        spans.withColumn("reached", F.max(high).over(before))
        .withColumn("number", F.expr("count_if(reached is null or reached < low)").over(sofar))
        .withColumn("end", F.max(high).over(Window.partitionBy("run", "number")))
        .where("high <= end")
        .drop("is_back", "low", "high", "reached", "number", "end")
    )
