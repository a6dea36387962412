"""The answers of brokers that surely were leaders, on which facts about high watermarks rely."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.history.load import History


def answers_of_leaders(history: History) -> DataFrame:
    """One row per sample in which a broker called itself the leader, and did so in the same epoch with its next one.

    Columns: those of the observations. A broker answers for its metadata first, and may have lost the leadership
    before it answers for its log. Of its last answer, nothing shows that it was still the leader.
    """
    samples = Window.partitionBy(*LOG, "node").orderBy("time")
    return (
        history.observations.where("kind = 'partition'")
        .withColumn("next", F.lead(F.struct("leader", "leader_epoch")).over(samples))
        .where("leader = node and next.leader = node and next.leader_epoch = leader_epoch")
    )
