"""Converts a log of a worker of redpanda-data/chaos into a history as JSON lines.

    python chaos_log.py workload.log > history.jsonl
    kafkacheck analyze history.jsonl

A line of such a log has a thread, the microseconds since the line before, an event and its fields, with tabs between.
This reads those of the workloads reads-writes (``msg OP``, then ``ok OFFSET OP``, ``err`` or ``time``; its topic has
one partition) and rw-subscribe (``send PARTITION OP``, ``ok OFFSET``; ``poll``, ``ok``, then ``read PARTITION OFFSET
KEY OP`` for each record). Each client that a thread constructs is a process of its own, which acts for the thread.

Nobody reads the topic at the end, so no such history is valid: it is invalid, or unknown. To judge whether writes
were lost, append a final-read line and its polls.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

TOPIC = "chaos"


class Thread:
    def __init__(self, name: str) -> None:
        self.name, self.clients, self.assignment = name, 0, 0
        self.pending: dict[str, Any] | None = None
        """What it began: a send or a poll without its end, or something that is no line of a history."""
        self.poll: dict[str, Any] | None = None
        """The last poll that returned, whose records follow."""

    def begin(self, f: str, now: int, **fields: Any) -> None:
        of = {"process": f"{self.name}.{self.clients}", "session": self.name, "topic": TOPIC}
        self.pending = {"f": f, "type": "info", **of, "invoked": now, **fields}

    def end(self, now: int, **fields: Any) -> Iterator[dict[str, Any]]:
        done, self.pending = self.pending, None
        if done is not None and done["f"] == "send":
            yield done | {"completed": now} | fields
        if done is not None and done["f"] == "poll" and fields.get("type") == "ok":
            self.poll = done | {"type": "ok", "completed": now, "records": []}

    def records(self) -> Iterator[dict[str, Any]]:
        done, self.poll = self.poll, None
        if done is not None and done["records"]:
            yield done


def converted(log: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The lines of the history."""
    yield {"kafkacheck_history": 1, "unit": "us"}
    threads: dict[str, Thread] = {}
    now = 0
    for line in log:
        name, passed, event, *fields = line.rstrip("\n").split("\t")
        now += int(passed)
        thread = threads.setdefault(name, Thread(name))
        match event, fields:
            case "constructing", _:
                yield from thread.records()
                thread.clients, thread.pending = thread.clients + 1, None
            case "msg", [op]:
                thread.begin("send", now, partition=0, value=op)
            case "send", [partition, op]:
                thread.begin("send", now, partition=int(partition), value=op)
            case "poll", _:
                yield from thread.records()
                thread.begin("poll", now, committed=True, assignment=thread.assignment)
            case "commit", _:
                thread.begin("commit", now)
            case "ok", [offset, *_]:
                yield from thread.end(now, type="ok", offset=int(offset))
            case "ok", []:
                yield from thread.end(now, type="ok")
            case (("err" | "time"), _):
                yield from thread.end(now, error=event)
            case "read", [partition, offset, _, op] if thread.poll is not None:
                record = {"partition": int(partition), "offset": int(offset), "value": op}
                thread.poll["records"].append(record)
            case "log", ["assign" | "revoke" | "lost", *_]:
                thread.assignment += 1
    for thread in threads.values():
        yield from thread.records()
        if thread.pending is not None and thread.pending["f"] == "send":
            yield thread.pending


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        for row in converted(file):
            sys.stdout.write(json.dumps(row) + "\n")
