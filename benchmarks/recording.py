"""What recording costs a client: throughput and latency of a worker, beside the bare library in the same run.

  .venv/bin/python benchmarks/recording.py [--records 300000] [--rounds 3] [--library NAME] [--json]

Three brokers, one topic of three partitions with three replicas, acks=all, idempotence, values of 100 bytes. Ways
alternate, each in a process of its own, and each time is from the first send to the last acknowledgement:

bare      a loop that sends to the partitions in turn, and waits for all acknowledgements
recorded  the role of `AppendLog`'s producers, with a rate that the client does not reach: each value is unique and
          has a checksum, each invocation is on disk before its send, each completion is recorded

Both collect garbage as workers do, and both have as many sends under way at most as that role has at that rate.

ratio    records/s recorded / bare, medians; bars: 0.75 for kafka-python; 0.5 or 150,000/s for confluent-kafka;
         0.6 for java
latency  median time of one send at a time, recorded / bare; bar: 1.1, and 1.2 for java
reading  records/s of the role that reads everything / of a loop that polls; bar: 0.6 for java

It needs what `kafkacheck setup` makes, two cores and a machine without other load, and for java a JDK.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.bare_clients import BARE, LIMIT, PARTITIONS, SIZE, UNREACHABLE
from benchmarks.prerequisites import require_images
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from workloads.roles.context import WorkerContext
from workloads.roles.producer import produce
from workloads.roles.reader import read
from workloads.roles.sending import Sending
from workloads.workers.main import collect_garbage_seldom

RATIO = {"kafka-python": 0.75, "confluent-kafka": 0.5, "java": 0.6}
ENOUGH = {"confluent-kafka": 150_000.0}
LATENCY = {"kafka-python": 1.1, "confluent-kafka": 1.1, "java": 1.2}
READING = {"java": 0.6}
ONE_AT_A_TIME = 400
CALL = "from benchmarks.recording import measured; measured({way!r}, {order!r})"


def measured(way: str, order: str) -> None:
    """Print the seconds that this process took, as JSON."""
    given = json.loads(order)
    collect_garbage_seldom()
    print(json.dumps(WAYS[way](given, int(given["records"]))))


def _context(order: dict[str, Any]) -> WorkerContext:
    context = WorkerContext(order, report=lambda _: None)
    context.go.set()
    return context


def _recorded_sends(order: dict[str, Any], count: int) -> float:
    return _until(order, produce, "acks", count)


def _recorded_reads(order: dict[str, Any], count: int) -> float:
    return _until(order, read, "polled", count)


def _until(order: dict[str, Any], role: Callable[[WorkerContext], None], name: str, count: int) -> float:
    """Run a role. Returns the seconds from when it was ready until it had counted so many."""
    times: list[float] = []
    context = WorkerContext(order, report=lambda _: times.append(time.monotonic()))
    context.go.set()

    def watch() -> None:
        while context.counts[name] < count:
            time.sleep(0.002)
        times.append(time.monotonic())
        context.stop.set()

    threading.Thread(target=watch, daemon=True).start()
    role(context)
    context.close()
    assert context.counts["acks"] == context.counts["sends"], context.counts
    begun, ended = times
    return ended - begun


def _recorded_latency(order: dict[str, Any], count: int) -> float:
    context = _context(order)
    sending = Sending(context, context.records())
    sending.connect()
    taken = []
    for number in range(count):
        begun = time.monotonic()
        sending.send([context.logs[number % PARTITIONS]])
        while sending.in_flight:
            sending.collect(1)
        taken.append(time.monotonic() - begun)
    sending.finish(5)
    context.close()
    return statistics.median(taken)


def _bare(way: str) -> Callable[[dict[str, Any], int], float]:
    return lambda order, count: BARE[order["library"]][way](order, count)


WAYS: dict[str, Callable[[dict[str, Any], int], float]] = {
    "sends bare": _bare("sends"),
    "sends recorded": _recorded_sends,
    "latency bare": _bare("latency"),
    "latency recorded": _recorded_latency,
    "reads bare": _bare("reads"),
    "reads recorded": _recorded_reads,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--library", choices=[*RATIO], action="append")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    client = require_images([ClusterSpec().version])
    found: dict[str, dict[str, list[float]]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        running(client, ClusterSpec(), run=f"bench-{os.getpid()}", logs=Path(folder)) as cluster,
    ):
        for library in options.library or RATIO:
            topic = f"t-{library}"
            topics.create(cluster.brokers, topic, partitions=PARTITIONS, replication_factor=3)
            order = {
                "role": "bench", "session": None, "run": "r", "library": library, "topics": {topic: PARTITIONS},
                "brokers": {node: address.to_json() for node, address in cluster.brokers.items()},
                "options": {
                    "acks": "all", "idempotence": True, "record_size": SIZE, "client": {},
                    "rate": UNREACHABLE[library],
                },
            }  # fmt: skip
            times = found[library] = {way: [] for way in WAYS}
            for number in range(options.rounds):
                for way, of in times.items():
                    home = Path(folder) / f"{library}-{number}-{way.replace(' ', '-')}"
                    home.mkdir()
                    count = ONE_AT_A_TIME if way.startswith("latency") else options.records
                    of.append(measure(way, {**order, "home": str(home), "process": number, "records": count}))
    results = {library: _results(times, options.records) for library, times in found.items()}
    fine = {library: _bars(library, each) for library, each in results.items()}
    if options.json:
        print(json.dumps({"results": results, "bars": fine, "seconds": found}, indent=2))
    else:
        _print(results, fine)
    return 0 if all(all(each.values()) for each in fine.values()) else 1


def measure(way: str, order: dict[str, Any]) -> float:
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(way=way, order=json.dumps(order))],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
    )
    return float(done.stdout)


def _results(times: dict[str, list[float]], records: int) -> dict[str, float]:
    seconds = {way: statistics.median(of) for way, of in times.items()}
    return {
        "bare_records_per_s": records / seconds["sends bare"],
        "recorded_records_per_s": records / seconds["sends recorded"],
        "ratio": seconds["sends bare"] / seconds["sends recorded"],
        "bare_latency_ms": seconds["latency bare"] * 1000,
        "latency": seconds["latency recorded"] / seconds["latency bare"],
        "bare_reads_per_s": records / seconds["reads bare"],
        "recorded_reads_per_s": records / seconds["reads recorded"],
        "reading": seconds["reads bare"] / seconds["reads recorded"],
    }


def _bars(library: str, results: dict[str, float]) -> dict[str, bool]:
    is_fast = results["recorded_records_per_s"] >= ENOUGH.get(library, float("inf"))
    return {
        "ratio": results["ratio"] >= RATIO[library] or is_fast,
        "latency": results["latency"] <= LATENCY[library],
        **({"reading": results["reading"] >= READING[library]} if library in READING else {}),
    }


def _print(results: dict[str, dict[str, float]], fine: dict[str, dict[str, bool]]) -> None:
    table = Table("", *results, box=None)
    for name in next(iter(results.values())):
        cells = []
        for library, each in results.items():
            bar = "" if name not in fine[library] else " met" if fine[library][name] else " missed"
            cells.append(f"{each[name]:,.2f}{bar}")
        table.add_row(name, *cells)
    Console().print(table)


if __name__ == "__main__":
    raise SystemExit(main())
