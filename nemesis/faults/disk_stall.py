"""Disk stall: every write to the node's disk waits, as on a disk that does not answer."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource
from nemesis.event import OPEN, Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.steps.serving import verify_serving

SPARE = 15.0
"""Seconds after the fault's end in which a stalled disk continues by itself, if nothing ends the stall."""


WAITS = 1.0
"""Seconds for which a write must have waited. On a disk that is not stalled, it takes some milliseconds."""

LIMIT = 15.0
"""Seconds in which a write must have waited for so long, or must end after the heal."""

AGAIN = 0.3
"""Seconds for which a second write must wait where the first one has ended."""


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
    proved_by = "a write to the disk waits for a second, and still waits when the heal begins"
    end_proved_by = "that write ends, its time is in the evidence, and the node serves"
    blocks_process = True
    changes_cluster = True
    needs = frozenset({"disks"})

    def inject(self, context: FaultContext) -> None:
        context.resources.want(context.event, context.node_id, STALL, context.lasting + SPARE)

    def verify_injected(self, context: FaultContext) -> Proof:
        disk, seconds, has_ended = context.node.disk, 0.0, False

        def is_decided() -> bool:
            nonlocal seconds, has_ended
            seconds, has_ended = disk.write_waited(context.event)
            return has_ended or seconds >= WAITS

        disk.begin_write(context.event)
        context.notes["write"] = True
        context.wait_until(is_decided, LIMIT)
        is_stalled = not has_ended and seconds >= WAITS
        return Proof(is_stalled, {"write_waited": round(seconds, 3), "write_ended": has_ended})

    def heal(self, context: FaultContext) -> None:
        try:
            if "write" in context.notes:
                context.notes["ended"] = self._has_ended(context)
        finally:
            context.resources.release(context.event, context.node_id, STALL)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, object] = {}
        if context.effective and context.notes.get("ended"):
            return Proof(False, {"ended_early": "the disk continued before the fault's end"})
        if context.resources.wanted(STALL, context.node_id) is not None:
            return Proof(True, {"held_by": list(context.others)})
        if "write" in context.notes:
            seconds, has_ended = self._end_of_write(context)
            evidence |= {"write_waited": round(seconds, 3), "write_ended": has_ended}
            if not has_ended:
                return Proof(False, evidence)
        served = verify_serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})

    def _has_ended(self, context: FaultContext) -> bool:
        """Whether the disk goes on before the heal."""
        if not context.node.disk.write_waited(context.event)[1]:
            return False
        # The begin or the end of another stall of this disk lets it go on for a moment: look again.
        context.node.disk.begin_write(context.event)
        return context.wait_until(lambda: context.node.disk.write_waited(context.event)[1], AGAIN)

    def _end_of_write(self, context: FaultContext) -> tuple[float, bool]:
        seconds, has_ended = 0.0, False

        def is_over() -> bool:
            nonlocal seconds, has_ended
            seconds, has_ended = context.node.disk.write_waited(context.event)
            return has_ended

        context.wait_until(is_over, LIMIT)
        return seconds, has_ended


def disk_stall(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """Every write to the node's disk waits; reads from memory go on."""
    return Event.of(DiskStall(), target, at=at, after=after, lasting=lasting)
