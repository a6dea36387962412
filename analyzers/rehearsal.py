"""A history of a few rows, judged once so that Spark has compiled what the next verdict needs."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from analyzers.analyze import analyze
from analyzers.jvm import end_jvm, start_jvm
from analyzers.settings import core_settings, java_options, sql_settings
from workloads.history.schema import NEMESIS, TABLES

RUN = {"run": "rehearsal", "topic": "t", "partition": 0, "invoked": 1, "completed": 2, "process": 0}
ROWS = {
    "records": [
        RUN | {"op": 0, "index": 0, "f": "send", "type": "ok", "offset": 0, "value": 0},
        RUN | {"op": 1, "index": 0, "f": "send", "type": "ok", "offset": 1, "value": 1, "session": 1},
        RUN | {"op": 2, "index": 0, "f": "poll", "type": "ok", "offset": 0, "value": 0, "final": False},
    ],
    "operations": [
        RUN | {"op": 3, "session": 1, "f": "read", "type": "ok", "end_offset": 1},
        RUN | {"op": 4, "f": "final-read", "type": "ok", "start_offset": 0, "end_offset": 1},
        RUN
        | {
            "op": 5,
            "process": NEMESIS,
            "f": "kill",
            "type": "info",
            "value": '{"event": "e", "stage": "inject", "target": "0", "nodes": [0], "effective": true}',
        },
    ],
    "observations": [
        {"run": "rehearsal", "topic": "t", "partition": 0, "time": 1, "node": 0, "kind": "partition"}
        | {"leader": 0, "leader_epoch": 0, "isr": [0]},
    ],
}


def rehearse(spark: SparkSession) -> None:
    with tempfile.TemporaryDirectory(prefix="kafkacheck-rehearsal-") as scratch:
        run = Path(scratch)
        for table, rows in ROWS.items():
            folder = run / "history" / table
            folder.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(rows, schema=TABLES[table]), folder / "0.parquet")
        analyze(spark, [run])


def dump(java: Path, command: tuple[str, ...], archive: Path) -> None:
    """Start a JVM, rehearse, and have it write the classes that it loaded to `archive` as it ends."""
    with tempfile.TemporaryDirectory(prefix="kafkacheck-archive-") as folder:
        scratch = Path(folder)
        flags = [*java_options("small", scratch=scratch, archive=None), f"-XX:ArchiveClassesAtExit={archive}"]
        settings = core_settings("local[*]", scratch=scratch, heap="1g") | sql_settings(None)
        settings["spark.driver.extraJavaOptions"] = " ".join(flags)
        conf = SparkConf(loadDefaults=False).setMaster("local[*]").setAppName("kafkacheck-archive")
        conf.setAll(list(settings.items()))
        jvm = start_jvm(conf, scratch=scratch, java=java, command=command)
        try:
            rehearse(SparkSession(SparkContext(gateway=jvm, conf=conf)))
        finally:
            end_jvm(jvm, seconds=300)


if __name__ == "__main__":
    dump(Path(sys.argv[1]), tuple(json.loads(sys.argv[2])), Path(sys.argv[3]))
