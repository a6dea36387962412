"""Per transaction: how it ended, and when its producer was fenced."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.history.load import History

NAMED = [
    "run", "op", "process", "type", "invoked", "completed",
    "get_json_object(value, '$.transactional_id') as name",
    "cast(get_json_object(value, '$.epoch') as bigint) as epoch",
]  # fmt: skip


def transactions(history: History) -> DataFrame:
    """One row per operation ``txn``.

    Columns: run, op, process, type, invoked, completed (ns), outcome, ending (ns, null for none), and
    fenced (ns): the first completion of an init that fenced its producer; null for none.
    """
    ends = [
        "get_json_object(value, '$.outcome') as outcome",
        "cast(get_json_object(value, '$.ending') as bigint) as ending",
    ]
    known = history.operations.where("f = 'txn'").selectExpr(*NAMED, *ends)
    inits = (
        history.operations.where("f = 'init'")
        .selectExpr(*NAMED)
        .groupBy("run", "name")
        .agg(F.expr("collect_list(struct(process, type, invoked, completed, epoch))").alias("inits"))
    )
    # Epochs start again from the beginning in the end, so they are not compared after a later init of the process.
    own = "exists(inits, o -> o.process = process and o.invoked > i.invoked)"
    fencing = f"i.type = 'ok' and i.process <> process and i.epoch > epoch and not {own}"
    fenced = f"array_min(transform(filter(inits, i -> coalesce({fencing}, false)), i -> i.completed))"
    return (
        known.join(F.broadcast(inits), ["run", "name"], "left")
        .withColumn("fenced", F.expr(fenced))
        .drop("inits", "name", "epoch")
    )
