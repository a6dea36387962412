"""Share groups in worker processes without brokers: the naive twins of the checks judge what consumers record."""

from __future__ import annotations

import json
import sys
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import fake_client
from tests.support.oracles.queues import ORACLES
from tests.support.real_cluster import wait_until
from tests.support.worker_context import rows_on_disk
from workloads.clients.connection import Address
from workloads.clients.library import library
from workloads.clients.protocol import Acknowledgement
from workloads.payload import decode
from workloads.queue import CONSUMER, GROUP
from workloads.workers.process import WorkerProcess
from workloads.workload import PRODUCER, WorkerSpec

RUN, TOPIC = "2", "queued-2"
LOCK = 1.0
SEND = {"acks": "all", "idempotence": True, "record_size": 0, "client": {}, "rate": 40}
SHARE: dict[str, Any] = {
    "group": GROUP,
    "share": {"batch": 10, "lock": LOCK},
    "release": 0.3,
    "reject": 0.05,
    "expire": 0.05,
}

Start = Callable[..., WorkerProcess]


def command(folder: Path, *options: str) -> str:
    return " ".join(
        ["command:", sys.executable, "-I", "-S", str(Path(fake_client.__file__)), str(folder), *options]
    )


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    workers: list[WorkerProcess] = []

    def started(spec: WorkerSpec) -> WorkerProcess:
        order = {
            "run": RUN,
            "home": str(tmp_path),
            "brokers": {1: Address("files", 1).to_json()},
            "topics": {TOPIC: 2},
        }
        worker = WorkerProcess(spec, order, home=tmp_path)
        workers.append(worker)
        assert worker.wait_ready(60)
        worker.go()
        return worker

    yield started
    for worker in workers:
        worker.kill()
        worker.wait(10)


def drained(folder: Path) -> list[dict[str, Any]]:
    """Rows ``queue``, once nothing is left, and ``acknowledgement`` for what was."""
    one = library(command(folder), log=folder / "drain.log")
    share = one.share(bootstrap=(), topics=(TOPIC,), group=f"{GROUP}-{RUN}", settings=SHARE["share"])  # type: ignore[arg-type]
    rest, group = [], {"process": 9, "group": f"{GROUP}-{RUN}", "invoked": 0}
    deadline = time.monotonic() + 30
    while True:
        polled = share.poll(0.1)
        if polled:
            share.acknowledge([Acknowledgement(each.log, each.offset, "accept") for each in polled], 5)
            rest += [
                {"f": "acknowledgement", "type": "info", "op": -1, "topic": each.log[0], "partition": each.log[1],
                 "start_offset": each.offset, "value": json.dumps({"delivery": -1, "kind": "accept"}), **group}
                for each in polled
            ]  # fmt: skip
        progress = share.progress(5)
        if all(each.lag == 0 for each in progress.values()) or time.monotonic() > deadline:
            break
    one.close()  # type: ignore[attr-defined]
    value = json.dumps({"lock": round(LOCK * 1e9), "delivery_limit": 5})
    return rest + [
        {"f": "queue", "type": "ok", "topic": topic, "partition": partition, "end_offset": each.start, "value": value,
         **group}
        for (topic, partition), each in progress.items()
    ]  # fmt: skip


def recorded(folder: Path) -> dict[str, list[dict[str, Any]]]:
    records = []
    for partition in range(2):
        lines = (folder / f"{TOPIC}-{partition}.log").read_text().splitlines()
        for offset, line in enumerate(map(json.loads, lines)):
            value, problem = decode(b64decode(line["value"]), RUN, TOPIC, partition)
            records.append(
                {"f": "poll", "final": True, "topic": TOPIC, "partition": partition, "offset": offset,
                 "value": value, "error": problem}
            )  # fmt: skip
    return {"records": records, "operations": rows_on_disk(folder) + drained(folder)}


def judged(tables: dict[str, list[dict[str, Any]]]) -> set[str]:
    return {name for name, oracle in ORACLES.items() if oracle(tables)}


def have_accepted(*consumers: WorkerProcess) -> bool:
    return all(each.counts.get("accept ok", 0) > 20 for each in consumers)


def consume(
    start: Start,
    folder: Path,
    *options: str,
    expire: tuple[float, float] = (SHARE["expire"],) * 2,
    until: Callable[[WorkerProcess, WorkerProcess], bool] = have_accepted,
) -> list[WorkerProcess]:
    """One producer and two consumers, until these have done what the test needs.

    expire  by consumer: the chance that it holds new records for longer than their lock
    """
    producer = start(WorkerSpec(role=PRODUCER, process=1, library=command(folder), options=SEND))
    specs = [
        WorkerSpec(
            role=CONSUMER,
            process=process,
            library=command(folder, *options),
            options={**SHARE, "expire": chance},
        )
        for process, chance in zip((2, 3), expire, strict=True)
    ]
    first, second = consumers = [start(each) for each in specs]
    wait_until(lambda: until(first, second), 40)
    for worker in (producer, *consumers):
        worker.stop()
    for worker in (producer, *consumers):
        assert worker.wait(20)
    return consumers


def test_what_consumers_release_comes_again_and_nothing_is_lost(start: Start, tmp_path: Path) -> None:
    consumers = consume(start, tmp_path)
    assert [(each.trouble, each.problem) for each in consumers] == [("", ""), ("", "")]
    tables = recorded(tmp_path)
    assert judged(tables) == set()
    delivered = {
        (row["partition"], row["start_offset"]) for row in tables["operations"] if row["f"] == "delivery"
    }
    counts = Counter(
        json.loads(row["value"])["deliveries"] for row in tables["operations"] if row["f"] == "delivery"
    )
    assert counts[2] > 5, counts
    assert len(delivered) > 40


def test_a_record_with_two_holders_is_found(start: Start, tmp_path: Path) -> None:
    # The first consumer holds all that it gets, so the other one, which never waits, is given it too. When a late
    # consumer began to hold the records of its next poll is unknown, so two late consumers would prove nothing.
    consume(
        start,
        tmp_path,
        "--flaw",
        "shares-locks",
        expire=(1, 0),
        until=lambda late, prompt: late.counts.get("late", 0) > 3 and prompt.counts.get("accept ok", 0) > 20,
    )
    assert "queue-double-holder" in judged(recorded(tmp_path))


def test_a_released_record_that_is_lost_is_found(start: Start, tmp_path: Path) -> None:
    consume(start, tmp_path, "--flaw", "loses-released")
    assert "queue-lost" in judged(recorded(tmp_path))
