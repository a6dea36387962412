"""What probes cost the clients: throughput of a producer with and without them, side by side on one cluster.

  .venv/bin/python benchmarks/probes.py [--records 300000] [--rounds 5] [--library NAME] [--json]

Three brokers, one topic of three partitions with three replicas, acks=all, idempotence, values of 100 bytes. Rounds
alternate: the producer of `AppendLog` as in benchmarks/recording.py, alone and beside a process with all probes, as
they sample in a run. Each time is from the first send to the last acknowledgement.

ratio    records/s with probes / without, medians of the rounds; bar: 0.95
samples  that the probes took per second, and how many were not answered
processors  that the process of the probes used, on average

It needs the images of `kafkacheck setup`, two cores and a machine without other load.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.prerequisites import require_images
from benchmarks.recording import PARTITIONS, SIZE, UNREACHABLE, measure
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from workloads.roles.context import WorkerContext
from workloads.roles.probe import probe

RATIO = 0.95
CALL = "from benchmarks.probes import observe; observe({order!r})"
LIMIT = 30
"""Seconds for the process of the probes to end."""


def observe(order: str) -> None:
    """Run all probes until standard input ends. Prints an empty line when they begin, and at the end, as JSON, the
    counts of samples, the seconds, and those of a processor."""
    context = WorkerContext(json.loads(order), report=lambda _: None)
    context.go.set()
    begun, used = time.monotonic(), time.process_time()
    print(flush=True)
    running = threading.Thread(target=probe, args=(context,))
    running.start()
    sys.stdin.read()
    context.stop.set()
    running.join()
    seconds = time.monotonic() - begun
    print(json.dumps({**context.counts, "seconds": seconds, "processor": time.process_time() - used}))


@contextmanager
def _observed(order: dict[str, Any]) -> Iterator[dict[str, float]]:
    """With probes in a process of their own. Their counts are known at the end."""
    found: dict[str, float] = {}
    process = subprocess.Popen(
        [sys.executable, "-c", CALL.format(order=json.dumps(order))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield found
        output, _ = process.communicate(timeout=LIMIT)
        found |= json.loads(output)
    finally:
        process.kill()
        process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--library", choices=[*UNREACHABLE], default="kafka-python")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    client = require_images([ClusterSpec().version])
    alone: list[float] = []
    beside: list[float] = []
    counts: list[dict[str, float]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        running(client, ClusterSpec(), run=f"bench-{os.getpid()}", logs=Path(folder)) as cluster,
    ):
        topics.create(cluster.brokers, "t-r", partitions=PARTITIONS, replication_factor=3)
        order = {
            "role": "bench", "session": None, "run": "r", "library": options.library,
            "topics": {"t-r": PARTITIONS},
            "brokers": {node: address.to_json() for node, address in cluster.brokers.items()},
            "options": {
                "acks": "all", "idempotence": True, "record_size": SIZE, "client": {},
                "rate": UNREACHABLE[options.library],
            },
            "records": options.records,
        }  # fmt: skip
        homes = iter(range(10_000))

        def fresh() -> dict[str, Any]:
            number = next(homes)
            home = Path(folder) / f"home-{number}"
            home.mkdir()
            return {**order, "home": str(home), "process": number}

        measure("sends recorded", fresh())  # the first one finds cold brokers
        for _ in range(options.rounds):
            alone.append(measure("sends recorded", fresh()))
            with _observed(fresh()) as found:
                beside.append(measure("sends recorded", fresh()))
            counts.append(found)
    ratio = statistics.median(alone) / statistics.median(beside)
    seconds = sum(each["seconds"] for each in counts)
    results = {
        "alone_records_per_s": options.records / statistics.median(alone),
        "beside_records_per_s": options.records / statistics.median(beside),
        "ratio": ratio,
        "samples_per_s": sum(each.get("samples", 0) for each in counts) / seconds,
        "processors": sum(each["processor"] for each in counts) / seconds,
        "unanswered": sum(each.get("unanswered", 0) for each in counts),
    }
    if options.json:
        print(json.dumps({"results": results, "seconds": {"alone": alone, "beside": beside}}, indent=2))
    else:
        for name, value in results.items():
            print(f"{name:22} {value:,.2f}")
        print(f"bar: {'met' if ratio >= RATIO else 'missed'}")
    return 0 if ratio >= RATIO else 1


if __name__ == "__main__":
    raise SystemExit(main())
