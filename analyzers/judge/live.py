"""Judges a part of a history while the run is in progress: only findings that no other part can refute."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import CHECKS
from analyzers.facts.registry import NEEDS
from analyzers.history.incarnations import by_incarnation, cuts, topic_changes
from analyzers.history.load import load, release
from analyzers.history.sources import sources
from analyzers.judge.find import Crashed, Found, find
from workloads.history.layout import WHOLE
from workloads.history.parquet import write
from workloads.history.schema import TABLES

EXAMPLES = 3
"""Of each anomaly."""

LIVE: Mapping[str, str] = {check.name: check.live for check in CHECKS if check.live is not None}
"""Anomaly to the reason why a finding in a part of the history is also one in the whole history."""


def find_live(
    spark: SparkSession, tables: Mapping[str, pa.Table], *, after: Mapping[str, int]
) -> tuple[list[Found], list[Crashed]]:
    """What the checks in `LIVE` find in the given part of a history, or of several runs.

    tables  by name, as `workloads.history.window` makes them.
    after   anomaly to ns: earlier occurrences are not counted again.
    """
    transactional = pc.any(pc.equal(tables["operations"]["f"], "txn")).as_py()
    checks = [
        _after(check, after.get(check.name))
        for check in CHECKS
        if check.live is not None and (transactional or NEEDS.get(check.over) != "txn")
    ]
    with tempfile.TemporaryDirectory(prefix="kafkacheck-live-") as folder:
        for name, table in tables.items():
            directory = Path(folder) / "history" / name
            directory.mkdir(parents=True)
            write(directory / WHOLE, [table], TABLES[name])
        directories = sources(spark, [Path(folder)])
        history = load(spark, directories)
        try:
            topics = topic_changes(history, directories)
            logs = by_incarnation(history, cuts(topics, is_complete=False))
            return find(logs, checks, examples=EXAMPLES)
        finally:
            release(spark, history)


def _after(check: Check, time: int | None) -> Check:
    return check if time is None else replace(check, where=f"({check.where}) and ({check.time}) > {time}")
