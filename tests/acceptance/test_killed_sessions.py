"""Repeatedly: pytest sessions are killed at any moment of runs with faults. The next start finds and mends the rest.

KAFKACHECK_KILLS sets how often, KAFKACHECK_SEED repeats the moments.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.kafka.dynamic import snapshot
from tests.support.foreign_cluster import two_nodes
from tests.support.processes import is_alive
from tests.support.real_cluster import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(7200)]

KILLS = int(os.environ.get("KAFKACHECK_KILLS", "30"))

LONGEST = 9.0
"""Seconds from the beginning of the load to the last moment of a kill: the first faults are over by then."""

STARTED = 180.0
"""Seconds for the load to begin."""

FILE = """
import pathlib, secrets, threading
import pytest
from pytest_kafkacheck import AppendLog, ClusterSpec, Experiment
from pytest_kafkacheck import clock, configure_broker, cpu, cut_clients, kill, pause, pause_client
from pytest_kafkacheck.experiment.execution import execute
from pytest_kafkacheck.experiment.run_directory import RunDirectory

SPEC = ClusterSpec(brokers=1, heap_mb=256)
NODE = "%(node)s"
pytestmark = pytest.mark.kafkacheck(cluster=SPEC, alone=True)

def say(line):
    with open("said", "a") as file:
        file.write(line + "\\n")

@pytest.mark.parametrize("number", range(3))
def test_it(kafkacheck_cluster, number):
    experiment = Experiment(
        workload=AppendLog(partitions=1, replication_factor=1), cluster=kafkacheck_cluster.spec,
        cooldown=0.5,
        faults=[
            pause_client("producer", at=0.5, lasting=4),
            %(other)s,
            clock(NODE, at=1, lasting=5, offset=3600),
            configure_broker({"message.max.bytes": 2_000_000}, NODE, at=1, lasting=5),
            pause(NODE, at=3, lasting=1),
            cut_clients(NODE, at=5, lasting=2),
        ],
    )
    run = secrets.token_hex(4)
    home = RunDirectory.create(pathlib.Path(".kafkacheck"), name="run", run=run).path
    execute(experiment, kafkacheck_cluster, run=run, home=home, say=say, stop=threading.Event())
"""


OWN = {"node": "1", "other": "cpu(NODE, at=1, lasting=4, cores=0.2)"}
FOREIGN = {"node": "8", "other": "kill(NODE, at=7.5, lasting=1)"}
"""An attached cluster refuses limits."""


@pytest.fixture
def as_before(
    how: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[tuple[str, ...], Callable[[], None]]]:
    """The options of a session, and what asserts that the cluster is as before."""
    if how != "attached":
        yield (("-n", "1", "--kafkacheck-share=all") if how == "shared" else ()), lambda: None
        return
    client = connect()
    with two_nodes(client, tmp_path_factory.mktemp("foreign")) as foreign:
        what, security = foreign.names, foreign.security
        with attached(client, what, security=security) as cluster:
            cluster.kafka.configure_broker(8, {"message.max.bytes": "1500000"})
            wait_until(lambda: "message.max.bytes" in snapshot(cluster.brokers).brokers.get("8", {}))
            before = snapshot(cluster.brokers).brokers

        def check() -> None:
            with attached(client, what, security=security) as cluster:  # which waits for the guardian
                assert cluster.healthy()
                assert snapshot(cluster.brokers).brokers == before
                assert [node.clock.get() for node in cluster.nodes.values()] == [(0, 0), (0, 0)]

        yield ("--kafkacheck-attach", what, "--kafkacheck-attach-config", str(foreign.config)), check
    client.close()


@pytest.mark.parametrize("how", ["own", "shared", "attached"])
def test_a_kill_at_any_moment_leaves_nothing(
    session: Any,
    project: Path,
    owned: Callable[[int], list[str]],
    how: str,
    as_before: tuple[tuple[str, ...], Callable[[], None]],
) -> None:
    options, check = as_before
    seed = int(os.environ.get("KAFKACHECK_SEED", time.time()))
    sys.stdout.write(f"KAFKACHECK_SEED={seed}\n")
    chance, client, left = random.Random(seed), connect(), 0
    moments: list[str] = []
    (project / "test_readme.py").write_text(FILE % (FOREIGN if how == "attached" else OWN))
    for number in range(-(-KILLS // 3)):
        (project / "said").unlink(missing_ok=True)
        running = session(*options)
        wait_until(lambda of=running: _says(project, "load is on") or of.ended, limit=STARTED)
        assert not running.ended, running.output
        time.sleep(chance.uniform(0, LONGEST))
        processes = running.descendants()
        running.signal(signal.SIGKILL)
        running.wait()
        moments.append(_last_line(project))
        left += bool(owned(running.pid))
        # They notice the end of their session, or the kernel ends them. A guardian mends the cluster first.
        wait_until(lambda each=processes: not any(map(is_alive, each)), limit=120)
        reaper.sweep(client)  # every start begins with this
        time.sleep(0.5)  # the engine may still complete a request of the dead client
        reaper.sweep(client)
        pids = [running.pid, *(each.pid for each in processes)]
        assert [name for pid in pids for name in owned(pid)] == [], f"after kill {number} of seed {seed}"
        check()
    sys.stdout.write(f"{left} of {len(moments)} kills left something, which the next start removed\n")
    sys.stdout.write("".join(f"  killed after: {line}\n" for line in moments))
    assert left, "no kill happened while the session had objects"


def _says(folder: Path, text: str) -> bool:
    return (folder / "said").exists() and text in (folder / "said").read_text()


def _last_line(folder: Path) -> str:
    return (folder / "said").read_text().splitlines()[-1]
