"""Slow disk: the node's disk takes few bytes per second."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource
from nemesis.event import OPEN, Event
from nemesis.fault import Draw, Fault, FaultContext, Proof
from nemesis.steps.serving import verify_serving
from nemesis.validation import number

MB = 1_000_000
"""Bytes."""

MOST = 1_000.0
"""MB per second. No disk in a file is faster than a limit above it."""

BLOCK = 1 << 14
"""Bytes of one write of the measurement."""

CLEARLY = 1.5
"""A rate above that many times a limit shows that the limit is not in force; the kernel allows short bursts."""

MEASURE = """cd /k/data && begun=$(date +%s%N) &&
dd if=/dev/zero of=.kafkacheck-rate bs={block} count={count} conv=fsync 2>/dev/null; status=$?
ended=$(date +%s%N); rm -f .kafkacheck-rate; echo "wrote $((ended - begun)) ns"; exit $status"""


def _remains(node: Node) -> str | None:
    rate = node.disk.throttled() if node.state() == "running" else None
    return None if rate is None else f"its disk is still limited to {rate} bytes per second"


RATE = Resource("disk rate", min, lambda node, rate: node.disk.throttle(rate), _remains)
"""Bytes per second."""


@dataclass(frozen=True, kw_only=True)
class SlowDisk(Fault):
    """mb_per_s: megabytes per second that reach the disk when the broker waits for it, as each fsync does."""

    mb_per_s: float = 1.0

    name = "slow-disk"
    family = "resources"
    proved_by = (
        "a second's worth of data, written and synced in the broker's container, reached the disk at that "
        "rate; before the fault faster"
    )
    end_proved_by = "the same data reached the disk faster, and the node serves"
    draw = Draw(options=({"mb_per_s": 0.2}, {"mb_per_s": 1}), least=8.0)
    takes_nodes_down = False
    needs_process = True
    changes_cluster = True
    needs = frozenset({"disks", "throttle"})

    def __post_init__(self) -> None:
        number("slow-disk mb_per_s", self.mb_per_s, least=0.05, most=MOST)

    @property
    def rate(self) -> int:
        return round(self.mb_per_s * MB)

    def inject(self, context: FaultContext) -> None:
        context.notes["incarnation"] = context.node.incarnation()
        if context.resources.wanted(RATE, context.node_id) is None:
            context.notes["before"] = _measured_at(context, self.rate)
        context.resources.want(context.event, context.node_id, RATE, self.rate)

    def verify_injected(self, context: FaultContext) -> Proof:
        wanted = context.resources.wanted(RATE, context.node_id) or self.rate
        now, before = _measured_at(context, wanted), context.notes.get("before")
        evidence: dict[str, object] = {"bytes_per_second": now, "bytes_per_second_before": before}
        was_faster = before is None or before > CLEARLY * self.rate
        if not was_faster:
            evidence["nothing"] = "the disk was not faster before the fault"
        return Proof(was_faster and now <= CLEARLY * wanted, evidence)

    def heal(self, context: FaultContext) -> None:
        try:
            is_new = context.node.incarnation() != context.notes.get("incarnation")
            context.notes["restarted"] = is_new or context.node.state() == "stopped"
        finally:
            context.resources.release(context.event, context.node_id, RATE)

    def verify_healed(self, context: FaultContext) -> Proof:
        if context.notes.get("restarted"):
            return Proof(True, {"ended_early": "the process was restarted, which ends the limit"})
        if (state := context.processes.wanted(context.node_id)) != "running":
            return Proof(True, {"not_checked": f"{', '.join(context.others)} keeps it {state}"})
        wanted = context.resources.wanted(RATE, context.node_id)
        try:
            now = _measured_at(context, wanted or self.rate)
        except OSError as problem:
            if context.others:  # such as a full or a stalled disk
                return Proof(True, {"not_checked": f"{', '.join(context.others)} goes on: {problem}"})
            raise
        evidence: dict[str, object] = {"bytes_per_second": now}
        if wanted is not None:
            evidence["held_by"] = list(context.others)
            return Proof(now <= CLEARLY * wanted, evidence)
        if now <= CLEARLY * self.rate:
            return Proof(False, evidence)
        served = verify_serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})


def _measured_at(context: FaultContext, size: int) -> float:
    if context.node.disk.frozen():  # a command that waits for the disk cannot be ended
        raise OSError("the disk is stalled, so that its rate cannot be measured")
    return measured(context.node.execute, size)


def measured(execute: Callable[[str], tuple[int, str]], size: int) -> float:
    """Bytes per second at which about `size` bytes reach the disk. Raises OSError when they cannot be written.

    execute  runs a command in the container whose writes are measured, and returns its exit status and output.
    """
    count = max(1, round(size / BLOCK))
    status, output = execute(MEASURE.format(block=BLOCK, count=count))
    took = re.search(r"wrote (\d+) ns", output)
    if status or took is None:
        raise OSError(f"{count * BLOCK} bytes could not be written (status {status}): {output.strip()}")
    return count * BLOCK / max(1, int(took[1])) * 1e9


def slow_disk(
    target: str | int,
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
    mb_per_s: float = 1.0,
) -> Event:
    """What the broker syncs reaches its disk at ``mb_per_s`` megabytes per second."""
    return Event.of(SlowDisk(mb_per_s=mb_per_s), target, at=at, after=after, lasting=lasting)
