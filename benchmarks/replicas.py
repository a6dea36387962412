"""What comparing replicas costs, beside reading them.

  .venv/bin/python benchmarks/replicas.py [--mb 256] [--size 1000] [--rounds 3] [--json]

Three brokers, one partition with three replicas of so many MB, in records of `size` bytes that a producer puts into
batches of 16 kB.

reading    seconds to copy the segments of all replicas out of the containers
comparing  seconds to copy and compare them; at most twice `reading`
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from kafka import KafkaProducer
from rich.console import Console
from rich.table import Table

from benchmarks.prerequisites import require_images
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.kafka.replica_comparison import Comparison, batches_of, compare
from pytest_kafkacheck.cluster.kafka.waiting import wait_settled
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from workloads.clients.kafka_python import access
from workloads.clients.protocol import Log

LOG: Log = ("t", 0)
BAR = 2.0


def read(cluster: DockerCluster, folder: Path) -> dict[int, list[Path]]:
    copies = {}
    for node in cluster.brokers:
        home = folder / str(node)
        home.mkdir()
        found = cluster.nodes[node].segments([LOG], home)[LOG]
        if isinstance(found, OSError):
            raise found
        copies[node] = found
    return copies


def compared(cluster: DockerCluster, folder: Path, end: int) -> Comparison:
    copies = {node: batches_of(paths) for node, paths in read(cluster, folder).items()}
    return compare(copies, begin=0, end=end, is_compacted=False)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=int, default=256)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    client = require_images([ClusterSpec().version])
    count = (options.mb << 20) // options.size
    times: dict[str, list[float]] = {"reading": [], "comparing": []}
    with (
        tempfile.TemporaryDirectory() as logs,
        running(client, ClusterSpec(), run=f"bench-{os.getpid()}", logs=Path(logs)) as cluster,
    ):
        topics.create(cluster.brokers, LOG[0], replication_factor=3)
        producer = KafkaProducer(**access(cluster.brokers.values()), linger_ms=5)
        value = os.urandom(options.size)
        for _ in range(count):
            producer.send(LOG[0], value, partition=0)
        producer.flush(600)
        producer.close()
        wait_settled(cluster)
        for _ in range(options.rounds):
            for name in times:
                with tempfile.TemporaryDirectory() as folder:
                    begun = time.monotonic()
                    if name == "reading":
                        read(cluster, Path(folder))
                    else:
                        found = compared(cluster, Path(folder), count)
                        assert (found.records, found.different) == (count, 0), found
                    times[name].append(time.monotonic() - begun)
    seconds = {name: statistics.median(of) for name, of in times.items()}
    ratio = seconds["comparing"] / seconds["reading"]
    if options.json:
        print(json.dumps({"mb": options.mb, "records": count, "seconds": seconds, "ratio": ratio}, indent=2))
    else:
        table = Table("MB per replica", "records", "reading s", "comparing s", f"ratio ≤ {BAR:g}", box=None)
        table.add_row(
            f"{options.mb}", f"{count:,}", *(f"{each:.2f}" for each in seconds.values()), f"{ratio:.2f}"
        )
        Console().print(table)
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    raise SystemExit(main())
