"""Disk full: nothing is free on the node's disk."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.effects.reconciler import Resource
from nemesis.event import OPEN, Event
from nemesis.fault import Draw, Fault, FaultContext, Proof
from nemesis.steps.serving import verify_serving

FULL = Resource(
    "disk space",
    any,
    lambda node, is_full: node.disk.fill() if is_full else node.disk.empty(),
    lambda node: None if node.disk.available() else "its disk is still full",
)

TRY_TO_WRITE = "head -c 1M /dev/zero > /k/data/.probe; s=$?; rm -f /k/data/.probe; exit $s"


@dataclass(frozen=True, kw_only=True)
class DiskFull(Fault):
    """A broker ends itself when its only log directory is full. It is started again at the end."""

    name = "disk-full"
    family = "resources"
    proved_by = "a write is refused because no space is left"
    end_proved_by = "the disk has free space again, and the node serves"
    blocks_process = True
    draw = Draw(least=8.0)
    changes_cluster = True
    needs = frozenset({"disks"})

    def inject(self, context: FaultContext) -> None:
        context.notes["before"] = context.node.disk.available()
        context.resources.want(context.event, context.node_id, FULL, True)

    def verify_injected(self, context: FaultContext) -> Proof:
        # The number of free bytes is no proof: fewer than a block may be left.
        status, output = context.node.disk.run(TRY_TO_WRITE)
        evidence = {
            "bytes_before": context.notes["before"],
            "bytes_available": context.node.disk.available(),
            "write": output.strip(),
        }
        return Proof(status != 0 and "No space" in output, evidence)

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["end"] = context.node.state()
        finally:
            context.resources.release(context.event, context.node_id, FULL)
        if context.resources.wanted(FULL, context.node_id) is None:
            # Start the broker if it ended itself and no other fault keeps it down.
            context.processes.release(context.event, context.node_id)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, object] = {"state_before_heal": context.notes.get("end")}
        if context.resources.wanted(FULL, context.node_id) is not None:
            return Proof(True, {**evidence, "held_by": list(context.others)})
        evidence["bytes_available"] = available = context.node.disk.available()
        if context.processes.wanted(context.node_id) != "running":
            return Proof(available > 0, {**evidence, "others": list(context.others)})
        served = verify_serving(context)
        return Proof(available > 0 and served.effective, {**evidence, **served.evidence})


def disk_full(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """Nothing is free on the node's disk."""
    return Event.of(DiskFull(), target, at=at, after=after, lasting=lasting)
