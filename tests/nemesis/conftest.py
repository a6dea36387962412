"""A cluster in memory. Its nodes interpret the rules they are given, packet by packet, as nft would.

So a rule that is wrong, or a peer that was forgotten, changes what a probe between two nodes answers.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from nemesis.cluster import State
from nemesis.run import Nemesis
from nemesis.schedule import Event, Schedule


@dataclass
class Packet:
    """A TCP segment on its way: link-layer and network-layer source, and both ports."""

    mac: str
    version: int
    source: str
    sport: int
    dport: int


class SyntaxFault(Exception):
    pass


@dataclass
class FakeRule:
    text: str
    packets: int = 0

    def __post_init__(self) -> None:
        tokens = shlex.split(self.text.replace("{", " { ").replace("}", " } ").replace(",", " "))
        self.matches: list[tuple[str, set[str]]] = []
        self.comment, self.verdict = "", ""
        while tokens:
            word = tokens.pop(0)
            if word == "counter":
                continue
            if word in ("drop", "accept"):
                self.verdict = word
            elif word == "comment":
                self.comment = tokens.pop(0)
            elif word in ("ether", "ip", "ip6", "tcp"):
                key, values = f"{word} {tokens.pop(0)}", {tokens.pop(0)}
                if values == {"{"}:
                    values = set()
                    while (value := tokens.pop(0)) != "}":
                        values.add(value)
                self.matches.append((key, values))
            else:
                raise SyntaxFault(f"syntax error, unexpected {word}")

    def drops(self, packet: Packet) -> bool:
        facts = {
            "ether saddr": packet.mac,
            "ip saddr" if packet.version == 4 else "ip6 saddr": packet.source,
            "tcp sport": str(packet.sport),
            "tcp dport": str(packet.dport),
        }
        hit = all(facts.get(key) in values for key, values in self.matches)
        self.packets += hit
        return hit and self.verdict == "drop"

    def to_json(self) -> dict[str, Any]:
        counter = {"counter": {"packets": self.packets, "bytes": 60 * self.packets}}
        return {
            "rule": {"chain": "in", "comment": self.comment, "expr": [{"match": {}}, counter, {"drop": None}]}
        }


class FakeNode:
    """Breakable: see the attributes that are false or None by default."""

    def __init__(self, number: int, cluster: FakeCluster) -> None:
        self.id = number
        self.mac = f"02:42:ac:12:00:0{number}"
        self.addresses: tuple[str, ...] = (f"172.18.0.{number}", f"fd00::{number}")
        self.probe_port = 9093
        self.ignores_nft = False
        self.unplugged = False
        self.unreadable = 0  # so many times, the table cannot be listed
        self.nft_error: str | None = None
        self.answer: tuple[int, str] | None = None  # to every command
        self.freezer_error: OSError | None = None
        self.unkillable = False
        self.start_error: Exception | None = None
        self.log: list[str] = []
        self.table: list[FakeRule] | None = None
        self.other_table = ["docker's own"]
        self._cluster = cluster
        self._running, self._frozen, self._stopped_by_signal = True, False, False
        self._starts = 1
        self.started_at = float("-inf")

    def state(self) -> State:
        if not self._running:
            return "stopped"
        return "paused" if self._frozen or self._stopped_by_signal else "running"

    def incarnation(self) -> str:
        return f"start {self._starts}"

    def exit_code(self) -> int:
        return 137

    def kill(self) -> None:
        self.log.append("kill")
        if not self.unkillable:
            self._running = self._frozen = self._stopped_by_signal = False

    def start(self) -> None:
        self.log.append("start")
        if self.start_error:
            raise self.start_error
        assert not self._running, "started while it runs"
        self._running, self._starts, self.started_at = True, self._starts + 1, self._cluster.clock.now

    def freeze(self) -> None:
        self.log.append("freeze")
        if self.freezer_error:
            raise self.freezer_error
        assert self._running, "frozen while it does not run"
        self._frozen = True

    def thaw(self) -> None:
        self.log.append("thaw")
        self._frozen = False

    def signal(self, name: str) -> None:
        self.log.append(name)
        assert self._running, "signalled while it does not run"
        self._stopped_by_signal = name == "STOP"

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        assert timeout > 0
        if self.answer:
            return self.answer
        with self._cluster.lock:
            command = command.removeprefix("LC_ALL=C ")
            if command == "nft -j list table inet kafkacheck":
                return self._list()
            if "/dev/tcp/" in command:
                return 0, self._probes(command)
            program, text = shlex.split(command)
            assert program == "nft", command
            if self.nft_error:
                return 1, self.nft_error
            return (0, "") if self.ignores_nft else self._transaction(text)

    def _list(self) -> tuple[int, str]:
        if self.unreadable > 0:
            self.unreadable -= 1
            return 1, "Error: Could not process rule: Device or resource busy"
        if self.table is None:
            return 1, "Error: No such file or directory\nlist table inet kafkacheck\n"
        return 0, json.dumps(
            {"nftables": [{"metainfo": {}}, {"chain": {}}, *(r.to_json() for r in self.table)]}
        )

    def _transaction(self, text: str) -> tuple[int, str]:
        table = self.table
        try:
            for statement in re.findall(r"table [^{\n]*\{.*^\}|[^\n]+", text, re.DOTALL | re.MULTILINE):
                if statement == "table inet kafkacheck":
                    table = table if table is not None else []
                elif statement == "delete table inet kafkacheck":
                    if table is None:
                        return 1, "Error: No such file or directory"
                    table = None
                elif statement.startswith("table inet kafkacheck {"):
                    _, chain, hook, *rules = (line.strip() for line in statement.splitlines()[:-2])
                    if (
                        chain != "chain in {"
                        or hook != "type filter hook input priority -300; policy accept;"
                    ):
                        raise SyntaxFault(hook)
                    table = (table or []) + [FakeRule(rule) for rule in rules]
                else:
                    raise SyntaxFault(statement)
        except (SyntaxFault, IndexError) as error:
            return 1, f"Error: {error}"
        self.table = table
        return 0, ""

    def _accepts(self, packet: Packet) -> bool:
        return not any(rule.drops(packet) for rule in self.table or [])

    def _probes(self, command: str) -> str:
        lines = []
        for address, port in re.findall(r"timeout 1 bash -c '?</dev/tcp/([^/ ]+)/(\d+)'?", command):
            status, reason = self._connect(address, int(port))
            lines.append(f"{address} {port} {status} {reason}")
        return "\n".join(reversed(lines))

    def _connect(self, address: str, port: int) -> tuple[int, str]:
        peer = next((node for node in self._cluster.nodes.values() if address in node.addresses), None)
        if peer is None:
            return 1, "No route to host"
        place = peer.addresses.index(address)
        version = 6 if ":" in address else 4
        there = Packet(self.mac, version, self.addresses[place], 40000, port)
        back = Packet(peer.mac, version, address, port, 40000)
        if peer.unplugged or not peer._accepts(there) or not self._accepts(back):
            return 124, ""
        listens = peer.state() != "stopped" and port in (9092, 9093)
        return (0, "") if listens else (1, "Connection refused")


class FakeStop(threading.Event):
    """Waiting moves the clock; things can be arranged to happen meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self._arranged: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.now

    def arrange(self, at: float, action: Callable[[], object]) -> None:
        """At: seconds after the beginning of time."""
        self._arranged.append((100.0 + at, action))

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        if not self.is_set():
            until = self.now + timeout
            for at, action in sorted(self._arranged, key=lambda each: each[0]):
                if at <= until and not self.is_set():
                    self.now = max(self.now, at)
                    self._arranged = [each for each in self._arranged if each[1] is not action]
                    action()
            if not self.is_set():
                self.now = until
        return self.is_set()


@dataclass
class FakeCluster:
    clock: FakeStop
    size: int = 3
    boot: float = 2.0
    leaders: dict[tuple[str, int], int | None] = field(default_factory=dict)
    in_sync: tuple[int, ...] = (1, 2, 3)
    assignment: tuple[int, ...] = (2, 3, 1)
    active_controller: int | None = 3

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.nodes: Mapping[int, FakeNode] = {n: FakeNode(n, self) for n in range(1, self.size + 1)}
        self.planes = {"replication": frozenset({9092}), "controller": frozenset({9093})}
        self.brokers = self.controllers = tuple(self.nodes)

    def leader(self, topic: str, partition: int) -> int | None:
        return self.leaders.get((topic, partition), 2)

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        return self.assignment if (topic, partition) != ("none", 0) else ()

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        return self.in_sync if (topic, partition) != ("none", 0) else ()

    def controller(self) -> int | None:
        return self.active_controller

    def coordinator(self, _: str, name: str) -> int | None:
        return None if name == "gone" else 1

    def serving(self, node: int) -> bool:
        process = self.nodes[node]
        others = [n for n in self.nodes if n != node]
        return (
            process.state() == "running"
            and self.clock.now - process.started_at >= self.boot
            and all(self.connects(node, other) for other in others)
        )

    def connects(self, source: int, destination: int, *, port: int = 9093, version: int = 4) -> bool:
        """Whether packets pass both ways, found by a connection and without touching counters."""
        node, peer = self.nodes[source], self.nodes[destination]
        with self.lock:
            tables = [(each, each.table) for each in (node, peer)]
            before = [[rule.packets for rule in table or []] for _, table in tables]
            status, reason = node._connect(peer.addresses[0 if version == 4 else 1], port)
            for (_, table), counts in zip(tables, before, strict=True):
                for rule, count in zip(table or [], counts, strict=True):
                    rule.packets = count
        return status == 0 or reason == "Connection refused"

    def clean(self) -> bool:
        """Whether nothing of any fault is left."""
        return all(node.table is None and node.state() == "running" for node in self.nodes.values())


@dataclass
class Drama:
    """A run in fake time: its rows as recorded, and ways to find them."""

    cluster: FakeCluster
    stop: FakeStop
    rows: list[Mapping[str, Any]] = field(default_factory=list)

    def play(self, *events: Event, seed: int = 0) -> Drama:
        Nemesis(
            Schedule.of(events),
            self.cluster,
            topic="log",
            seed=seed,
            record=self.rows.append,
            clock=self.stop.time,
        ).run(self.stop)
        return self

    def row(self, event: str, stage: str) -> Mapping[str, Any]:
        (found,) = [r for r in self.rows if (r["value"]["event"], r["value"]["stage"]) == (event, stage)]
        return found

    def value(self, event: str, stage: str) -> Mapping[str, Any]:
        value: Mapping[str, Any] = self.row(event, stage)["value"]
        return value

    def effective(self) -> dict[tuple[str, str], bool]:
        return {(r["value"]["event"], r["value"]["stage"]): r["value"]["effective"] for r in self.rows}

    def times(self, stage: str) -> dict[str, float]:
        """Seconds after the beginning at which each event's stage began."""
        return {
            row["value"]["event"]: round(row["invoked"] / 1e9 - 100, 3)
            for row in self.rows
            if row["value"]["stage"] == stage
        }


@pytest.fixture
def stop() -> FakeStop:
    return FakeStop()


@pytest.fixture
def cluster(stop: FakeStop) -> FakeCluster:
    return FakeCluster(stop)


@pytest.fixture
def drama(cluster: FakeCluster, stop: FakeStop) -> Drama:
    return Drama(cluster, stop)


@pytest.fixture(scope="session")
def new_cluster() -> Callable[..., FakeCluster]:
    """For tests that need many, such as properties."""
    return lambda **changes: FakeCluster(FakeStop(), **changes)


@pytest.fixture(scope="session")
def new_drama() -> Callable[..., Drama]:
    """For tests that need many, such as properties."""

    def make(**changes: Any) -> Drama:
        stop = FakeStop()
        return Drama(FakeCluster(stop, **changes), stop)

    return make
