"""What a node sends gets slow, late, doubled or out of order: queueing disciplines of its network interface."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nemesis.cluster import Node
from nemesis.effects.network import NetworkError
from nemesis.effects.reconciler import Resource
from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.serving import serving
from nemesis.validation import number

LIMIT = 10.0
"""Seconds in which the discipline must have handled a packet in its own way."""

MOST_KBIT = 100_000_000.0
"""100 Gbit/s: more is no limit for a node that shares a host with the others."""

MOST_MS = 600_000.0
"""Ten minutes: every request of Kafka has been given up long before."""

BURST = "head -c 200000 /dev/zero > /dev/udp/239.255.0.1/9; true"
"""Traffic to a multicast address that nobody listens to: it leaves the node, and no answer comes."""


def _together(wishes: Sequence[dict[str, float]]) -> dict[str, float]:
    """The worst of each: the least bandwidth, and the most of everything else."""
    found: dict[str, float] = {}
    for wish in wishes:
        for name, value in wish.items():
            found[name] = (min if name == "kbit" else max)(found.get(name, value), value)
    return found


def _apply(node: Node, wish: dict[str, float] | None) -> None:
    commands = ["tc qdisc del dev eth0 root 2>/dev/null; true"]
    if wish and "kbit" in wish:
        rate = f"tbf rate {wish['kbit']:g}kbit burst 32kb latency 400ms"
        commands.append(f"tc qdisc add dev eth0 root handle 1: {rate}")
    if netem := _netem(wish or {}):
        parent = "parent 1:1 handle 10:" if "kbit" in (wish or {}) else "root"
        commands.append(f"tc qdisc add dev eth0 {parent} netem {netem}")
    status, output = node.shell(" && ".join(f"{{ {command}; }}" for command in commands))
    if status:
        raise NetworkError(f"tc exited with status {status}: {output.strip()}")


def _netem(wish: dict[str, float]) -> str:
    words = []
    if "delay_ms" in wish:
        words.append(f"delay {wish['delay_ms']:g}ms {wish.get('jitter_ms', 0):g}ms")
    if "duplicate" in wish:
        words.append(f"duplicate {wish['duplicate']:g}%")
    if "reorder" in wish:
        words.append(f"reorder {wish['reorder']:g}% 25%")
    return " ".join(words)


def _left(node: Node) -> str | None:
    kind = _sent(node)["kind"]
    return f"its interface still has {kind}" if kind else None


SHAPE = Resource("shape", _together, _apply, _left)


class Shaped(Fault):
    """What the disciplines have in common: a wish, and a look at the interface."""

    down: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"netem"})

    @property
    @abstractmethod
    def wish(self) -> dict[str, float]:
        """What is to be so: kbit, delay_ms, jitter_ms, duplicate (percent), reorder (percent)."""

    def inject(self, context: FaultContext) -> None:
        context.desired.want(context.event, context.node, SHAPE, self.wish)

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when packets have passed through network emulation."""
        passed = context.until(lambda: _sent(context.process)["packets"] > 0, LIMIT)
        found = _sent(context.process)
        return Proof(passed and "netem" in found["kind"], found)

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["sent"] = _sent(context.process)
        finally:
            context.desired.release(context.event, context.node, SHAPE)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, Any] = {"sent": context.notes.get("sent")}
        if context.effective and not context.notes["sent"]["kind"]:
            return Proof(False, {**evidence, "ended_early": "the discipline was gone before the fault's end"})
        if context.desired.now(SHAPE, context.node) is None and (kind := _sent(context.process)["kind"]):
            return Proof(False, {**evidence, "left": kind})
        served = serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})


@dataclass(frozen=True, kw_only=True)
class Bandwidth(Shaped):
    """kbit: kilobits per second that the node may send, to all together."""

    kbit: float = 500

    name: ClassVar[str] = "bandwidth"
    needs: ClassVar[frozenset[str]] = frozenset({"tbf"})

    def __post_init__(self) -> None:
        number("bandwidth kbit", self.kbit, least=8, most=MOST_KBIT)

    @property
    def wish(self) -> dict[str, float]:
        return {"kbit": self.kbit}

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when packets had to wait; so that there are some, a burst goes to nobody."""

        def held() -> bool:
            context.process.shell(BURST)
            return bool(_sent(context.process)["overlimits"])

        waited = context.until(held, LIMIT)
        found = _sent(context.process)
        return Proof(waited and "tbf" in found["kind"], found)


@dataclass(frozen=True, kw_only=True)
class Delay(Shaped):
    """ms: by which everything the node sends comes later; jitter_ms: more or less, by chance."""

    ms: float = 200
    jitter_ms: float = 0

    name: ClassVar[str] = "delay"

    def __post_init__(self) -> None:
        number("delay ms", self.ms, above=0, most=MOST_MS)
        number("delay jitter_ms", self.jitter_ms, least=0, most=MOST_MS)

    @property
    def wish(self) -> dict[str, float]:
        return {"delay_ms": self.ms, "jitter_ms": self.jitter_ms}


@dataclass(frozen=True, kw_only=True)
class Duplicate(Shaped):
    """percent: of the packets the node sends that are sent twice."""

    percent: float = 20

    name: ClassVar[str] = "duplicate"

    def __post_init__(self) -> None:
        number("duplicate percent", self.percent, above=0, most=100)

    @property
    def wish(self) -> dict[str, float]:
        return {"duplicate": self.percent}


@dataclass(frozen=True, kw_only=True)
class Reorder(Shaped):
    """percent: of the packets the node sends that overtake others, which are delayed by `ms`."""

    percent: float = 20
    ms: float = 20

    name: ClassVar[str] = "reorder"

    def __post_init__(self) -> None:
        number("reorder percent", self.percent, above=0, most=100)
        number("reorder ms", self.ms, above=0, most=MOST_MS)

    @property
    def wish(self) -> dict[str, float]:
        return {"reorder": self.percent, "delay_ms": self.ms}


def _sent(node: Node) -> dict[str, Any]:
    """The disciplines of ours that the node has, and what passed through them."""
    _, output = node.shell("LC_ALL=C tc -s qdisc show dev eth0")
    kind = " ".join(re.findall(r"qdisc ((?:tbf|netem) .*)", output))
    packets = [int(number) for number in re.findall(r"Sent \d+ bytes (\d+) pkt", output)]
    over = [int(number) for number in re.findall(r"overlimits (\d+)", output)]
    return {"kind": kind, "packets": max(packets, default=0), "overlimits": max(over, default=0)}
