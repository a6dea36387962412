"""The example applications in confluent-kafka end after SIGTERM, on librdkafka's mock cluster."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
import pytest

from tests.support.mock_cluster import MockCluster, mock_cluster
from tests.support.real_cluster import wait_until

APPLICATIONS = Path(__file__).parents[2] / "examples" / "applications"

STOP_TIMEOUT = 10.0
"""Seconds that `Pipeline` gives an application after SIGTERM, by default."""

OTHER, GROUP = 1, 2
"""Brokers: the leader of everything and coordinator of transactions, and the coordinator of the group."""


class Fed:
    """Feeds the source until it is left."""

    def __init__(self, cluster: MockCluster) -> None:
        bootstrap = ",".join(map(str, cluster.bootstrap))
        self._producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "log_level": 2})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._feed)

    def __enter__(self) -> Fed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _feed(self) -> None:
        number = 0
        while not self._stop.wait(0.02):
            self._producer.produce("source", value=json.dumps({"id": f"t{number}"}).encode())
            self._producer.poll(0)
            number += 1
        self._producer.purge()
        self._producer.flush(5)


@contextmanager
def running(application: str, cluster: MockCluster, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    bootstrap = ",".join(map(str, cluster.bootstrap))
    command = [
        sys.executable,
        str(APPLICATIONS / application),
        bootstrap,
        "source",
        "sink",
        "group",
        "client",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        for topic in ("source", "sink"):
            cluster.create(topic)
            cluster.lead(topic, 0, OTHER)
        cluster.coordinate("group", GROUP)
        cluster.coordinate("client", OTHER, "transaction")
        with Fed(cluster):
            yield cluster


def batches(log: Path) -> Callable[[], int]:
    return lambda: log.read_text(errors="replace").count(" invoices")


@pytest.mark.parametrize("application", ["copier_confluent.py", "exactly_once.py"])
def test_it_ends_at_once_after_sigterm(cluster: MockCluster, tmp_path: Path, application: str) -> None:
    log = tmp_path / "log"
    with running(application, cluster, log) as process:
        wait_until(lambda: batches(log)() > 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_TIMEOUT) == 0, log.read_text()


@pytest.mark.nightly
def test_it_ends_in_time_although_the_coordinator_of_its_group_does_not_answer(
    cluster: MockCluster, tmp_path: Path
) -> None:
    """It hangs in a call of librdkafka, in which Python runs no handler."""
    log = tmp_path / "log"
    with running("exactly_once.py", cluster, log) as process:
        wait_until(lambda: batches(log)() > 1)
        cluster.stop(GROUP)
        before = -1

        def is_stuck() -> bool:
            nonlocal before
            last, before = before, batches(log)()
            time.sleep(0.5)  # a batch takes a tenth of that
            return last == before

        wait_until(is_stuck)
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_TIMEOUT) == -signal.SIGALRM, log.read_text()
