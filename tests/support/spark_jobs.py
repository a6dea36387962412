"""The jobs that Spark ran for a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed


def jobs(spark: Any, run: Callable[[], object]) -> Sequence[int]:
    """The ids of all jobs of ``run``.

    Spark's status store learns of a job through a queue of events, and an action returns before they are read. So one
    more job is run: events are in order, so once this job is in the store, all jobs before it are.
    """
    group, last = f"tests-{uuid4()}", f"tests-{uuid4()}"
    _in_group(spark, group, run)
    _in_group(spark, last, lambda: spark.range(1).count())
    _wait_for(spark, last)
    return _listed(spark, group)


def _in_group(spark: Any, group: str, run: Callable[[], object]) -> None:
    spark.sparkContext.setJobGroup(group, "jobs that a test counts")
    try:
        run()
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


@retry(retry=retry_if_result(lambda ids: not ids), stop=stop_after_delay(60), wait=wait_fixed(0.05))
def _wait_for(spark: Any, group: str) -> Sequence[int]:
    return _listed(spark, group)


def _listed(spark: Any, group: str) -> Sequence[int]:
    found: Sequence[int] = spark.sparkContext.statusTracker().getJobIdsForGroup(group)
    return found
