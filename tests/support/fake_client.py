"""A client process without brokers: logs, groups and transactions are files in a folder, which its processes share.

Usage: fake_client.py FOLDER [--flaw NAME] [--after REQUESTS] [--without CAPABILITY ...]. It speaks the protocol of
docs/client_protocol.md, and serves one client at a time, as a real one. A flaw is one way to break the protocol;
--after counts requests of the process before it. Imports nothing of this package.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

CAPABILITIES = [
    "producer", "idempotence", "flush", "headers", "consumer", "read-committed", "leader-epochs",
    "reported-ends", "transactions", "group-classic", "assignor-range", "static-members", "share-groups",
]  # fmt: skip

FLAWS = (
    "wrong-version", "no-hello", "garbage-hello", "garbage", "out-of-turn", "unasked", "dies", "silent",
    "no-position", "acks-twice", "foreign-record", "unknown-error", "ignores-seek", "never-acks", "closes-output",
    "accepts-everything", "no-fence", "shares-locks", "loses-released", "no-lag", "acknowledges-anything",
    "stale-end",
)  # fmt: skip

FREE = ("free", 0, "", 0)
"""Of a record of a share group: its state, the count of its deliveries, who has its lock, and until when."""

LARGEST = 1000
"""Bytes of a value, above which a topic whose name contains "small" refuses it."""


class Problem(Exception):
    def __init__(self, name: str, **fields: Any) -> None:
        super().__init__(name)
        self.error = {"name": name, **fields}


class Logs:
    """Each log is a file with a line per offset: a record, or the marker of a transaction."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def lines(self, topic: str, partition: int) -> list[dict[str, Any]]:
        file = self._folder / f"{topic}-{partition}.log"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def append(self, topic: str, partition: int, line: dict[str, Any]) -> int:
        offset = self.end(topic, partition)
        with (self._folder / f"{topic}-{partition}.log").open("a") as file:
            file.write(json.dumps(line) + "\n")
        return offset

    def end(self, topic: str, partition: int) -> int:
        file = self._folder / f"{topic}-{partition}.log"
        return file.read_bytes().count(b"\n") if file.exists() else 0

    def partitions(self, topic: str) -> int:
        """From the name of the topic, which ends with it, as in orders-2."""
        return int(topic.rsplit("-", 1)[1])

    def readable(
        self, topic: str, partition: int, start: int, *, committed: bool
    ) -> tuple[list[tuple[int, Any]], int]:
        """Records from an offset, and the position behind them."""
        lines = self.lines(topic, partition)
        ended = {line["txn"]: line["marker"] for line in lines if "marker" in line}
        found = []
        for offset, line in enumerate(lines[start:], start):
            if committed and line.get("txn") and line["txn"] not in ended:
                return found, offset
            is_shown = not committed or not line.get("txn") or ended[line["txn"]] == "commit"
            if "marker" not in line and is_shown:
                found.append((offset, line))
        return found, max(start, len(lines))

    def state(self, name: str) -> dict[str, Any]:
        file = self._folder / f"{name}.state"
        return dict(json.loads(file.read_text())) if file.exists() else {}

    @contextmanager
    def locked(self, name: str) -> Iterator[dict[str, Any]]:
        """A state that no other process changes meanwhile. It is stored at the end."""
        with (self._folder / f"{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            state = self.state(name)
            yield state
            self.store(name, state)

    def store(self, name: str, state: dict[str, Any]) -> None:
        """In one step: other processes read it at any moment."""
        new = self._folder / f"{name}.state.{os.getpid()}"
        new.write_text(json.dumps(state))
        new.replace(self._folder / f"{name}.state")


def _batches(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records as the answer to a poll has them: by column."""
    columns = {"offset": "offsets", "value": "values", "timestamp": "timestamps", "key": "keys",
               "headers": "headers", "deliveries": "deliveries"}  # fmt: skip
    of_each = groupby(records, key=lambda each: (each["topic"], each["partition"], each.get("epoch")))
    return [
        {"topic": topic, "partition": partition, "epoch": epoch}
        | {columns[name]: [each[name] for each in batch] for name in columns if name in batch[0]}
        for (topic, partition, epoch), group in of_each
        if (batch := list(group))
    ]


class Client:
    """One producer, consumer or member at a time."""

    def __init__(self, logs: Logs, flaw: str | None, out: Any) -> None:
        self._logs, self.flaw, self._out = logs, flaw, out
        self._members = 0
        self._reset()

    def _reset(self) -> None:
        self._members += 1
        self._member = f"member-{os.getpid()}-{self._members}"
        self._role = ""
        self._config: dict[str, str] = {}
        self._positions: dict[tuple[str, int], int] = {}
        self._only: set[tuple[str, int]] | None = None
        self._topics: list[str] = []
        self._events: list[dict[str, Any]] = []
        self._generation = -1
        self._epoch = -1
        self._txn: str | None = None
        self._touched: set[tuple[str, int]] = set()
        self._offsets: dict[str, dict[str, int]] = {}
        self._lock = 0.0
        self._held: dict[str, str] = {}
        """Of a share group: what the last poll returned, as topic/partition/offset, to its acknowledgement."""

    def write(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()

    def open(self, role: str, config: dict[str, str], **rest: Any) -> dict[str, Any]:
        if self._role:
            raise Problem("INVALID_STATE", message=f"a {self._role} is open")
        if "no.such.setting" in config:
            raise Problem("INVALID_CONFIG", message="no.such.setting")
        if config.get("acks", "all") not in ("all", "1", "0"):
            raise Problem("INVALID_CONFIG", message="acks")
        if config.get("bootstrap.servers") in ("unreachable:1", "127.0.0.1:1"):
            raise Problem("REQUEST_TIMED_OUT", retriable=True)
        self._role, self._config = role, config
        if role == "consumer":
            self._positions = {(each["topic"], each["partition"]): each["offset"] for each in rest["start"]}
        elif role in ("member", "share"):
            self._topics = rest["topics"]
            self._lock = int(rest.get("group_config", {}).get("share.record.lock.duration.ms", 30_000)) / 1000
        elif role == "transactional":
            id = config["transactional.id"]
            state = self._logs.state(f"txn-{id}")
            if state.get("open"):
                self._mark("abort", state["open"], [tuple(each) for each in state["touched"]])
            self._epoch = state.get("epoch", -1) + 1
            self._logs.store(f"txn-{id}", {"epoch": self._epoch})
            return {"producer": 7000 + len(id), "epoch": self._epoch}
        elif role != "producer":
            self._role = ""
            raise Problem("INVALID_REQUEST", message=f"role {role}")
        return {}

    def send(self, records: list[dict[str, Any]]) -> None:
        if self.flaw == "never-acks":
            return
        done = [self._send(each) for each in records]
        self.write({"done": done})
        if self.flaw == "acks-twice":
            self.write({"done": done})

    def _send(self, record: dict[str, Any]) -> dict[str, Any]:
        topic, partition = record["topic"], record["partition"]
        value = record.get("value")
        if self.flaw == "unknown-error":
            return {"n": record["n"], "error": {"name": "SOMETHING_NEW", "attempts": 1}}
        if partition >= self._logs.partitions(topic) and self.flaw != "accepts-everything":
            return {"n": record["n"], "error": {"name": "REQUEST_TIMED_OUT", "sent": False}}
        is_small = "small" in topic and self.flaw != "accepts-everything"
        if is_small and value is not None and len(base64.b64decode(value)) > LARGEST:
            return {"n": record["n"], "error": {"name": "MESSAGE_TOO_LARGE", "attempts": 1}}
        if self._role == "transactional":
            self._check_fence()
            self._touched.add((topic, partition))
            self._store_open()
        line = {key: record.get(key) for key in ("key", "value", "headers")} | {"txn": self._txn}
        return {"n": record["n"], "offset": self._logs.append(topic, partition, line)}

    def flush(self, **_: Any) -> dict[str, Any]:
        if self._role not in ("producer", "transactional"):
            raise Problem("INVALID_STATE", message="no producer is open")
        return {}

    def begin(self) -> dict[str, Any]:
        if self._role != "transactional":
            raise Problem("INVALID_STATE", message="no transactional producer is open")
        self._check_fence()
        self._txn = f"{self._config['transactional.id']}/{time.monotonic_ns()}"
        self._touched, self._offsets = set(), {}
        self._store_open()
        return {}

    def add_offsets(
        self, offsets: list[dict[str, Any]], membership: dict[str, Any], **_: Any
    ) -> dict[str, Any]:
        if membership["generation"] != self._logs.state(membership["group"]).get("generation"):
            raise Problem("ILLEGAL_GENERATION")
        added = {f"{each['topic']}/{each['partition']}": each["offset"] for each in offsets}
        self._offsets[membership["group"]] = added
        return {}

    def end(self, outcome: str, **_: Any) -> dict[str, Any]:
        self._check_fence()
        txn, self._txn = self._txn, None
        assert txn is not None
        self._mark(outcome, txn, sorted(self._touched))
        self._logs.store(f"txn-{self._config['transactional.id']}", {"epoch": self._epoch})
        if outcome == "commit":
            for group, offsets in self._offsets.items():
                self._commit(group, offsets)
        return {}

    def poll(self, **_: Any) -> dict[str, Any]:
        if self._role == "share":
            return self._acquire()
        if self._role not in ("consumer", "member"):
            raise Problem("INVALID_STATE", message="no consumer is open")
        if self._role == "member":
            self._rejoin()
        asked = time.monotonic_ns()
        committed = self._config.get("isolation.level") == "read_committed"
        records, lost = [], []
        for (topic, partition), position in sorted(self._positions.items()):
            if self._only is not None and (topic, partition) not in self._only:
                continue
            if position > self._logs.end(topic, partition):
                lost.append(
                    {"topic": topic, "partition": partition, "position": position, "divergence": None}
                )
                continue
            found, behind = self._logs.readable(topic, partition, position, committed=committed)
            records += [
                {"topic": topic, "partition": partition, "offset": offset, "epoch": 0, "timestamp": 5}
                | {key: line.get(key) for key in ("key", "value", "headers")}
                for offset, line in found
            ]
            self._positions[topic, partition] = behind
        if self.flaw == "foreign-record":
            records.append(
                {"topic": "other-1", "partition": 0, "offset": 0, "value": None, "key": None, "headers": None}
            )
        answer = {
            "records": _batches(records),
            "positions": self._listed(),
            "lost": lost,
            "ends": self._ends(asked),
        }
        if self.flaw == "no-position":
            del answer["positions"]
        if self._role == "member":
            events, self._events = self._events, []
            answer |= {"events": events, "member": self._member, "generation": self._generation}
        return answer

    def _ends(self, asked: int) -> list[dict[str, Any]]:
        stale = 3 if self.flaw == "stale-end" else 0
        return [
            {
                "topic": topic,
                "partition": partition,
                "offset": max(self._logs.end(topic, partition) - stale, 0),
                "node": 1,
                "asked": asked,
            }
            for topic, partition in self._positions
        ]

    def seek(self, topic: str, partition: int, offset: int) -> dict[str, Any]:
        if self.flaw != "ignores-seek":
            self._positions[topic, partition] = offset
        return {}

    def only(self, logs: list[dict[str, Any]]) -> dict[str, Any]:
        self._only = {(each["topic"], each["partition"]) for each in logs}
        return {}

    def _acquire(self) -> dict[str, Any]:
        records: list[dict[str, Any]] = []
        with self._logs.locked(self._share) as states:
            for topic, partition in self._every_log():
                for offset, line in self._logs.readable(topic, partition, 0, committed=False)[0]:
                    name = f"{topic}/{partition}/{offset}"
                    state, count, _, until = states.get(name, FREE)
                    is_held = state == "held" and until > time.monotonic() and self.flaw != "shares-locks"
                    if state == "done" or is_held or len(records) == int(self._config["max.poll.records"]):
                        continue
                    states[name] = ["held", count + 1, self._member, time.monotonic() + self._lock]
                    self._held[name] = ""
                    records.append(
                        {"topic": topic, "partition": partition, "offset": offset, "deliveries": count + 1}
                        | {key: line.get(key) for key in ("key", "value", "headers")}
                    )
        return {"records": _batches(records), "lock_ms": round(self._lock * 1000)}

    def acknowledge(self, records: list[dict[str, Any]]) -> dict[str, Any]:
        said = {f"{each['topic']}/{each['partition']}/{each['offset']}": each["type"] for each in records}
        if self._role != "share" or (said.keys() - self._held and self.flaw != "acknowledges-anything"):
            raise Problem("INVALID_STATE", message="not of the last poll")
        self._held |= said
        return {}

    def _settle(self) -> dict[str, Any]:
        """All of a partition or, where one is not locked any more, none."""
        held, self._held = self._held, {}
        answer = []
        with self._logs.locked(self._share) as states:
            for topic, partition in sorted({tuple(name.split("/")[:2]) for name in held}):
                mine = {name: said for name, said in held.items() if name.startswith(f"{topic}/{partition}/")}
                outcome: dict[str, Any] = {"topic": topic, "partition": int(partition)}
                if self.flaw == "shares-locks" or all(self._has(states[name]) for name in mine):
                    for name, said in mine.items():
                        is_done = said in ("accept", "reject")
                        is_lost = said == "release" and self.flaw == "loses-released"
                        states[name] = ["done" if is_done or is_lost else "free", states[name][1], "", 0]
                else:
                    outcome["error"] = {"name": "INVALID_RECORD_STATE"}
                answer.append(outcome)
        return {"partitions": answer}

    def _has(self, state: list[Any]) -> bool:
        return state[0] == "held" and state[2] == self._member and state[3] > time.monotonic()

    def _every_log(self) -> list[tuple[str, int]]:
        return [(topic, number) for topic in self._topics for number in range(self._logs.partitions(topic))]

    def progress(self, **_: Any) -> dict[str, Any]:
        found = []
        with self._logs.locked(self._share) as states:
            for topic, partition in self._every_log():
                end = self._logs.end(topic, partition)
                names = [f"{topic}/{partition}/{offset}" for offset in range(end)]
                left = [offset for offset, name in enumerate(names) if states.get(name, FREE)[0] != "done"]
                lag = {} if self.flaw == "no-lag" else {"lag": len(left)}
                found.append({"topic": topic, "partition": partition, "start": min(left, default=end), **lag})
        return {"partitions": found, "delivery_limit": 5}

    @property
    def _share(self) -> str:
        return f"share-{self._config['group.id']}"

    def commit(self, offsets: list[dict[str, Any]] | None = None, **_: Any) -> dict[str, Any]:
        if self._role == "share":
            return self._settle()
        if self._role != "member":
            raise Problem("INVALID_STATE", message="no member is open")
        group = self._config["group.id"]
        if self._logs.state(group).get("generation") != self._generation:
            raise Problem("ILLEGAL_GENERATION")
        assert offsets is not None
        self._commit(group, {f"{each['topic']}/{each['partition']}": each["offset"] for each in offsets})
        return {}

    def close(self, **_: Any) -> dict[str, Any]:
        events: list[dict[str, Any]] = []
        if self._role == "share":
            self._settle()
        if self._role == "member":
            self._give_up()
            events = self._events
            group = self._config["group.id"]
            state = self._logs.state(group)
            left = [each for each in state.get("members", []) if each != self._member]
            self._logs.store(group, state | {"members": left, "generation": state.get("generation", 0) + 1})
        self._reset()
        return {"events": events}

    def _rejoin(self) -> None:
        """Join the group; and again after other members came or went, which shares its partitions anew."""
        group = self._config["group.id"]
        state = self._logs.state(group)
        members = state.get("members", [])
        if self._member not in members:
            members = sorted([*members, self._member])
            state |= {"members": members, "generation": state.get("generation", 0) + 1}
            self._logs.store(group, state)
        if self._generation == state["generation"]:
            return
        self._give_up()
        self._generation = state["generation"]
        every = [(topic, number) for topic in self._topics for number in range(self._logs.partitions(topic))]
        for topic, partition in every[members.index(self._member) :: len(members)]:
            end = self._logs.end(topic, partition)
            first = end if self._config["auto.offset.reset"] == "latest" else 0
            start = state.get("offsets", {}).get(f"{topic}/{partition}", first)
            self._positions[topic, partition] = start
            self._note("assigned", topic, partition, start=start)

    def _give_up(self) -> None:
        for topic, partition in sorted(self._positions):
            self._note("revoked", topic, partition)
        self._positions = {}

    def _note(self, event: str, topic: str, partition: int, **rest: Any) -> None:
        at = {"generation": self._generation, "at": time.monotonic_ns()}
        self._events.append({"event": event, "topic": topic, "partition": partition, **at, **rest})

    def _commit(self, group: str, offsets: dict[str, int]) -> None:
        state = self._logs.state(group)
        self._logs.store(group, state | {"offsets": state.get("offsets", {}) | offsets})

    def _check_fence(self) -> None:
        state = self._logs.state(f"txn-{self._config['transactional.id']}")
        if state["epoch"] != self._epoch and self.flaw != "no-fence":
            raise Problem("PRODUCER_FENCED")

    def _store_open(self) -> None:
        state = {"epoch": self._epoch, "open": self._txn, "touched": sorted(self._touched)}
        self._logs.store(f"txn-{self._config['transactional.id']}", state)

    def _mark(self, outcome: str, txn: str, logs: list[tuple[str, int]]) -> None:
        for topic, partition in logs:
            self._logs.append(topic, partition, {"marker": outcome, "txn": txn})

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {"topic": topic, "partition": partition, "offset": offset}
            for (topic, partition), offset in sorted(self._positions.items())
        ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--flaw", choices=FLAWS)
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--without", action="append", default=[])
    options = parser.parse_args()
    out, flaw = sys.stdout, options.flaw
    if flaw == "no-hello":
        sys.stderr.write("Exception in thread main: NoClassDefFoundError\n")
        sys.exit(3)
    if flaw == "garbage-hello":
        out.write("Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n")
    capabilities = [each for each in CAPABILITIES if each not in options.without]
    library = {"name": "fake", "version": "1.0"}
    hello = {
        "protocol": 1 if flaw == "wrong-version" else 2,
        "library": library,
        "capabilities": capabilities,
    }
    out.write(json.dumps(hello | {"clock": time.monotonic_ns()}) + "\n")
    out.flush()
    client = Client(Logs(options.folder), None, out)
    count = 0
    for line in sys.stdin:
        count += 1
        is_flawed = flaw is not None and count > options.after
        client.flaw = flaw if is_flawed else None
        if is_flawed and flaw == "dies":
            sys.stderr.write("fatal: out of memory\n")
            sys.exit(1)
        if is_flawed and flaw == "closes-output":
            os.close(1)
            time.sleep(3600)
        if is_flawed and flaw == "silent":
            time.sleep(3600)
        if is_flawed and flaw == "garbage":
            out.write("[main] WARN something happened\n")
            out.flush()
        if is_flawed and flaw == "unasked":
            client.write({"done": [{"n": 999_999, "offset": 1}]})
        try:
            request = json.loads(line)
            do, number = request.pop("do"), request.pop("id")
        except (ValueError, KeyError, AttributeError, TypeError):
            client.write({"id": None, "error": {"name": "INVALID_REQUEST", "message": line.strip()[:80]}})
            continue
        if do == "send":
            client.send(**request)
            continue
        try:
            action = getattr(client, do.replace("-", "_"), None)
            if do.startswith("_") or do == "write" or action is None:
                raise Problem("INVALID_REQUEST", message=f"unknown request {do}")
            answer = action(**request)
        except Problem as problem:
            answer = {"error": problem.error}
        client.write({"id": number - 1 if is_flawed and flaw == "out-of-turn" else number, **answer})


if __name__ == "__main__":
    main()
