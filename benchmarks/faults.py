"""How soon cuts take effect, and how soon they end when the process that made them is gone.

  .venv/bin/python benchmarks/faults.py [--rounds 10] [--json]

spread   three nodes are cut off from each other at once: ms between the moments at which the kernels of the first and
         of the last node accept the rules (bar: 60 ms on an idle host), and its ratio to the time of one node alone
killed   s from a SIGKILL of the process that made the cuts until they are gone (bar: 2 s)
stopped  s from a SIGSTOP of that process until they are gone, and its ratio to the agents' TTL (bar: 1.1)

It needs the images of `kafkacheck setup`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.prerequisites import require_images
from nemesis.effects.network import Network
from nemesis.effects.nft import Cut
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.nodes.agent import TTL
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

SPREAD_MS, KILLED_S = 60.0, 2.0
ALL = [Cut(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b]
RULES = "nft list table inet kafkacheck >/dev/null 2>&1 && echo there"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    spec = ClusterSpec()
    client = require_images([spec.version])
    with (
        tempfile.TemporaryDirectory() as logs,
        running(client, spec, run=f"bench-{os.getpid()}", logs=Path(logs)) as cluster,
    ):
        spreads, alone = spread(cluster, options.rounds)
        killed = [time_until_healed(cluster, signal.SIGKILL) for _ in range(3)]
        stopped = [time_until_healed(cluster, signal.SIGSTOP)]
    results = {
        "spread_ms": statistics.median(spreads),
        "spread_worst_ms": max(spreads),
        "spread_ratio": statistics.median(spreads) / statistics.median(alone),
        "killed_s": max(killed),
        "stopped_s": max(stopped),
        "stopped_ratio": max(stopped) / TTL,
    }
    fine = {
        "spread_ms": results["spread_ms"] <= SPREAD_MS,
        "killed_s": results["killed_s"] <= KILLED_S,
        "stopped_ratio": results["stopped_ratio"] <= 1.1,
    }
    if options.json:
        print(json.dumps({"results": results, "bars": fine}, indent=2))
    else:
        table = Table("", "measured", "bar", box=None)
        for name, value in results.items():
            bar = "" if name not in fine else "met" if fine[name] else "missed"
            table.add_row(name, f"{value:.2f}", bar)
        Console().print(table)
    return 0 if all(fine.values()) else 1


def spread(cluster: DockerCluster, rounds: int) -> tuple[list[float], list[float]]:
    """For each round: ms between the first and the last node's rules, and ms from call to rules of one node alone."""
    found, alone = [], []
    network = Network(cluster.nodes)
    network.cut("warm-up", ALL)  # starts the agents
    network.heal("warm-up")
    for number in range(rounds):
        begun = time.monotonic()
        network.cut(f"one-{number}", [Cut(1, 2)])
        alone.append((time.monotonic() - begun) * 1000)
        network.heal(f"one-{number}")
        times: dict[int, float] = {}
        for node in cluster.nodes.values():
            _record_time(node, times)
        network.cut(f"all-{number}", ALL)
        for node in cluster.nodes.values():
            del node.shell
        found.append((max(times.values()) - min(times.values())) * 1000)
        network.heal(f"all-{number}")
    return found, alone


def _record_time(node: Any, times: dict[int, float]) -> None:
    """Make a node record the time at which its kernel has accepted rules."""
    shell = node.shell

    def timed(command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        answer: tuple[int, str] = shell(command, timeout=timeout)
        if command.startswith("nft "):
            times[node.id] = time.monotonic()
        return answer

    node.shell = timed


CHILD = """
import sys, time
from nemesis.effects.network import Network
from nemesis.effects.nft import Cut
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.spec.member import Endpoint, Member
client = connect()
nodes = {}
for word in sys.argv[1:]:
    number, pod, container = word.split(",")
    member, endpoint = Member(id=int(number), role="combined"), Endpoint("127.0.0.1", {})
    nodes[int(number)] = DockerNode(client, member=member, endpoint=endpoint, container=container, pod=pod)
Network(nodes).cut("bench", [Cut(a, b) for a in nodes for b in nodes if a != b])
print("cut", flush=True)
time.sleep(300)
"""


def time_until_healed(cluster: DockerCluster, with_signal: signal.Signals) -> float:
    """Seconds from the signal to a process that cut the nodes until every rule is gone."""
    words = [f"{node.id},{node.pod},{node.container}" for node in cluster.nodes.values()]
    with subprocess.Popen([sys.executable, "-c", CHILD, *words], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "cut\n"
            assert all(node.shell(RULES)[1].strip() == "there" for node in cluster.nodes.values())
            begun = time.monotonic()
            child.send_signal(with_signal)
            while any(node.shell(RULES)[1].strip() for node in cluster.nodes.values()):
                if time.monotonic() - begun > 3 * TTL:
                    raise TimeoutError(f"the rules were still there {3 * TTL} s after {with_signal.name}")
                time.sleep(0.02)
            return time.monotonic() - begun
        finally:
            child.kill()


if __name__ == "__main__":
    sys.exit(main())
