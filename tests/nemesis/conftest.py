"""A cluster in memory. Its nodes interpret the rules they are given, packet by packet, as nft would.

So a rule that is wrong, or a peer that was forgotten, changes what a probe between two nodes answers.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from nemesis.cluster import State
from nemesis.event import Event
from nemesis.run import Nemesis
from nemesis.schedule import Schedule


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


class FakeDisk:
    """A file system of a node's own, with the segments of its logs."""

    def __init__(self, node: FakeNode) -> None:
        self.node = node
        self.full = self.stalled = self.gone = False
        self.directories, self.bytes = 5, 1000

    def run(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        assert timeout > 0
        if "/dev/zero" in command:
            return (1, "head: write error: No space left on device") if self.full else (0, "")
        if "touch" in command:
            return (1, "touch: Input/output error") if self.gone else (0, "")
        if command.startswith("du "):
            return 0, f"{self.bytes}\n"
        assert self.node.state() == "stopped", "what a broker writes is changed"
        if "md5sum" in command:
            before = self.bytes
            if self.node.acts("damage"):
                self.bytes -= int((re.search(r"truncate -s -(\d+)", command) or [0, 0])[1])
            changed = "b" if "damage" not in self.node.ignores else "a"
            return 0, f"{before}\na  -\n{self.bytes}\n{changed}  -\n"
        assert command.startswith("find /k/data"), command
        before = self.directories
        self.directories = 0 if self.node.acts("wipe") else before
        return 0, f"{before}\n{self.directories}\n"

    def fill(self) -> None:
        self.full = self.node.acts("fill")

    def empty(self) -> None:
        self.full = not self.node.acts("empty")

    def available(self) -> int:
        return 0 if self.full else 1 << 20

    def freeze(self, limit: float) -> None:
        assert limit > 0
        self.stalled = self.node.acts("stall")

    def thaw(self) -> None:
        if self.node.acts("unstall"):
            self.stalled = False

    def frozen(self) -> bool:
        return self.stalled

    def shut_down(self) -> None:
        if self.node.acts("shut_down"):
            self.gone = True
            self.node.die(1)


class FakeClock:
    """Right in every new process."""

    def __init__(self, node: FakeNode) -> None:
        self.node = node
        self.wrong: tuple[str, float, float] = ("", 0, 0)

    def set(self, offset: float, ppm: float = 0.0) -> None:
        assert self.node.state() != "stopped"
        if self.node.acts("set"):
            self.wrong = (self.node.incarnation(), offset, ppm)

    def get(self) -> tuple[float, float]:
        return self.wrong[1:] if self.wrong[0] == self.node.incarnation() else (0.0, 0.0)

    def clear(self) -> None:
        if self.node.acts("clear"):
            self.wrong = ("", 0, 0)


class FakeKafka:
    """A topic with one partition that counts, and what else there is to ask for."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.ignores: set[str] = set()
        self.silent: set[str] = set()  # questions that nobody answers
        self.epochs = self.controller_epochs = 5
        self.number, self.identity, self.first = 1, 1, 0
        self.topic_settings: dict[str, str] = {"retention.ms": "1000"}
        self.broker_settings: dict[int, dict[str, str]] = {}
        self.groups = {"readers": ("Stable", 3), "empty": ("Empty", 3)}
        self.transactions = {"transfer": ("Ongoing", 7)}

    def _acts(self, what: str) -> bool:
        if what in self.silent:
            raise OSError(f"nobody answers {what}")
        return what not in self.ignores

    def elect(self, topic: str, partition: int, *, unclean: bool) -> None:
        assert isinstance(unclean, bool)
        preferred = self.cluster.assignment[0]
        if self._acts("elect") and self.cluster.leader(topic, partition) != preferred:
            self.cluster.leaders[topic, partition] = preferred
            self.epochs += 1

    def reassign(self, _topic: str, _partition: int, replicas: Sequence[int]) -> None:
        if self._acts("reassign"):
            self.cluster.assignment = self.cluster.in_sync = tuple(replicas)

    def epoch(self, *_log: object) -> int:
        self._acts("epoch")
        return self.epochs

    def ends(self, *_log: object) -> tuple[int, int]:
        return self.first, 100

    def partitions(self, _topic: str) -> int:
        return self.number

    def add_partitions(self, _topic: str, total: int) -> None:
        if self._acts("add_partitions"):
            self.number = total

    def recreate(self, _topic: str) -> None:
        self.identity += self._acts("recreate")

    def topic_id(self, _topic: str) -> str:
        return f"id {self.identity}"

    def delete_records(self, _topic: str, _partition: int, before: int) -> None:
        if self._acts("delete_records"):
            self.first = before

    def topic_config(self, _topic: str) -> Mapping[str, str]:
        return dict(self.topic_settings)

    def configure_topic(self, _topic: str, settings: Mapping[str, str | None]) -> None:
        if self._acts("configure_topic"):
            _configure(self.topic_settings, settings)

    def broker_config(self, node: int) -> Mapping[str, str]:
        return dict(self.broker_settings.get(node, {}))

    def configure_broker(self, node: int, settings: Mapping[str, str | None]) -> None:
        if self._acts("configure_broker"):
            _configure(self.broker_settings.setdefault(node, {}), settings)

    def group(self, group: str) -> tuple[str, int]:
        return self.groups[group]

    def rebalance(self, group: str) -> int:
        assert group in self.groups
        return 2 if self._acts("rebalance") else 1

    def transaction(self, name: str) -> tuple[str, int]:
        return self.transactions.get(name, ("Empty", -1))

    def fence(self, name: str) -> int:
        state, epoch = self.transaction(name)
        self.transactions[name] = state, epoch + self._acts("fence")
        return self.transactions[name][1]

    def delete_controller(self) -> None:
        self.controller_epochs += self._acts("delete_controller")

    def controller_epoch(self) -> int:
        return self.controller_epochs

    def add_broker(self) -> int:
        number = max(self.cluster.nodes) + 1
        node = FakeNode(number, self.cluster)
        if not self._acts("add_broker"):
            node.die(1)
        self.cluster.nodes_by_id[number] = node
        self.cluster.brokers = (*self.cluster.brokers, number)
        return number

    def remove_broker(self, node: int) -> None:
        if self._acts("remove_broker"):
            del self.cluster.nodes_by_id[node]
            self.cluster.brokers = tuple(each for each in self.cluster.brokers if each != node)


def _configure(known: dict[str, str], settings: Mapping[str, str | None]) -> None:
    for name, value in settings.items():
        known.pop(name, None)
        if value is not None:
            known[name] = value


class FakeClients:
    """Two producers, a reader and a session, which do what they are told unless it is ignored."""

    def __init__(self) -> None:
        self.running = {0: "producer", 1: "producer", 2: "reader", 3: "session", 4: "probe"}
        self.standing: set[int] = set()
        self.alone: dict[int, int] = {}
        self.acks: Callable[[], int] = lambda: 0
        self.ignores: set[str] = set()
        self.fails: dict[str, Exception] = {}
        self.log: list[str] = []

    def _acts(self, what: str, process: int) -> bool:
        self.log.append(f"{what} {process}")
        if what in self.fails:
            raise self.fails[what]
        return what not in self.ignores

    def roles(self) -> Mapping[int, str]:
        return dict(self.running)

    def acknowledged(self) -> int:
        return self.acks()

    def kill(self, process: int) -> None:
        if self._acts("kill", process):
            self.dead = {**getattr(self, "dead", {}), process: self.running.pop(process)}

    def replace(self, process: int) -> int:
        number = max(self.running) + 10
        if self._acts("replace", process):
            self.running[number] = self.dead[process]
        return number

    def pause(self, process: int) -> None:
        if self._acts("pause", process):
            self.standing.add(process)

    def resume(self, process: int) -> None:
        if self._acts("resume", process):
            self.standing.discard(process)

    def paused(self, process: int) -> bool:
        if "paused" in self.fails:
            raise self.fails["paused"]
        return process in self.standing

    def isolate(self, process: int) -> None:
        if self._acts("isolate", process):
            self.alone[process] = 0

    def connect(self, process: int) -> None:
        if self._acts("connect", process):
            self.alone.pop(process, None)

    def isolated(self, process: int) -> int | None:
        if process in self.alone:
            self.alone[process] += 1
        return self.alone.get(process)


class FakeNode:
    """Breakable: see the attributes that are false or None by default."""

    def __init__(self, number: int, cluster: FakeCluster) -> None:
        self.id = number
        self.mac = f"02:42:ac:12:00:0{number}"
        self.addresses: tuple[str, ...] = (f"172.18.0.{number}", f"fd00::{number}")
        self.probe_port = 9093
        self.ignores_nft = False
        self.lapsed = False  # whether the lease on its rules has run out
        self.unplugged = False
        self.unreadable = 0  # so many times, the table cannot be listed
        self.nft_error: str | None = None
        self.answer: tuple[int, str] | None = None  # to every command
        self.freezer_error: OSError | None = None
        self.unkillable = False
        self.ignores: set[str] = set()  # actions without effect, such as "limit_cpu"
        self.fails: dict[str, Exception] = {}  # by action
        self.host = f"kafka-{number}"
        self.filters: dict[str, int] = {}  # our other nft tables, with the packets they dropped
        self.qdiscs: list[str] = []
        self.cores: float | None = None
        self.bytes_allowed: int | None = None
        self.disk = FakeDisk(self)
        self.clock = FakeClock(self)
        self._held_back = self._cached = 0
        self._burst = False
        self._exit, self._short_of_memory = 0, False
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
        assert not self._running, "asked for the exit code of a process that runs"
        return self._exit

    def killed_for_memory(self) -> bool:
        return self._short_of_memory

    def acts(self, action: str) -> bool:
        """Whether an action has its effect."""
        if action in self.fails:
            raise self.fails[action]
        return action not in self.ignores

    def die(self, code: int, *, of_memory: bool = False) -> None:
        if self._running:
            self._running = self._frozen = self._stopped_by_signal = False
            self._exit, self._short_of_memory = code, of_memory

    def kill(self) -> None:
        self.log.append("kill")
        if self.acts("kill") and not self.unkillable:
            self.die(137)

    def stop(self) -> None:
        self.log.append("stop")
        if self.acts("stop"):
            self.die(143)

    def start(self) -> None:
        self.log.append("start")
        if self.start_error:
            raise self.start_error
        assert not self._running, "started while it runs"
        if not self.acts("start"):
            return
        self.disk.gone = False
        self._running, self._starts, self.started_at = True, self._starts + 1, self._cluster.clock.now

    def freeze(self) -> None:
        self.log.append("freeze")
        if self.freezer_error:
            raise self.freezer_error
        assert self._running, "frozen while it does not run"
        self._frozen = self.acts("freeze")

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
        self.acts("shell")
        with self._cluster.lock:
            command = command.removeprefix("LC_ALL=C ")
            assert "type filter hook" not in command or "meta protocol != @lease accept" in command
            if "kafkacheck_reset" in command:
                return 0, "packets 5\nopen 3\nleft 0" if self.acts("nft") else "open 3\nleft 3"
            if listed := re.fullmatch(r"nft -j list table inet kafkacheck_(\w+)", command):
                return self._count(listed[1])
            if "getent hosts" in command:
                if "dns" in self.filters:
                    self.filters["dns"] += 1
                return (2 if "dns" in self.filters or "getent" in self.ignores else 0), ""
            if command == "tc -s qdisc show dev eth0":
                return 0, self._queues()
            if "/dev/udp/" in command:
                self._burst = True
                return 0, ""
            if "tc qdisc" in command:
                if self.acts("tc"):
                    self.qdiscs = re.findall(r"tc qdisc add dev eth0 .*?((?:tbf|netem) .*?); }", command)
                return 0, ""
            if command == "nft -j list table inet kafkacheck":
                return self._list()
            if "/dev/tcp/" in command:
                return 0, self._probes(command)
            program, text = shlex.split(command)
            assert program == "nft", command
            if "kafkacheck_" in text:
                return self._filter(text)
            if self.nft_error:
                return 1, self.nft_error
            return (0, "") if self.ignores_nft else self._transaction(text)

    def limit_cpu(self, cores: float | None) -> None:
        if self.acts("limit_cpu"):
            self.cores = cores

    def cpu(self) -> tuple[float | None, int]:
        self.execute("cat cpu.stat")
        self._held_back += self.cores is not None
        return self.cores, self._held_back

    def limit_memory(self, size: int | None) -> None:
        if self.acts("limit_memory"):
            self.bytes_allowed = size

    def memory(self) -> tuple[int, int]:
        self.execute("cat memory.stat")
        allowed = self.bytes_allowed or 1 << 40
        return min((100 << 20) + self._cached, allowed), allowed

    def execute(self, command: str) -> tuple[int, str]:
        if self.state() != "running":
            raise RuntimeError("409: the container does not run, or is paused")
        if self.bytes_allowed and "oom_score_adj" in command:
            self.die(137, of_memory=True)
        if "/dev/zero >" in command:
            self._cached = int(command.split()[2])
        return 0, ""

    def _filter(self, text: str) -> tuple[int, str]:
        found = re.fullmatch(
            r"table inet kafkacheck_(\w+)\ndelete table inet kafkacheck_\1\n(table inet kafkacheck_\1 \{\n.*\n\}\n)?",
            text,
            re.DOTALL,
        )
        if found is None or text.count("{") != text.count("}"):
            return 1, "Error: syntax error"
        if self.acts("nft"):
            self.filters.pop(found[1], None)
            if found[2]:
                self.filters[found[1]] = 0
        return 0, ""

    def _count(self, name: str) -> tuple[int, str]:
        if name not in self.filters:
            return 1, "Error: No such file or directory"
        if name == "loss":
            self.filters[name] += 2
        counter = {"counter": {"packets": self.filters[name], "bytes": 0}}
        return 0, json.dumps({"nftables": [*self._head(), {"rule": {"expr": [counter, {"drop": None}]}}]})

    def _head(self) -> list[dict[str, Any]]:
        """What nft says of a table before its rules that count."""
        lease = {"name": "lease", "flags": ["timeout"]} | ({} if self.lapsed else {"elem": ["ip", "ip6"]})
        return [{"metainfo": {}}, {"set": lease}, {"chain": {}}, {"rule": {"expr": [{"accept": None}]}}]

    def _queues(self) -> str:
        sent = " Sent 900 bytes {} pkt (dropped 0, overlimits {} requeues 0)"
        if not self.qdiscs:
            return "qdisc noqueue 0: root refcnt 2\n" + sent.format(0, 0)
        waited = 4 if self._burst else 0
        return "\n".join(f"qdisc {each}\n" + sent.format(9, waited) for each in self.qdiscs)

    def _list(self) -> tuple[int, str]:
        if self.unreadable > 0:
            self.unreadable -= 1
            return 1, "Error: Could not process rule: Device or resource busy"
        if self.table is None:
            return 1, "Error: No such file or directory\nlist table inet kafkacheck\n"
        return 0, json.dumps({"nftables": [*self._head(), *(r.to_json() for r in self.table)]})

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
                    _, lease, chain, hook, guard, *rules = (
                        line.strip() for line in statement.splitlines()[:-2]
                    )
                    if (
                        not lease.startswith(
                            "set lease { type ether_type; flags timeout; elements = { ip timeout"
                        )
                        or chain != "chain input {"
                        or hook != "type filter hook input priority -300; policy accept;"
                        or guard != "meta protocol != @lease accept"
                    ):
                        raise SyntaxFault(hook)
                    table = (table or []) + [FakeRule(rule) for rule in rules]
                    self.lapsed = False
                else:
                    raise SyntaxFault(statement)
        except (SyntaxFault, IndexError) as error:
            return 1, f"Error: {error}"
        self.table = table
        return 0, ""

    def _accepts(self, packet: Packet) -> bool:
        return self.lapsed or not any(rule.drops(packet) for rule in self.table or [])

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
        self.nodes_by_id = {n: FakeNode(n, self) for n in range(1, self.size + 1)}
        self.nodes: Mapping[int, FakeNode] = self.nodes_by_id
        self.kafka = FakeKafka(self)
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

    def answers(self, node: int) -> bool:
        process = self.nodes[node]
        if "clients" in process.filters:
            process.filters["clients"] += 1
            return False
        return process.state() == "running"

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
        return all(
            node.table is None
            and node.state() == "running"
            and not node.filters
            and not node.qdiscs
            and node.cores is None
            and node.bytes_allowed is None
            and not (node.disk.full or node.disk.stalled or node.disk.gone)
            and node.clock.get() == (0, 0)
            for node in self.nodes.values()
        )


@dataclass
class Drama:
    """A run in fake time: its rows as recorded, and ways to find them."""

    cluster: FakeCluster
    stop: FakeStop
    clients: FakeClients = field(default_factory=FakeClients)
    rows: list[Mapping[str, Any]] = field(default_factory=list)

    def play(self, *events: Event, seed: int = 0) -> Drama:
        Nemesis(
            Schedule.of(events),
            self.cluster,
            topic="log",
            seed=seed,
            record=self.rows.append,
            clients=self.clients,
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
