"""Per transaction: how it ended, and when its producer was fenced."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

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
    """One row per operation ``txn``, of those that `History.transaction_filter` leaves.

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
    known = history.operations.where("f = 'txn'").where(history.transaction_filter).selectExpr(*NAMED, *ends)
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
