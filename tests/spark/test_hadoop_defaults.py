"""Hadoop's defaults: left out of our sessions until they read another file system, and never with own settings."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyzers.history import remote
from analyzers.history.sources import sources
from analyzers.history.validate import BadHistory
from analyzers.spark.internals.tuning import BUFFER, drop_defaults, restore_defaults

pytestmark = pytest.mark.spark

OF_S3 = "fs.s3a.impl"

STARTS = """
import json, sys
from analyzers.spark.session import end_spark, spark_session
conf = json.loads(sys.argv[1])
spark = spark_session(conf=conf)
assert spark.read.parquet(sys.argv[2]).count() == 1
get = spark._jsc.hadoopConfiguration().get
names = {"s3": "fs.s3a.impl", "sums": "parquet.page.verify-checksum.enabled", "own": "fs.s3a.endpoint"}
print(json.dumps({short: get(name) for short, name in names.items()}))
end_spark()
"""


@pytest.fixture
def configuration(spark: Any) -> Iterator[Any]:
    """Hadoop's, without defaults."""
    restore_defaults(spark)
    drop_defaults(spark, {"spark.hadoop.kafkacheck.own": "kept", "spark.sql.other": "1"})
    yield spark._jsc.hadoopConfiguration()
    restore_defaults(spark)


def test_own_settings_stay_and_defaults_come_back(spark: Any, configuration: Any) -> None:
    left = {"kafkacheck.own", BUFFER}
    assert {name: configuration.get(name) is not None for name in (*left, OF_S3)} == {
        **dict.fromkeys(left, True), OF_S3: False,
    }  # fmt: skip
    assert configuration.size() == len(left)
    restore_defaults(spark)
    assert configuration.get(OF_S3) is not None
    assert configuration.get("kafkacheck.own") == "kept"
    assert configuration.size() > 500


@pytest.mark.parametrize(
    "reads",
    [
        lambda spark, uri: sources(spark, [uri]),
        remote.runs_at,
        lambda spark, uri: remote.text_at(spark, uri, "experiment.json"),
    ],
    ids=["the files of a run", "the runs of a folder", "a file of a run"],
)
def test_they_are_back_before_another_file_system_is_read(
    spark: Any, configuration: Any, reads: Any, tmp_path: Path
) -> None:
    with contextlib.suppress(BadHistory, FileNotFoundError):
        reads(spark, (tmp_path / "none").as_uri())
    assert configuration.get(OF_S3) is not None


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ({}, {"s3": False, "sums": True, "own": False}),
        pytest.param(
            {"spark.hadoop.fs.s3a.endpoint": "host"},
            {"s3": True, "sums": True, "own": True},
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["plain", "with settings of Hadoop"],
)
def test_a_new_session_leaves_them_out_unless_hadoop_is_configured(
    tmp_path: Path, conf: dict[str, str], expected: dict[str, bool]
) -> None:
    """Also after a file was read, for which Spark loads more of Hadoop."""
    file = tmp_path / "one.parquet"
    pq.write_table(pa.table({"n": [1]}), file)
    call = [sys.executable, "-c", STARTS, json.dumps(conf), str(file)]
    answer = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(answer.stdout.splitlines()[-1])
    assert {name: value is not None for name, value in found.items()} == expected
