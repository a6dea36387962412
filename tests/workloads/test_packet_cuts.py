"""Cuts of the packets of one worker process, on this kernel, as the harness holds them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_kafkacheck.experiment.clients import WorkerClients
from tests.support.real_cluster import wait_until
from workloads.applications import confinement, control_group
from workloads.applications.confinement import why_not
from workloads.applications.control_group import Unavailable
from workloads.clients.connection import Address
from workloads.workers.pool import WorkerPool
from workloads.workers.process import WorkerProcess
from workloads.workload import WorkerRole, WorkerSpec

TALKER = WorkerRole("talker", "tests.support.talker:talk")
WATCHER = WorkerRole("watcher", "tests.support.talker:talk", observes=True)

ALL = {"worker", "program"}


class Broker:
    """A server that notes who talks to it."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._server.getsockname())
        self._heard: set[str] = set()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                accepted, _ = self._server.accept()
            except OSError:
                return
            with accepted, suppress(OSError):
                accepted.settimeout(0.2)
                if name := accepted.recv(64).decode():
                    self._heard.add(name)

    def hears(self, seconds: float = 20.0, *, until: set[str] = ALL) -> set[str]:
        """Who talks to it from now on, until all of these did, or for that long."""
        # Connections are accepted in their order: all that were made before are over when this one is.
        with socket.create_connection(self.address[:2]) as made:
            made.sendall(b"mark")
        wait_until(lambda: "mark" in self._heard, limit=20)
        self._heard = set()
        with suppress(Exception):
            wait_until(lambda: until <= self._heard, limit=seconds)
        return set(self._heard)

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(10)


@pytest.fixture
def brokers() -> Iterator[dict[int, Broker]]:
    made = {1: Broker(), 2: Broker()}
    yield made
    for each in made.values():
        each.close()


@pytest.fixture(autouse=True)
def _this_kernel() -> None:
    if reason := why_not("packets"):
        pytest.skip(f"this host cannot cut packets of single processes: {reason}")


def pool(home: Path, brokers: dict[int, Broker], *specs: WorkerSpec, cuts: bool = True) -> WorkerPool:
    addresses = {node: broker.address for node, broker in brokers.items()}
    return WorkerPool(
        specs, run="r", home=home, brokers=addresses, topics=(), record=lambda _: None, cuts=cuts
    )


def clients(workers: WorkerPool, brokers: dict[int, Broker]) -> WorkerClients:
    return WorkerClients(workers, lambda: {node: broker.address for node, broker in brokers.items()})


def groups(run: str = "r", harness: int | None = None) -> list[Path]:
    """The control groups of client processes of a process; default: of this one."""
    # Not rglob: it raises an error when another group is removed meanwhile.
    found = (Path(folder, name) for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names)
    return [path for path in found if path.match(f"kafkacheck-{run}-client-*-{harness or os.getpid()}")]


def test_one_worker_is_cut_from_one_broker_with_all_that_it_started(
    tmp_path: Path, brokers: dict[int, Broker]
) -> None:
    specs = [WorkerSpec(role=TALKER, process=number) for number in (0, 1)]
    with (
        pool(tmp_path, {1: brokers[1]}, specs[0]) as other,
        pool(tmp_path / "b", brokers, specs[1]) as workers,
    ):
        workers.go()
        assert [each.hears() for each in brokers.values()] == [ALL, ALL]
        made = clients(workers, brokers)
        made.cut(1, "first", brokers=[1], ways=["out"])
        made.cut(1, "second", brokers=[1], ways=["in"])
        assert [brokers[1].hears(1.0), brokers[2].hears()] == [set(), ALL]
        assert made.dropped(1, "first").keys() == {"out"}  # type: ignore[union-attr]
        assert min((made.dropped(1, "first") or {}).values()) > 0
        other.go()
        assert brokers[1].hears() == ALL, "another worker is not cut"
        other.stop()
        made.restore(1, "first")
        assert brokers[1].hears(1.0) == set(), "the second one still cuts: the connections are never made"
        assert min((made.dropped(1, "second") or {}).values()) > 0
        made.restore(1, "second")
        assert (made.dropped(1, "first"), made.dropped(1, "second")) == (None, None)
        assert brokers[1].hears() == ALL
        workers.stop()
    assert groups() == []


def test_a_worker_that_stops_is_connected(tmp_path: Path, brokers: dict[int, Broker]) -> None:
    with pool(tmp_path, brokers, WorkerSpec(role=TALKER, process=0)) as workers:
        made = clients(workers, brokers)
        made.cut(0, "e", brokers=None, ways=["in", "out"])
        (worker,) = workers.workers.values()
        worker.pause()  # It cannot end yet.
        worker.stop()
        assert made.dropped(0, "e") is None
        with pytest.raises(ProcessLookupError, match="about to end"):
            made.cut(0, "e", brokers=None, ways=["in", "out"])
        worker.resume()
        assert worker.wait(20)
    assert groups() == []


def test_a_worker_that_is_killed_leaves_no_control_group_and_a_new_one_is_not_cut(
    tmp_path: Path, brokers: dict[int, Broker]
) -> None:
    with pool(tmp_path, brokers, WorkerSpec(role=TALKER, process=0)) as workers:
        workers.go()
        made = clients(workers, brokers)
        made.cut(0, "e", brokers=None, ways=["in", "out"])
        made.kill(0)
        assert groups() == []
        assert brokers[1].hears(1.0) == set()
        assert made.replace(0) == 1
        assert brokers[1].hears() == ALL
        assert [path.name for path in groups()] == [f"kafkacheck-r-client-1-{os.getpid()}"]


@pytest.mark.parametrize(
    ("spec", "cuts"),
    [
        (WorkerSpec(role=WATCHER, process=0), True),
        (WorkerSpec(role=TALKER, process=0, instance=0), True),
        (WorkerSpec(role=TALKER, process=0), False),
    ],
    ids=["it observes", "it runs an application", "no fault asks"],
)
def test_others_have_no_control_group(
    tmp_path: Path, brokers: dict[int, Broker], spec: WorkerSpec, cuts: bool
) -> None:
    with pool(tmp_path, brokers, spec, cuts=cuts) as workers:
        (worker,) = workers.workers.values()
        assert (worker.cuts, groups()) == (None, [])


@pytest.mark.parametrize("error", [Unavailable("no hierarchy"), PermissionError("not permitted")])
def test_a_worker_without_a_control_group_works_and_says_why(
    tmp_path: Path, brokers: dict[int, Broker], monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def refuse(*_: object) -> None:
        raise error

    where = control_group if isinstance(error, Unavailable) else confinement.Path
    monkeypatch.setattr(where, "hierarchies" if where is control_group else "write_text", refuse)
    with pool(tmp_path, brokers, WorkerSpec(role=TALKER, process=0)) as workers:
        (worker,) = workers.workers.values()
        assert (worker.cuts, worker.no_cuts, groups()) == (None, str(error), [])
        workers.go()
        assert brokers[1].hears() == ALL


HARNESS = """
import os, sys
from pathlib import Path
from tests.workloads.test_packet_cuts import TALKER
from workloads.clients.connection import Address
from workloads.workers.pool import WorkerPool
from workloads.workload import WorkerSpec
home, host, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
workers = WorkerPool(
    [WorkerSpec(role=TALKER, process=0)], run="k", home=home, brokers={1: Address(host, port)}, topics=(),
    record=lambda _: None, cuts=True,
)
workers.__enter__().go()
worker, = workers.workers.values()
worker.cuts.cut("e", [(host, port)])
print(worker.pid, flush=True)
sys.stdin.read()
"""


def test_nothing_is_left_of_a_harness_that_was_killed(tmp_path: Path, brokers: dict[int, Broker]) -> None:
    """The kernel ends the programs with it, and its workers. The next one removes the empty control groups."""
    root = Path(__file__).parents[2]
    address = brokers[1].address
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, str(tmp_path), address.host, str(address.port)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as harness:  # fmt: skip
        assert harness.stdout is not None
        worker = int(harness.stdout.readline())
        (left,) = groups("k", harness.pid)
        harness.send_signal(signal.SIGKILL)
        harness.wait(30)
    wait_until(lambda: not Path(f"/proc/{worker}").exists())
    wait_until(lambda: (left / "cgroup.procs").read_text() == "")
    entered = subprocess.Popen(
        [sys.executable, "-c", ENTER, str(left), address.host, str(address.port)], stdout=subprocess.PIPE
    )
    assert entered.communicate(timeout=30)[0] == b"connected\n", "what enters the group now is not cut"
    with pool(tmp_path / "next", brokers, WorkerSpec(role=TALKER, process=0)):
        assert not left.exists()


ENTER = """
import os, socket, sys
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
socket.create_connection((sys.argv[2], int(sys.argv[3])), timeout=10).close()
print("connected")
"""


def test_a_worker_process_of_its_own_has_no_cuts(tmp_path: Path) -> None:
    worker = WorkerProcess(WorkerSpec(role=TALKER, process=0), home=tmp_path)
    assert (worker.cuts, worker.no_cuts) == (None, "no fault of the run asks for it")
    worker.kill()
    assert worker.wait(10)
