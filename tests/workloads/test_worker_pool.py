"""Real worker processes start, follow orders and end, with and without brokers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_kafkacheck.experiment.clients import WorkerClients
from tests.support.real_cluster import wait_until
from workloads.append_log import READER, SESSION, AppendLog
from workloads.clients.connection import Address
from workloads.history.schema import OBSERVATIONS
from workloads.history.writer import segment
from workloads.pipeline import APP
from workloads.reference import Reference
from workloads.workers import pool as pools
from workloads.workers.pool import FINAL, WorkerPool, WorkerPoolError
from workloads.workers.process import WorkerProcess
from workloads.workload import PROBE, PRODUCER, WorkerRole, WorkerSpec

ROOT = Path(__file__).parents[2]
ROLES = {role.name: role for role in (PRODUCER, READER, SESSION, PROBE, FINAL)}
SEND = {"acks": "all", "idempotence": True, "record_size": 0, "client": {}, "rate": 10}


@pytest.fixture
def silent() -> Iterator[Address]:
    """An address without a listener, reserved so that no other process takes it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        host, port = taken.getsockname()
        yield Address(host, port)


@pytest.fixture
def mute() -> Iterator[Address]:
    """An address that accepts connections and never answers, as that of a paused broker."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()[:2]
        yield Address(host, port)


def order(home: Path, address: Address) -> dict[str, Any]:
    return {"run": "r", "home": str(home), "brokers": {1: address.to_json()}, "topics": {"t": 1}}


def spec(role: str, process: int = 0) -> WorkerSpec:
    options = SEND if role in ("producer", "session") else {}
    if role == "final":
        options = {"ends": {"t": {0: (0, 5)}}, "limit": 1.0}
    session = 0 if role == "session" else None
    return WorkerSpec(role=ROLES[role], process=process, session=session, options=options)


@pytest.mark.parametrize("role", ["producer", "reader", "session", "probe", "final"])
def test_stop_ends_a_worker_that_finds_no_broker(tmp_path: Path, silent: Address, role: str) -> None:
    worker = WorkerProcess(spec(role), order(tmp_path, silent), home=tmp_path)
    worker.wait_ready(1.0)
    worker.go()
    worker.stop()
    assert worker.wait(15), "still running"
    # A reader needs the first offsets of its logs to begin: without them it crashes, and its log says why.
    needs_offsets = role in ("reader", "session")
    assert bool(worker.trouble) == needs_offsets
    assert ("no broker names a leader" in worker.log.read_text()) == needs_offsets


@pytest.mark.parametrize(
    ("role", "paused"), [("producer", False), ("reader", False), ("probe", False), ("probe", True)]
)
def test_a_worker_ends_with_its_parent(tmp_path: Path, mute: Address, role: str, paused: bool) -> None:
    program = (
        "import sys, json, threading, time; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from workloads.workers.process import WorkerProcess\n"
        "from workloads.workload import WorkerRole, WorkerSpec\n"
        "given = json.loads(sys.argv[2]); role = WorkerRole(**given['role'])\n"
        "spec = WorkerSpec(role=role, process=0, options=given['options'])\n"
        "def start():\n"
        "    worker = WorkerProcess(spec, given['order'], home=Path(given['order']['home']))\n"
        "    if given['paused']: worker.wait_ready(60); worker.pause()\n"
        "    print(worker.pid, flush=True)\n"
        "threading.Thread(target=start).start()\n"  # as faults do, from a thread that ends
        "while True: time.sleep(60)\n"
    )
    given = {
        "role": {"name": role, "function": ROLES[role].function},
        "options": dict(spec(role).options),
        "order": order(tmp_path, mute),
        "paused": paused,
    }
    with subprocess.Popen(
        [sys.executable, "-c", program, str(ROOT), json.dumps(given)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        if paused:
            wait_until(lambda: Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        assert Path(f"/proc/{child}").exists()
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 15
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()


def test_a_folder_of_the_user_named_workloads_is_not_imported(
    tmp_path: Path, silent: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "__init__.py").write_text("raise SystemExit(99)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = WorkerProcess(spec("probe"), order(tmp_path, silent), home=tmp_path)
    assert worker.wait_ready(30), worker.log.read_text()
    worker.stop()
    assert worker.wait(10)
    assert not worker.trouble


def test_a_worker_waits_for_its_order(tmp_path: Path, silent: Address) -> None:
    rows: list[Mapping[str, Any]] = []
    workers = pool(tmp_path, silent, rows, spec("probe"))
    workers.launch()
    (worker,) = workers.workers.values()
    assert not worker.wait_ready(1.0)
    assert rows == [], "it is recorded from when it has an order"
    with workers:
        assert list(workers.workers.values()) == [worker]
        worker.stop()
        assert worker.wait(10)
    assert [row["value"]["event"] for row in rows] == ["started", "stopped"]


def test_a_worker_without_an_order_is_killed(tmp_path: Path, silent: Address) -> None:
    workers = pool(tmp_path, silent, [], spec("probe"))
    workers.launch()
    (worker,) = workers.workers.values()
    workers.kill()
    assert not worker.is_alive


def test_a_crash_is_recorded_with_its_exit_status(tmp_path: Path, silent: Address) -> None:
    path = segment(tmp_path / "history", "observations", 0)
    path.parent.mkdir(parents=True)
    path.write_bytes(OBSERVATIONS.serialize().to_pybytes())
    ended: list[WorkerProcess] = []
    worker = WorkerProcess(spec("probe"), order(tmp_path, silent), home=tmp_path, ended=ended.append)
    assert not worker.wait_ready(30)
    assert worker.wait(10)
    assert ended == [worker]
    assert worker.trouble == "probe 0 ended with status 70"
    assert "FileExistsError" in worker.log.read_text()


def pool(home: Path, address: Address, rows: list[Mapping[str, Any]], *specs: WorkerSpec) -> WorkerPool:
    topics = AppendLog().topics("r")
    return WorkerPool(specs, run="r", home=home, brokers={1: address}, topics=topics, record=rows.append)


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def test_a_pool_records_starts_crashes_and_stops(tmp_path: Path, silent: Address) -> None:
    rows: list[Mapping[str, Any]] = []
    with pool(tmp_path, silent, rows, spec("probe", 0), spec("probe", 1)) as both:
        both.go()
        assert both.alive()
        assert both.describe() == "2 probes"
        first = both.workers[0]
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait(10)
        assert both.alive()
        assert both.describe() == "2 probes (probe 0 ended with status -9)"
        both.stop("probe")
        assert not both.alive()
    events = [(row["value"]["process"], row["value"]["event"]) for row in rows]
    assert sorted(events) == [(0, "crashed"), (0, "started"), (1, "started"), (1, "stopped")]
    assert all(row["f"] == "worker" for row in rows)


def test_a_worker_that_a_fault_stops_did_not_stop_early_by_itself(tmp_path: Path, silent: Address) -> None:
    rows: list[Mapping[str, Any]] = []
    with pool(tmp_path, silent, rows, spec("probe", 0), spec("probe", 1)) as both:
        both.go()
        clients = WorkerClients(both)
        first = both.workers[0]
        clients.stop(0)
        assert first.wait(60)
        with pytest.raises(LookupError, match="client process 0 is gone"):
            clients.stop(0)
        both.stop()
    ends = [row["value"] for row in rows if row["value"]["event"] != "started"]
    assert [(end["process"], end["event"]) for end in ends] == [(0, "killed"), (1, "stopped")]


def test_a_worker_that_reports_a_problem_is_described_with_it(tmp_path: Path, silent: Address) -> None:
    rows: list[Mapping[str, Any]] = []
    options = {
        "command": ["no-such-program"],
        "env": {},
        "source": "log",
        "sink": "log",
        "group": "g",
        "instance": 0,
    }
    app = WorkerSpec(role=APP, process=0, options=options, instance=0)
    with pytest.raises(WorkerPoolError, match=r"^app:0 \(no-such-program\): there is no program"):
        pool(tmp_path, silent, rows, app).__enter__()
    assert [row["value"]["event"] for row in rows] == ["started", "stopped"]
    assert rows[-1]["value"]["problem"].startswith("app:0 (no-such-program): there is no program")


def test_instances_of_an_application_are_known_by_number(tmp_path: Path, silent: Address) -> None:
    rows: list[Mapping[str, Any]] = []
    specs = (spec("probe", 0), replace(spec("probe", 1), instance=4))
    with pool(tmp_path, silent, rows, *specs) as both:
        assert WorkerClients(both).instances() == {1: 4}


def test_a_worker_that_hangs_is_killed_at_the_limit(tmp_path: Path, silent: Address) -> None:
    rows: list[Mapping[str, Any]] = []
    with pool(tmp_path, silent, rows, spec("probe")) as one:
        os.kill(one.workers[0].pid, signal.SIGSTOP)
        one.stop(limit=0.3)
        assert not one.alive()
        assert one.crashed() == ("did not finish within 0.3 s",)


def test_leaving_a_pool_leaves_no_process(tmp_path: Path, silent: Address) -> None:
    with pool(tmp_path, silent, [], spec("probe")) as one:
        pid = one.workers[0].pid
        one.go()
    assert not Path(f"/proc/{pid}").exists()


def test_a_worker_that_is_not_ready_in_time_is_named_with_its_log(
    tmp_path: Path, silent: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "READY_LIMIT", 1.0)
    idle = pool(tmp_path, silent, [], spec("producer", 0), spec("probe", 1))
    with pytest.raises(WorkerPoolError, match=r"producer 0 was not ready after 1 s.*client-0\.log"):
        idle.__enter__()
    assert not idle.alive()


def test_final_reads_get_the_numbers_after_the_last(tmp_path: Path, silent: Address) -> None:
    rows: list[Mapping[str, Any]] = []
    with pool(tmp_path, silent, rows, spec("probe")) as one:
        one.go()
        one.final_reads({"t": {0: (0, 5), 1: (3, 3), 2: (0, 1)}}, limit=0.5)
    assert {row["value"]["process"]: row["value"]["role"] for row in rows} == {
        0: "probe",
        1: "final",
        2: "final",
    }


def test_processes_of_final_reads_wait_beside_the_load_and_one_that_is_not_needed_is_no_client(
    tmp_path: Path, silent: Address
) -> None:
    rows: list[Mapping[str, Any]] = []
    with pool(tmp_path, silent, rows, spec("probe")) as one:
        one.go()
        before = children()
        one.launch_final_reads()
        waiting = children() - before
        assert len(waiting) == 2
        assert one.describe() == "1 probe"
        assert set(one.workers) == {0}
        one.workers[0].kill_by_fault()
        assert not one.alive()
        assert one.replace(0) == 3
        one.final_reads({"t": {0: (0, 5)}}, limit=0.5)
        assert not one.alive()
    assert not any(Path(f"/proc/{pid}").exists() for pid in waiting)
    events = [(row["value"]["process"], row["value"]["role"], row["value"]["event"]) for row in rows]
    assert sorted(events) == [
        (0, "probe", "killed"), (0, "probe", "started"), (1, "final", "started"), (1, "final", "stopped"),
        (3, "probe", "started"), (3, "probe", "stopped"),
    ]  # fmt: skip


def test_a_role_in_a_file_of_the_user_runs_with_the_modules_beside_it(
    tmp_path: Path, silent: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker process finds what this process can import, here through pytest's path."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "on_the_path.py").write_text("NAME = 'counted'\n")
    (tmp_path / "beside.py").write_text("AMOUNT = 3\n")
    (tmp_path / "role_of_user.py").write_text(
        "from beside import AMOUNT\nfrom on_the_path import NAME\n"
        "def count(context):\n    context.ready()\n    context.counts[NAME] += AMOUNT\n    context.stop.wait()\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    before = list(sys.path)
    function = Reference(module="role_of_user", name="count", file=str(tmp_path / "role_of_user.py")).load()
    monkeypatch.setattr(sys, "path", before)
    rows: list[Mapping[str, Any]] = []
    role = WorkerRole("counter", function, poll_limit=3, reads_own=True, observes=True)
    counter = WorkerSpec(role=role, process=0)
    with pool(tmp_path, silent, rows, counter) as one:
        one.go()
        one.stop()
        assert one.crashed() == (), one.workers
        assert one.total("counted") == 3
    assert [row["value"]["role"] for row in rows] == ["counter", "counter"]
    for name, stated in (("poll_limit", 3), ("reads_own", True), ("observes", True)):
        assert [row["value"].get(name) for row in rows] == [stated, None], "it is stated at the start"


def test_workers_know_the_phase_and_so_do_those_that_replace_them(
    tmp_path: Path, silent: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "role_with_phases.py").write_text(
        "def count(context):\n    context.ready()\n"
        "    while not context.stop.wait(0.01):\n        context.counts[context.phase] += 1\n"
    )
    function = Reference(module="role_with_phases", name="count", file=str(tmp_path / "role_with_phases.py"))
    counter = WorkerSpec(role=WorkerRole("counter", function.load()), process=0)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pool(tmp_path, silent, [], counter) as one:
        one.go()
        wait_until(lambda: one.total("start"))
        one.phase("steady")
        wait_until(lambda: one.total("steady"))
        worker = one.workers[0]
        worker.kill()
        assert worker.wait(10)
        two = one.replace(0)
        replacement = one.workers[two]
        wait_until(lambda: replacement.counts.get("steady"))
        one.stop()
        assert set(replacement.counts) & {"start", "steady", "recovery"} == {"steady"}


def test_workers_that_are_replaced_at_the_same_time_have_different_numbers(
    tmp_path: Path, silent: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault that killed all processes of a role heals each on a thread of its own."""
    (tmp_path / "role_that_waits.py").write_text(
        "def wait(context):\n    context.ready()\n    context.stop.wait()\n"
    )
    function = Reference(module="role_that_waits", name="wait", file=str(tmp_path / "role_that_waits.py"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    waiter = WorkerRole("waiter", function.load())
    count = 4
    with pool(
        tmp_path, silent, [], *(WorkerSpec(role=waiter, process=number) for number in range(count))
    ) as one:
        one.go()
        for worker in one.workers.values():
            worker.kill()
            assert worker.wait(10)
        with ThreadPoolExecutor(count) as threads:
            numbers = [*threads.map(one.replace, range(count))]
        assert sorted(numbers) == [*range(count, 2 * count)]
        one.stop()


def test_a_role_that_cannot_be_loaded_is_named_in_the_log(tmp_path: Path, silent: Address) -> None:
    spec = WorkerSpec(role=WorkerRole("counter", "no_such_module:count"), process=0)
    worker = WorkerProcess(spec, order(tmp_path, silent), home=tmp_path)
    assert not worker.wait_ready(30)
    assert "module no_such_module cannot be imported" in worker.log.read_text()
