"""Per log of a run with faults: when it acknowledged again after the last of them was healed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, TIME
from analyzers.load import History
from workloads.history.schema import NEMESIS


def recoveries(history: History) -> DataFrame:
    """One row per log.

    Columns: healed (ns, when the last heal had completed); recovered (ns, from then to the first
    acknowledgement of a send invoked since), lasted (ns, the same, or to the end of the last such send where
    none was acknowledged), each null for none; acked_before: whether anything was acknowledged before.
    """
    healed = (
        history.operations.where(f"process = {NEMESIS} and get_json_object(value, '$.stage') = 'heal'")
        .groupBy("run")
        .agg(F.max("completed").alias("healed"))
    )
    return (
        history.records.where("f = 'send'")
        .join(F.broadcast(healed), "run")
        .groupBy(*LOG, "healed")
        .agg(
            F.expr(f"min(completed) filter (where {ACKED} and invoked >= healed) - healed").alias(
                "recovered"
            ),
            F.expr(f"max({TIME}) filter (where invoked >= healed) - healed").alias("tried"),
            F.expr(f"coalesce(bool_or({ACKED} and completed < healed), false)").alias("acked_before"),
        )
        .withColumn("lasted", F.expr("coalesce(recovered, tried)"))
        .drop("tried")
    )
