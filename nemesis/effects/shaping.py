"""Queueing disciplines of a node's network interface: slow, delayed, duplicated or reordered packets.

Linux queues what an interface sends, not what it receives, so all of these shape only what the node sends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nemesis.cluster import Node
from nemesis.effects.network import NetworkError
from nemesis.effects.reconciler import Resource

HANDLE = "6b6b"
"""Of the interface's first queue: by it, kafkacheck knows its own queues from those of others."""

Shape = dict[str, float]
"""kbit (per second), delay_ms, jitter_ms, duplicate (percent), reorder (percent); each is optional."""


@dataclass(frozen=True, kw_only=True)
class Queues:
    """What ``tc`` reports of a node's interface.

    kind       the disciplines of ours; empty for none.
    packets    that passed through them.
    overlimits how often a packet had to wait.
    """

    kind: str
    packets: int
    overlimits: int


def queues(node: Node) -> Queues:
    _, output = node.shell("LC_ALL=C tc -s qdisc show dev eth0")
    packets = [int(number) for number in re.findall(r"Sent \d+ bytes (\d+) pkt", output)]
    overlimits = [int(number) for number in re.findall(r"overlimits (\d+)", output)]
    return Queues(
        kind=" ".join(re.findall(r"qdisc ((?:tbf|netem) .*)", output)),
        packets=max(packets, default=0),
        overlimits=max(overlimits, default=0),
    )


def _combined(wishes: Sequence[Shape]) -> Shape:
    """The worst of each: the smallest bandwidth, and the largest value of everything else."""
    worst: Shape = {}
    for wish in wishes:
        for name, value in wish.items():
            worst[name] = (min if name == "kbit" else max)(worst.get(name, value), value)
    return worst


def _apply(node: Node, shape: Shape | None) -> None:
    shape = shape or {}
    commands = ["tc qdisc del dev eth0 root 2>/dev/null; true"]
    if "kbit" in shape:
        rate = f"tbf rate {shape['kbit']:g}kbit burst 32kb latency 400ms"
        commands.append(f"tc qdisc add dev eth0 root handle {HANDLE}: {rate}")
    if netem := _netem(shape):
        parent = f"parent {HANDLE}:1 handle 10:" if "kbit" in shape else f"root handle {HANDLE}:"
        commands.append(f"tc qdisc add dev eth0 {parent} netem {netem}")
    status, output = node.shell(" && ".join(f"{{ {command}; }}" for command in commands))
    if status:
        raise NetworkError(f"tc exited with status {status}: {output.strip()}")


def _netem(shape: Shape) -> str:
    words = []
    if "delay_ms" in shape:
        words.append(f"delay {shape['delay_ms']:g}ms {shape.get('jitter_ms', 0):g}ms")
    if "duplicate" in shape:
        words.append(f"duplicate {shape['duplicate']:g}%")
    if "reorder" in shape:
        words.append(f"reorder {shape['reorder']:g}% 25%")
    return " ".join(words)


def _remains(node: Node) -> str | None:
    kind = queues(node).kind
    return f"its interface still has {kind}" if kind else None


SHAPE = Resource("shape", _combined, _apply, _remains)
