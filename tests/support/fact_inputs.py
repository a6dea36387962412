"""What facts read of a history, from Spark's plans: no declaration repeats what the SQL of a fact says.

``python -m tests.support.fact_inputs`` rewrites ``analyzers/facts/inputs.json``, from which ``kafkacheck analyze
--explain-schema`` takes it: printing must not take as long as Spark does. A test compares the file with the plans.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analyzers.facts.registry import FACTS, FILE, Inputs, to_json
from analyzers.history.load import History
from analyzers.spark.session import spark_session
from workloads.history.lines.kinds import KINDS
from workloads.history.schema import TABLES

SCAN = re.compile(
    r"FileScan parquet .*?Location: \w+\([^)]*\)\[file:[^\]]*/(\w+)\].*?ReadSchema: struct<(.*)>"
)
"""The table that a scan reads, and its columns."""

KIND = re.compile(r"(?:EqualTo\(f,|\bf#\d+ = )([\w-]+)|(?:In\(f, \[|\bf#\d+ IN \()([\w, -]+)")
"""The kinds of operations to which a filter confines rows."""

COLUMN = re.compile(r"(\w+):")

LONG = 1_000_000
"""Characters, so that Spark shortens nothing."""

HIDDEN = frozenset({"run", "op", "index", "previous", "within", "f", "type", "value"})
"""Columns that no field of a line stands for by its name."""


def inputs_of_facts(spark: Any) -> dict[str, Inputs]:
    """By name of the fact."""
    settings = {"spark.sql.debug.maxToStringFields": LONG, "spark.sql.maxMetadataStringLength": LONG,
                "spark.sql.optimizer.maxIterations": 200}  # fmt: skip
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        with tempfile.TemporaryDirectory(prefix="kafkacheck-inputs-") as folder:
            history = _empty(spark, Path(folder))
            return {name: _inputs(fact(history)) for name, fact in sorted(FACTS.items())}
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def _empty(spark: Any, folder: Path) -> History:
    for table, schema in TABLES.items():
        (folder / table).mkdir()
        pq.write_table(pa.Table.from_pylist([], schema=schema), folder / table / "0.parquet")
    return History(**{table: spark.read.parquet(str(folder / table)) for table in TABLES})


def _inputs(rows: Any) -> Inputs:
    plan = rows._jdf.queryExecution().executedPlan().toString()
    fields: dict[str, set[str]] = {table: set() for table in TABLES}
    for line in plan.splitlines():
        if (scan := SCAN.search(line)) is not None:
            fields[scan[1]] |= {name for name in COLUMN.findall(scan[2]) if name in TABLES[scan[1]].names}
    found = [name for one, several in KIND.findall(plan) for name in [one, *re.split(r"[, ]+", several)]]
    return Inputs(
        records=frozenset(fields["records"]) - HIDDEN,
        operations=frozenset(fields["operations"]) - HIDDEN,
        observations=frozenset(fields["observations"]) - HIDDEN,
        kinds=frozenset(found) & KINDS.keys() - {"send", "poll", "sample"},
    )


if __name__ == "__main__":
    FILE.write_text(json.dumps(to_json(inputs_of_facts(spark_session(heap="1g"))), indent=1) + "\n")
