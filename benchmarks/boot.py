"""How fast clusters start: plain (formatted by a JVM, default JVM flags, no archive) against fast, in one run.

    .venv/bin/python benchmarks/boot.py [--rounds 5] [--shape combined-3 ...] [--json]

Plain and fast starts take turns, so that both see the same load of the machine. Two bars for each shape:
  ratio   fast / plain, medians of the seconds from the call to a ready cluster; at most 0.45
  limit   fast / (CPU seconds of the nodes until then / cores): 1 is the best that the machine can do; at most 1.6
The parts of the fast start: containers (until the last process runs), JVM (until the last node logs that it has
started), readiness (until every broker is registered, and has stored and returned a record).
KRaft clusters are started as plain processes as well, in the same turns: the last two columns.

It needs the images of `kafkacheck setup --kafka 4.1.1 3.9.2`, or of the shapes that --shape selects.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import secrets
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.prerequisites import require_images
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.cluster.nodes.launch import Boot
from pytest_kafkacheck.cluster.processes import boot as processes
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.setup.class_archives import ensure_class_archives
from pytest_kafkacheck.setup.processes import ensure_kafka_files

SHAPES = {
    "combined-3": ClusterSpec(),
    "controllers-3": ClusterSpec(controllers=3),
    "zookeeper-1": ClusterSpec(version="3.9.2", zookeepers=1),
}
RATIO, LIMIT = 0.45, 1.6
STARTED = re.compile(
    r"^(\d{4}-\d\d-\d\d)[T ]([\d:]+),(\d+) .*(?:Kafka Server started|\[KafkaServer id=\d+\] started)", re.M
)


@dataclass(frozen=True)
class Start:
    """Seconds of each part of a start. cpu: CPU seconds of all nodes' processes until the cluster was ready."""

    ready: float
    containers: float
    jvm: float
    readiness: float
    cpu: float


def start(client: Any, spec: ClusterSpec, boot: Boot) -> Start:
    with tempfile.TemporaryDirectory() as logs:
        began = time.time()
        with running(
            client, spec, run=f"bench-{secrets.token_hex(4)}", logs=Path(logs), boot=boot
        ) as cluster:
            ready = time.time()
            cpu = sum(_cpu(client, node.container) for node in cluster.nodes.values())
            up = max(_timestamp(node.incarnation()) for node in cluster.nodes.values())
            logged = _last_start_logged(cluster)
    return Start(ready - began, up - began, logged - up, ready - logged, cpu)


def _cpu(client: Any, container: str) -> float:
    return (
        float(
            client.api.stats(container, stream=False, one_shot=True)["cpu_stats"]["cpu_usage"]["total_usage"]
        )
        / 1e9
    )


def _timestamp(text: str) -> float:
    return datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00").timestamp()


def _last_start_logged(cluster: DockerCluster) -> float:
    """When the last node reported that it had started, by its own clock, which is the engine's."""
    moments = []
    for node in cluster.nodes.values():
        for match in STARTED.finditer(node.logs().decode(errors="replace")):
            text = f"{match[1]} {match[2]}.{match[3]}+00:00"
            moments.append(datetime.fromisoformat(text).timestamp())
    return max(moments)


def start_processes(spec: ClusterSpec, kafka: Path) -> float:
    """Seconds until a cluster without an engine is ready."""
    with tempfile.TemporaryDirectory() as logs:
        began = time.monotonic()
        with processes.running(spec, run="bench", logs=Path(logs), kafka=kafka):
            return time.monotonic() - began


def measure(client: Any, spec: ClusterSpec, rounds: int) -> dict[str, Any]:
    kafka = ensure_kafka_files(spec.version, print) if spec.kraft and os.geteuid() == 0 else None
    without: list[float] = []
    found: dict[Boot, list[Start]] = {"plain": [], "fast": []}
    for _ in range(rounds):
        for boot, starts in found.items():
            starts.append(start(client, spec, boot))
        if kafka is not None:
            without.append(start_processes(spec, kafka))
    plain, fast = (
        Start(
            *(
                statistics.median(column)
                for column in zip(*(asdict(each).values() for each in starts), strict=True)
            )
        )
        for starts in (found["plain"], found["fast"])
    )
    cores = os.cpu_count() or 1
    return {
        "plain": asdict(plain),
        "fast": asdict(fast),
        "ratio": fast.ready / plain.ready,
        "limit": fast.ready / (fast.cpu / cores),
        "processes": statistics.median(without) if without else None,
        "spread": {boot: [round(each.ready, 2) for each in starts] for boot, starts in found.items()}
        | {"processes": [round(each, 2) for each in without]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    client = require_images(SHAPES[shape].version for shape in options.shape)
    results = {}
    for shape in options.shape:
        spec = SHAPES[shape]
        ensure_class_archives(client, spec.version, image_for(spec.version, client), print)
        results[shape] = measure(client, spec, options.rounds)
    if options.json:
        print(json.dumps(results, indent=2))
        return
    columns = ("containers", "JVM", "readiness", "CPU s plain", "CPU s fast", "processes s", "/ fast")
    table = Table("cluster", "plain s", "fast s", f"ratio ≤ {RATIO}", f"limit ≤ {LIMIT}", *columns, box=None)
    for shape, each in results.items():
        plain, fast = each["plain"], each["fast"]
        table.add_row(
            shape,
            *(f"{value:.2f}" for value in (
                plain["ready"], fast["ready"], each["ratio"], each["limit"], fast["containers"], fast["jvm"],
                fast["readiness"], plain["cpu"], fast["cpu"],
            )),
            *(f"{value:.2f}" for value in (each["processes"], (each["processes"] or 0) / fast["ready"]) if value),
        )  # fmt: skip
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
