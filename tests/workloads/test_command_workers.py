"""Worker processes whose client is a command: one that fails ends its worker with one line, and both end together."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.harness import check_client_commands
from tests.support import fake_client
from tests.support.real_cluster import wait_until
from workloads.append_log import AppendLog
from workloads.clients.connection import Address
from workloads.groups import Groups
from workloads.transactions import Transactions
from workloads.workers.process import WorkerProcess, group_states
from workloads.workload import PRODUCER, WorkerSpec

SEND = {"acks": "all", "idempotence": True, "record_size": 0, "client": {}, "rate": 50}


def command(folder: Path, *options: str) -> str:
    return " ".join(
        ["command:", sys.executable, "-I", "-S", str(Path(fake_client.__file__)), str(folder), *options]
    )


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    workers = []

    def started(*options: str) -> WorkerProcess:
        spec = WorkerSpec(role=PRODUCER, process=3, library=command(tmp_path, *options), options=SEND)
        order = {
            "run": "r",
            "home": str(tmp_path),
            "brokers": {1: Address("files", 1).to_json()},
            "topics": {"orders-2": 2},
        }
        worker = WorkerProcess(spec, order, home=tmp_path)
        workers.append(worker)
        return worker

    yield started
    for worker in workers:
        worker.kill()
        worker.wait(10)


def test_a_worker_writes_through_a_command(start: Any, tmp_path: Path) -> None:
    worker = start()
    assert worker.wait_ready(30)
    worker.go()
    wait_until(lambda: worker.counts.get("acks", 0) > 20)
    worker.stop()
    assert worker.wait(20)
    assert (worker.trouble, worker.problem) == ("", "")
    assert len((tmp_path / "orders-2-0.log").read_text().splitlines()) > 10


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ("dies", "ended by itself with status 1"),
        ("garbage", "wrote a line that is no JSON object: [main] WARN something happened"),
        ("acks-twice", "which was not sent or is completed already"),
    ],
)
def test_a_client_that_fails_is_the_problem_of_its_worker(
    start: Any, tmp_path: Path, flaw: str, said: str
) -> None:
    worker = start("--flaw", flaw, "--after", "8")
    assert worker.wait_ready(30)
    worker.go()
    assert worker.wait(20), "still running"
    assert worker.problem.startswith("producer 3: client '"), worker.problem
    assert said in worker.problem
    assert worker.counts["acks"] > 0
    assert worker.trouble == ""
    assert "Traceback" not in worker.log.read_text()
    if flaw == "dies":
        assert worker.problem.endswith("its last output: fatal: out of memory")
        assert "out of memory" in (tmp_path / "logs" / "client-3-command.log").read_text()


def test_a_client_belongs_to_its_worker(start: Any) -> None:
    """A fault stops and kills both."""
    worker = start()
    assert worker.wait_ready(30)
    worker.go()
    wait_until(lambda: worker.counts.get("acks", 0) > 0)
    assert len(group_states(worker.pid)) == 2
    worker.pause()
    wait_until(lambda: worker.is_paused)
    worker.resume()
    acks = worker.counts["acks"]
    wait_until(lambda: worker.counts["acks"] > acks)
    worker.kill_by_fault()
    wait_until(lambda: not group_states(worker.pid), 10)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--flaw", "wrong-version"], "speaks version 1, and kafkacheck speaks version 2"),
        (["--flaw", "no-hello"], "ended by itself with status 3; its last output: Exception in thread main"),
        (["--without", "idempotence"], "AppendLog needs idempotence of its clients"),
    ],
)
def test_a_client_that_cannot_be_used_is_refused_before_anything_starts(
    tmp_path: Path, options: list[str], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        check_client_commands(AppendLog(library=command(tmp_path, *options)))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_workload_needs_only_what_it_uses(tmp_path: Path) -> None:
    name = command(tmp_path, "--without", "transactions", "--without", "headers")
    check_client_commands(AppendLog(library=name))
    check_client_commands(Groups(library=name))
    for workload, missing in (
        (Transactions(library=name), "Transactions needs transactions of its clients"),
        (Groups(library=name, protocol="consumer"), "Groups needs group-consumer of its clients"),
        (Groups(library=name, assignor="sticky"), "Groups needs assignor-sticky of its clients"),
    ):
        with pytest.raises(UsageError, match=missing):
            check_client_commands(workload)


def test_a_member_that_commits_within_polls_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="commits within a poll"):
        Groups(library=command(tmp_path), commit="auto")
