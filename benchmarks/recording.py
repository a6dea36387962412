"""What recording costs a client: throughput and latency of a worker, beside the bare library in the same run.

  .venv/bin/python benchmarks/recording.py [--records 300000] [--rounds 3] [--library NAME] [--json]

Three brokers, one topic of three partitions with three replicas, acks=all, idempotence, values of 100 bytes. Ways
alternate, each in a process of its own, and each time is from the first send to the last acknowledgement:

bare      a loop that sends to the partitions in turn, and waits for all acknowledgements
recorded  the role of `AppendLog`'s producers, with a rate that the client does not reach: each value is unique and
          has a checksum, each invocation is on disk before its send, each completion is recorded

Both collect garbage as workers do, and both have as many sends under way at most as that role has at that rate.

ratio    records/s recorded / bare, medians; bars: 0.75 for kafka-python; 0.5 or 150,000 records/s for confluent-kafka
latency  median time of one send at a time, recorded / bare; bar: 1.1
reading  records/s of the role that reads everything / of a loop that polls, without a bar

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
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.prerequisites import require_images
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from workloads.roles.context import WorkerContext
from workloads.roles.producer import limits, produce
from workloads.roles.reader import read
from workloads.roles.sending import Sending
from workloads.workers.main import collect_garbage_seldom

RATIO = {"kafka-python": 0.75, "confluent-kafka": 0.5}
ENOUGH = {"confluent-kafka": 150_000.0}
LATENCY = 1.1
SIZE = 100
PARTITIONS = 3
ONE_AT_A_TIME = 400
UNREACHABLE = {"kafka-python": 1e5, "confluent-kafka": 3e5}
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


def _bare_kafka_python(order: dict[str, Any], **more: Any) -> Any:
    from kafka import KafkaProducer

    from workloads.clients.kafka_python.producer import PRODUCER
    from workloads.clients.kafka_python.settings import COMMON

    servers = _servers(order)
    return KafkaProducer(
        **COMMON, **PRODUCER, bootstrap_servers=servers, acks="all", enable_idempotence=True, **more
    )


def _bare_confluent(order: dict[str, Any], **more: Any) -> Any:
    from confluent_kafka import Producer

    from workloads.clients.confluent.settings import COMMON

    servers = ",".join(_servers(order))
    return Producer(
        {**COMMON, "bootstrap.servers": servers, "acks": "all", "enable.idempotence": True, **more}
    )


def _servers(order: dict[str, Any]) -> list[str]:
    return [str(address) for address in _context(order).bootstrap]


def _bare_sends(order: dict[str, Any], count: int) -> float:
    topic, value = next(iter(order["topics"])), bytes(SIZE)
    _, in_flight = limits(UNREACHABLE[order["library"]], SIZE)
    if order["library"] == "kafka-python":
        producer = _bare_kafka_python(order)
        under_way: deque[Any] = deque()
        begun = time.monotonic()
        for number in range(count):
            if len(under_way) == in_flight:
                under_way.popleft().get(60)
            under_way.append(producer.send(topic, value=value, partition=number % PARTITIONS))
        for future in under_way:
            future.get(60)
        return time.monotonic() - begun
    producer = _bare_confluent(order, **{"queue.buffering.max.messages": in_flight})
    begun = time.monotonic()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value=value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.01)
    unsent = producer.flush()
    assert unsent == 0
    return time.monotonic() - begun


def _bare_latency(order: dict[str, Any], count: int) -> float:
    topic, value = next(iter(order["topics"])), bytes(SIZE)
    taken: list[float] = []
    done: list[int] = []
    if order["library"] == "kafka-python":
        producer = _bare_kafka_python(order)
        for number in range(count):
            begun = time.monotonic()
            producer.send(topic, value=value, partition=number % PARTITIONS).get(10)
            taken.append(time.monotonic() - begun)
    else:
        producer = _bare_confluent(order)
        for number in range(count):
            done.clear()
            begun = time.monotonic()
            producer.produce(
                topic, value=value, partition=number % PARTITIONS, on_delivery=lambda *_: done.append(1)
            )
            while not done:
                producer.poll(1)
            taken.append(time.monotonic() - begun)
    return statistics.median(taken)


def _bare_reads(order: dict[str, Any], count: int) -> float:
    topic, found = next(iter(order["topics"])), 0
    if order["library"] == "kafka-python":
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(bootstrap_servers=_servers(order), auto_offset_reset="earliest")
        consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        begun = time.monotonic()
        while found < count:
            found += sum(map(len, consumer.poll(200).values()))
        return time.monotonic() - begun
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": ",".join(_servers(order)), "group.id": "bare", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    begun = time.monotonic()
    while found < count:
        found += len(consumer.consume(1000, 0.2))
    return time.monotonic() - begun


WAYS: dict[str, Callable[[dict[str, Any], int], float]] = {
    "sends bare": _bare_sends,
    "sends recorded": _recorded_sends,
    "latency bare": _bare_latency,
    "latency recorded": _recorded_latency,
    "reads bare": _bare_reads,
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
        timeout=300,
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
    return {"ratio": results["ratio"] >= RATIO[library] or is_fast, "latency": results["latency"] <= LATENCY}


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
