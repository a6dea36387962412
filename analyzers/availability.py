"""How available a run's cluster was: reported always, whatever is demanded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG
from analyzers.facts.recoveries import recoveries
from analyzers.facts.waits import GRAIN, waits
from analyzers.load import History
from analyzers.verdict import Availability, LogAvailability, PhaseAvailability
from workloads.history.schema import HARNESS

BEFORE = "start"
"""The name of what comes before the first phase."""


def availabilities(history: History, began: Mapping[str, int | None]) -> dict[str, Availability]:
    """By run id, for every run with a send or a poll; in one Spark job.

    began  ns, of each run's first operation.
    """
    parts = (_logs(history), _phases(history), _lags(history))
    rows = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts).collect()
    by_run: dict[str, list[Row]] = {}
    for row in rows:
        by_run.setdefault(row.run, []).append(row)
    return {run: _availability(of, began.get(run)) for run, of in by_run.items()}


def _availability(rows: list[Row], began: int | None) -> Availability:
    logs = sorted((row for row in rows if row.part == "log"), key=lambda row: (row.topic, row.partition))
    phases = sorted((row for row in rows if row.part == "phase"), key=lambda row: row.since)
    lag = next((row for row in rows if row.part == "lag"), None)
    return Availability(
        logs=tuple(
            LogAvailability(
                topic=row.topic,
                partition=row.partition,
                longest_wait=_s(row.lasted) or 0.0,
                began=None if row.began is None or began is None else _s(row.began - began),
                recovery=_s(row.recovered),
            )
            for row in logs
        ),
        phases=tuple(
            PhaseAvailability(
                phase=row.phase,
                sends=row.sends,
                errors=row.errors,
                latency_median=_s(row.median),
                latency_99=_s(row.high),
                latency_worst=_s(row.worst),
            )
            for row in phases
        ),
        worst_lag=_s(lag.lag) if lag else None,
    )


def _s(time: int | None) -> float | None:
    return None if time is None else time / 1e9


def _logs(history: History) -> DataFrame:
    """Per log: its longest wait, and how soon it was there again."""
    longest = waits(history).groupBy(*LOG).agg(F.expr("max(struct(lasted, -began as earlier))").alias("most"))
    again = recoveries(history).select(*LOG, "recovered")
    sent = history.records.where("f = 'send'").groupBy(*LOG).agg(F.lit("log").alias("part"))
    return (
        sent.join(longest, LOG, "left")
        .join(again, LOG, "left")
        .selectExpr("part", *LOG, "most.lasted as lasted", "-most.earlier as began", "recovered")
    )


def _phases(history: History) -> DataFrame:
    """Per run and phase in which a send was invoked: how many, how many were not acknowledged, and latencies."""
    told = history.operations.where(f"process = {HARNESS} and f = 'phase'").selectExpr(
        "run", "struct(invoked as since, get_json_object(value, '$.phase') as phase) as one"
    )
    phases = told.groupBy("run").agg(F.expr("array_sort(collect_list(one))").alias("phases"))
    quantiles = f"percentile_approx(completed - invoked, array(0.5, 0.99)) filter (where {ACKED})"
    return (
        history.records.where("f = 'send'")
        .join(F.broadcast(phases), "run", "left")
        .withColumn("now", F.expr("try_element_at(filter(phases, p -> p.since <= invoked), -1)"))
        .groupBy(
            "run",
            F.expr("coalesce(now.since, -1)").alias("since"),
            F.expr(f"coalesce(now.phase, '{BEFORE}')").alias("phase"),
        )
        .agg(
            F.count("*").alias("sends"),
            F.expr("count_if(type <> 'ok')").alias("errors"),
            F.expr(quantiles).alias("quantiles"),
            F.expr(f"max(completed - invoked) filter (where {ACKED})").alias("worst"),
        )
        .selectExpr(
            "'phase' as part",
            "run",
            "since",
            "phase",
            "sends",
            "errors",
            "quantiles[0] as median",
            "quantiles[1] as high",
            "worst",
        )
    )


def _lags(history: History) -> DataFrame:
    """Per run: the longest time from when a log was known to go on to when a client that had read it so far got more.

    To within the grain, and never more than it was; final reads apart, and what a client reads first.
    """
    acks = (
        history.records.where(f"{ACKED} and offset is not null")
        .groupBy(*LOG, F.expr(f"completed div {GRAIN} as grain"))
        .agg(F.max("offset").alias("offset"), F.max("completed").alias("known"))
        .drop("grain")
    )
    polls = (
        history.records.where("f = 'poll' and not coalesce(final, false) and previous is not null")
        .where("completed is not null")
        .groupBy(*LOG, "process", "assignment", F.expr(f"completed div {GRAIN} as grain"))
        .agg(F.min("previous").alias("offset"), F.min("completed").alias("polled"))
        .select(*LOG, "offset", "polled")
    )
    beyond = Window.partitionBy(*LOG).orderBy(F.desc("offset")).rangeBetween(Window.unboundedPreceding, -1)
    return (
        polls.unionByName(acks, allowMissingColumns=True)
        .withColumn("known", F.min("known").over(beyond))
        .where("polled > known")
        .groupBy("run")
        .agg(F.expr("max(polled - known)").alias("lag"))
        .selectExpr("'lag' as part", "run", "lag")
    )
