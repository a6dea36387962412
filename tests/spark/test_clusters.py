"""A standalone cluster of two workers and a Connect server give the same verdicts as the embedded Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from histories import Shape, write_compacted

from analyzers.judge.analyze import analyze
from analyzers.spark.session import fit
from tests.support.standalone import HOME, daemon, executor_settings, free_port, standalone
from tests.support.stories import queues, recreations, replication, snapshots

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
JUDGE = ROOT / "tests" / "support" / "judge_on_master.py"
ONE = 1 << 40

SUSPICIOUS_LOGS = 150
"""Python's protobuf accepts 100 messages in one another. The suspicious logs of all runs are in one condition."""


def stories(story: Any) -> dict[str, Any]:
    shaken = story().send(ONE, 0).fault("inject").send(ONE + 1, 1).fault("heal").send(ONE + 2, 2)
    back = story().send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).poll(ONE + 1, 1).poll(ONE, 0)
    return {
        "good": story().send(ONE, 0).final({0: ONE}, end=1),
        "lost": shaken.final({0: ONE, 2: ONE + 2}, end=3),
        "back": back.final({0: ONE, 1: ONE + 1}, end=2),
        "unknown": story().send(ONE, 0).poll(ONE, 0),
        "unfinished": queues.never_delivered(story()),
        "half": snapshots.half_passed(story()),
        # A topic that is created again has new logs. To tell them from the old ones, all facts have deeper plans.
        "recreated": recreations.lost_after_a_recreation(story()),
        "again": queues.accepted_and_delivered_again(story()),
        **{f"contested-{n}": replication.two_leaders_in_one_epoch(story()) for n in range(SUSPICIOUS_LOGS)},
    }


@pytest.fixture(scope="module")
def run(write: Any, story: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = write(tmp_path_factory.mktemp("runs") / "run", stories(story))
    return folder


@pytest.fixture(scope="module")
def expected(spark: Any, run: Path) -> dict[str, Any]:
    verdicts = analyze(spark, [run])
    assert {name: one.result for name, one in verdicts.items()} == {
        "good": "valid", "lost": "invalid", "back": "invalid", "unknown": "unknown", "unfinished": "invalid",
        "half": "invalid", "again": "invalid", "recreated": "invalid",
        **dict.fromkeys((f"contested-{n}" for n in range(SUSPICIOUS_LOGS)), "invalid"),
    }  # fmt: skip
    result: dict[str, Any] = json.loads(json.dumps({name: one.to_json() for name, one in verdicts.items()}))
    return result


def without_percentiles(text: str) -> Any:
    """A verdict without its percentiles of latencies: those of many sends are approximate, and depend on how rows are
    divided among tasks."""
    approximate = ("latency_median", "latency_99")
    return json.loads(text, object_hook=lambda each: {k: v for k, v in each.items() if k not in approximate})


def judged_there(
    folder: Path, master: str, runs: Sequence[Path], *, conf: Mapping[str, str], python: str = sys.executable
) -> Any:
    out = folder / "verdicts.json"
    done = subprocess.run(
        [python, JUDGE, master, json.dumps(conf), out, *runs], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(out.read_text())


@pytest.mark.nightly
def test_a_standalone_cluster_with_two_workers(run: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    wheel = set(HOME.iterdir())
    with standalone(tmp_path, workers=2) as master:
        assert judged_there(tmp_path, master, [run], conf=executor_settings(2)) == expected
    executors = {place.relative_to(tmp_path).parts[0] for place in tmp_path.glob("*/app-*/*/stderr")}
    assert executors == {"worker-0", "worker-1"}
    assert set(HOME.iterdir()) == wheel


@pytest.mark.nightly
def test_many_large_runs_on_four_workers(spark: Any, tmp_path: Path) -> None:
    """In several partitions, with adaptive plans and runs that are broken in different ways."""
    shapes = {
        f"r{i}": Shape(records=60_000, run=f"r{i}", logs=4, planted=4 * (i % 3), lost_one=7 * (i % 2))
        for i in range(12)
    }
    runs = [tmp_path / "runs" / name for name in shapes]
    for home, shape in zip(runs, shapes.values(), strict=True):
        write_compacted(shape, home)
    fit(spark, 60_000 * len(runs))
    try:
        expected = {name: without_percentiles(one.to_json()) for name, one in analyze(spark, runs).items()}
    finally:
        fit(spark, 0)
    with standalone(tmp_path, workers=4) as master:
        there = judged_there(tmp_path, master, runs, conf=executor_settings(4))
    assert {name: without_percentiles(text) for name, text in there.items()} == expected


def python_for_connect() -> str:
    """This Python, or the one of the environment that `make nightly` creates."""
    wanted = "import grpc, grpc_status, google.rpc, pandas, zstandard"
    for python in (sys.executable, str(ROOT / ".venv-connect" / "bin" / "python")):
        if (
            Path(python).exists()
            and not subprocess.run([python, "-W", "ignore", "-c", wanted], capture_output=True).returncode
        ):
            return python
    pytest.skip("Spark Connect needs pytest-kafkacheck[connect], here or in .venv-connect")


@pytest.mark.nightly
def test_spark_connect(run: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    python, port = python_for_connect(), free_port()
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.ui.enabled": "false",
    }
    submit = ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2]"]
    submit += [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    submit += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with daemon(tmp_path, "server", *submit, port=port, heap="1g"):  # it is the driver, too
        asked = {"spark.sql.shuffle.partitions": "3"}
        master = f"sc://127.0.0.1:{port}"
        assert judged_there(tmp_path, master, [run], conf=asked, python=python) == expected
