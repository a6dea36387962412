"""What can be judged while a run goes on: findings that nothing recorded before or later refutes."""

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
from analyzers.history.load import load, release
from analyzers.history.sources import sources
from analyzers.judge.find import Crashed, Found, find
from workloads.history.layout import WHOLE
from workloads.history.parquet import write
from workloads.history.schema import TABLES

EXAMPLES = 3

LIVE: Mapping[str, str] = {check.name: check.live for check in CHECKS if check.live is not None}
"""Anomaly to the reason for which a finding in a part of the history is one in the whole."""


def find_live(
    spark: SparkSession, tables: Mapping[str, pa.Table], *, told: Mapping[str, int]
) -> tuple[list[Found], list[Crashed]]:
    """What the checks in `LIVE` find in windows of histories, each a run of its own.

    tables  by name, as `workloads.history.window` makes them.
    told    anomaly to ns: only what happened later is counted.
    """
    transactional = pc.any(pc.equal(tables["operations"]["f"], "txn")).as_py()
    checks = [
        _after(check, told.get(check.name))
        for check in CHECKS
        if check.live is not None and (transactional or NEEDS.get(check.over) != "txn")
    ]
    with tempfile.TemporaryDirectory(prefix="kafkacheck-live-") as folder:
        for name, table in tables.items():
            place = Path(folder) / "history" / name
            place.mkdir(parents=True)
            write(place / WHOLE, [table], TABLES[name])
        history = load(spark, sources(spark, [Path(folder)]))
        try:
            return find(history, checks, examples=EXAMPLES)
        finally:
            release(spark, history)


def _after(check: Check, time: int | None) -> Check:
    return check if time is None else replace(check, where=f"({check.where}) and ({check.time}) > {time}")
