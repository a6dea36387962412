"""Rules of a packet filter, matched against single packets."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any


@dataclass
class Packet:
    """A TCP segment: link-layer and network-layer source, and both ports."""

    mac: str
    version: int
    source: str
    sport: int
    dport: int


class RuleSyntaxError(Exception):
    """The text of a rule is not understood."""


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
                raise RuleSyntaxError(f"syntax error, unexpected {word}")

    def drops(self, packet: Packet) -> bool:
        fields = {
            "ether saddr": packet.mac,
            "ip saddr" if packet.version == 4 else "ip6 saddr": packet.source,
            "tcp sport": str(packet.sport),
            "tcp dport": str(packet.dport),
        }
        matches = all(fields.get(key) in values for key, values in self.matches)
        self.packets += matches
        return matches and self.verdict == "drop"

    def to_json(self) -> dict[str, Any]:
        counter = {"counter": {"packets": self.packets, "bytes": 60 * self.packets}}
        return {
            "rule": {"chain": "in", "comment": self.comment, "expr": [{"match": {}}, counter, {"drop": None}]}
        }
