"""A fake of a node's network: the commands that kafkacheck runs there, and what packets pass."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from tests.support.fake_cluster.rules import FakeRule, Packet, RuleSyntaxError


class FakeNetworkNamespace:
    """Tests break it by its attributes.

    ignores_nft  nft accepts rules for cuts, and they have no effect.
    lapsed       the lease of its rules has run out.
    unplugged    no packet passes.
    unreadable   how many times the table of cuts cannot be listed.
    nft_error    what nft answers to rules for cuts.
    answer       exit status and output of every command.
    filters      the other tables of kafkacheck, with the packets that they dropped.
    unwanted     datagrams that arrived where nothing listens.
    share        of the packets to it that are lost, where the rules for that are in force.
    """

    def __init__(self, number: int, cluster: Any) -> None:
        self.id = number
        self.host = f"kafka-{number}"
        self.mac = f"02:42:ac:12:00:0{number}"
        self.addresses: tuple[str, ...] = (f"172.18.0.{number}", f"fd00::{number}")
        self.probe_port = 9093
        self.ignores_nft = False
        self.lapsed = False
        self.unplugged = False
        self.unreadable = 0
        self.nft_error: str | None = None
        self.answer: tuple[int, str] | None = None
        self.table: list[FakeRule] | None = None
        self.other_table = ["docker's own"]
        self.filters: dict[str, int] = {}
        self.qdiscs: list[str] = []
        self.unwanted = 0
        self.share = 0.0
        self._burst = False
        self._cluster = cluster

    def acts(self, action: str) -> bool:
        """Whether an action has its effect."""
        raise NotImplementedError

    def look(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        return self.shell(command, timeout=timeout)

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        assert timeout > 0
        if self.answer:
            return self.answer
        self.acts("shell")
        with self._cluster.lock:
            command = command.removeprefix("LC_ALL=C ")
            assert "type filter hook" not in command or "meta protocol != @lease accept" in command
            if "kafkacheck_reset" in command:
                return 0, "packets 5\nresets 3\nopen 3\nleft 0" if self.acts(
                    "nft"
                ) else "resets 0\nopen 3\nleft 3"
            if listed := re.fullmatch(r"nft -j list table inet kafkacheck_(\w+)", command):
                return self._count(listed[1])
            if "getent hosts" in command:
                if "dns" in self.filters:
                    self.filters["dns"] += 1
                return (2 if "dns" in self.filters or "getent" in self.ignores else 0), ""
            if command == "tc -s qdisc show dev eth0":
                return 0, self._queues()
            if "EPOCHREALTIME" in command:
                return 0, f"took {round(1000 * self._shape('delay')) + 140}\n" * command.count(
                    "EPOCHREALTIME/"
                )
            if command.startswith("perl -e"):
                overtook = max(node._shape("reorder") for node in self._cluster.nodes.values())
                return 0, f"arrived 200 overtook {round(2 * overtook)}\n"
            if "/proc/net/snmp" in command:
                return 0, f"unwanted {self.unwanted}\n"
            if sent := re.search(r"i < (\d+).*/dev/udp/([^/]+)/9;", command):
                self._send(int(sent[1]), sent[2])
                return 0, ""
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

    def _send(self, number: int, address: str) -> None:
        """Datagrams that this node sends to another one."""
        (peer,) = (node for node in self._cluster.nodes.values() if address in node.addresses)
        lost = round(number * peer.share) if "loss" in peer.filters and not peer.lapsed else 0
        peer.unwanted += round((number - lost) * (1 + self._shape("duplicate") / 100))
        if lost:
            peer.filters["loss"] += lost

    def _shape(self, name: str) -> float:
        """The number that the disciplines have for a property; 0 for none."""
        found = re.findall(rf"{name} ([0-9.]+)", " ".join(self.qdiscs))
        return float(found[0]) if found else 0.0

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
            if found[1] == "loss":
                self.share = int((re.search(r"random < (\d+)", text) or [0, 0])[1]) / 2**32
        return 0, ""

    def _count(self, name: str) -> tuple[int, str]:
        if name not in self.filters:
            return 1, "Error: No such file or directory"
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
                        raise RuleSyntaxError(hook)
                    table = (table or []) + [FakeRule(rule) for rule in rules]
                    self.lapsed = False
                else:
                    raise RuleSyntaxError(statement)
        except (RuleSyntaxError, IndexError) as error:
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
