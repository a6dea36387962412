"""A standalone cluster of two workers and a Connect server give the same verdicts as the embedded Spark."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

from analyzers.judge.analyze import analyze

pytestmark = pytest.mark.spark

HOME = Path(pyspark.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
JUDGE = ROOT / "tests" / "support" / "judge_on_master.py"
ONE = 1 << 40
UP_WITHIN = 90.0


def stories(story: Any) -> dict[str, Any]:
    shaken = story().send(ONE, 0).fault("inject").send(ONE + 1, 1).fault("heal").send(ONE + 2, 2)
    back = story().send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).poll(ONE + 1, 1).poll(ONE, 0)
    return {
        "good": story().send(ONE, 0).final({0: ONE}, end=1),
        "lost": shaken.final({0: ONE, 2: ONE + 2}, end=3),
        "back": back.final({0: ONE, 1: ONE + 1}, end=2),
        "unknown": story().send(ONE, 0).poll(ONE, 0),
    }


@pytest.fixture(scope="module")
def run(write: Any, story: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = write(tmp_path_factory.mktemp("runs") / "run", stories(story))
    return folder


@pytest.fixture(scope="module")
def expected(spark: Any, run: Path) -> dict[str, Any]:
    verdicts = analyze(spark, [run])
    assert {name: one.result for name, one in verdicts.items()} == {
        "good": "valid", "lost": "invalid", "back": "invalid", "unknown": "unknown",
    }  # fmt: skip
    result: dict[str, Any] = json.loads(json.dumps({name: one.to_json() for name, one in verdicts.items()}))
    return result


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def daemon(folder: Path, name: str, *arguments: str, port: int | None = None) -> Iterator[None]:
    """Run one of Spark's own programs during the block. It is ready when it listens at `port`."""
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_DAEMON_MEMORY": "1g"}
    environment["SPARK_DAEMON_JAVA_OPTS"] = "-XX:TieredStopAtLevel=1"
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [HOME / "bin" / "spark-class", *arguments],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            if port is not None:
                await_listening(process, port, folder / f"{name}.log")
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def await_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + UP_WITHIN
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.05)


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    port = free_port()
    local = ("--host", "127.0.0.1", "--webui-port", "0")
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.enter_context(
            daemon(
                folder,
                "master",
                "org.apache.spark.deploy.master.Master",
                *local,
                "--port",
                str(port),
                port=port,
            )
        )
        for name in ("one", "two"):
            place = ("--work-dir", str(folder / name), "--cores", "1", "--memory", "600m")
            worker = ("org.apache.spark.deploy.worker.Worker", *local, *place, master)
            stack.enter_context(daemon(folder, name, *worker))
        yield master


def judged_there(
    folder: Path, master: str, run: Path, *, conf: Mapping[str, str], python: str = sys.executable
) -> Any:
    out = folder / "verdicts.json"
    done = subprocess.run(
        [python, JUDGE, master, json.dumps(conf), out, run], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(out.read_text())


@pytest.mark.nightly
def test_a_standalone_cluster_with_two_workers(run: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    wheel = set(HOME.iterdir())
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        # Not before both are there.
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    }
    with standalone(tmp_path) as master:
        assert judged_there(tmp_path, master, run, conf=conf) == expected
    executors = {place.relative_to(tmp_path).parts[0] for place in tmp_path.glob("*/app-*/*/stderr")}
    assert executors == {"one", "two"}
    assert set(HOME.iterdir()) == wheel


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
    with daemon(tmp_path, "server", *submit, port=port):
        asked = {"spark.sql.shuffle.partitions": "3"}
        master = f"sc://127.0.0.1:{port}"
        assert judged_there(tmp_path, master, run, conf=asked, python=python) == expected
