"""Disk stall: every write to the node's disk waits, as on a disk that does not answer."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource
from nemesis.event import OPEN, Event
from nemesis.fault import Fault
from nemesis.fault_context import FaultContext, Proof
from nemesis.steps.serving import verify_serving

SPARE = 15.0
"""Seconds after the fault's end in which a stalled disk continues by itself, if nothing ends the stall."""


def _stall(node: Node, limit: float | None) -> None:
    node.disk.thaw()  # the limit of a stall that goes on cannot be changed
    if limit is not None:
        node.disk.freeze(limit)


STALL = Resource(
    "disk",
    max,
    _stall,
    lambda node: "its disk is still stalled" if node.disk.frozen() else None,
)
"""Seconds until the disk continues by itself."""


@dataclass(frozen=True, kw_only=True)
class DiskStall(Fault):
    """Every write waits. Reads that the kernel's cache can serve go on. A process that waits for a write cannot be
    killed.
    """

    name = "disk-stall"
    family = "resources"
    proved_by = "a write waits"
    blocks_process = True
    changes_cluster = True
    needs = frozenset({"disks"})

    def inject(self, context: FaultContext) -> None:
        context.resources.want(context.event, context.node_id, STALL, context.lasting + SPARE)

    def verify_injected(self, context: FaultContext) -> Proof:
        is_stalled = context.node.disk.frozen()
        return Proof(is_stalled, {"write_waits": is_stalled})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["end"] = context.node.disk.frozen()
        finally:
            context.resources.release(context.event, context.node_id, STALL)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, object] = {"write_waited_until_heal": context.notes.get("end")}
        if context.effective and not context.notes.get("end"):
            return Proof(False, {**evidence, "ended_early": "the disk continued before the fault's end"})
        if context.resources.wanted(STALL, context.node_id) is not None:
            return Proof(True, {**evidence, "held_by": list(context.others)})
        evidence["write_waits"] = is_stalled = context.node.disk.frozen()
        if is_stalled:
            return Proof(False, evidence)
        served = verify_serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})


def disk_stall(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """Every write to the node's disk waits; reads from memory go on."""
    return Event.of(DiskStall(), target, at=at, after=after, lasting=lasting)
