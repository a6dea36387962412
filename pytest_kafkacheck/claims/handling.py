"""Members of a group that handle records and commit after it, each in a process that can be killed.

A member writes a line to a file for each record that it has handled, for each commit that was accepted, and for each
loss of its partitions. So what it did is known after it was killed as well.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

LIMIT = 10.0
"""Seconds for a member to leave its group."""

COMMIT_EVERY = 10
"""Polls with records between two commits."""

PROGRAM = """
import json, signal, sys
from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.errors import KafkaError
from workloads.clients.kafka_python import access
settings, topic, path, every = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
out = open(path, "w")
def note(kind, partition=-1, offset=-1):
    out.write(f"{kind} {partition} {offset}\\n")
class Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        pass
    def on_partitions_revoked(self, revoked):
        note("lost")
        out.flush()
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
access(())
consumer = KafkaConsumer(**settings)
consumer.subscribe([topic], listener=Listener())
polls = 0
try:
    while True:
        polled = consumer.poll(timeout_ms=100)
        for log, records in polled.items():
            for record in records:
                note("handled", log.partition, record.offset)
        out.flush()
        polls += bool(polled)
        if polled and polls % every == 0:
            positions = {log.partition: consumer.position(log) for log in consumer.assignment()}
            try:
                consumer.commit()
            except KafkaError:
                continue
            for partition, offset in positions.items():
                note("committed", partition, offset)
            out.flush()
finally:
    consumer.close(autocommit=False)
"""


class Line(NamedTuple):
    """offset: of a record that was handled, or the next one to handle of a commit."""

    kind: Literal["handled", "committed", "lost"]
    partition: int
    offset: int


class Handler:
    """A member. The constructor starts it; `settings` are those of its KafkaConsumer."""

    def __init__(self, settings: Mapping[str, Any], topic: str, path: Path) -> None:
        self._path = path
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, json.dumps(dict(settings)), topic, str(path),
             str(COMMIT_EVERY)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def leave(self) -> None:
        """It leaves the group, without a commit."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(LIMIT)

    def crash(self) -> None:
        self._process.kill()
        self._process.wait()

    def lines(self) -> list[Line]:
        """So far. A line that a kill has cut off is left out."""
        if not self._path.exists():
            return []
        whole = self._path.read_text(encoding="ascii").rpartition("\n")[0]
        parts = (line.split() for line in whole.splitlines())
        return [Line(kind, int(partition), int(offset)) for kind, partition, offset in parts]  # type: ignore[arg-type]


def uncommitted(lines: list[Line]) -> int:
    """Records that the member had handled and not committed when it lost its partitions, or ended."""
    total = 0
    handled: dict[int, set[int]] = {}
    for kind, partition, offset in [*lines, Line("lost", -1, -1)]:
        if kind == "handled":
            handled.setdefault(partition, set()).add(offset)
        elif kind == "committed":
            handled[partition] = {each for each in handled.get(partition, ()) if each >= offset}
        else:
            total += sum(map(len, handled.values()))
            handled.clear()
    return total
