"""Memory pressure: the kernel has hardly anything left to cache files with, and must take it back all the time."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import ClassVar

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource
from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.serving import serving
from nemesis.validation import count


def _apply(node: Node, spare: int | None) -> None:
    node.limit_memory(None if spare is None else node.memory()[0] + spare)


MEMORY = Resource("memory", min, _apply)
"""Bytes above what is in use when it is applied."""

LIMIT = 10.0
"""Seconds for the process to run again, should the kernel have killed it after all."""

FILE = "/tmp/.kafkacheck-pressure"
"""What the kernel would like to keep in memory."""


@dataclass(frozen=True, kw_only=True)
class Memory(Fault):
    """spare_mb: what the node's container may take beyond what it has, MiB."""

    spare_mb: int = 8

    name: ClassVar[str] = "memory"
    ours: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def __post_init__(self) -> None:
        count("memory spare_mb", self.spare_mb)

    def inject(self, context: FaultContext) -> None:
        context.notes["asked"] = True
        context.desired.want(context.event, context.node, MEMORY, self.spare_mb << 20)

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when a file larger than what is spare was written, and use grew by less than half of it.

        The limit alone proves little: a broker's use grows by megabytes while it is set. And the kernel need not
        count, in either version of control groups, how often it had to make room.
        """
        process, size = context.process, 4 * self.spare_mb << 20
        before, _ = process.memory()
        try:
            status, said = process.execute(f"head -c {size} /dev/zero > {FILE}")
            used, allowed = process.memory()
        finally:
            with contextlib.suppress(Exception):  # it may have been killed after all
                process.execute(f"rm -f {FILE}")
        evidence = {
            "bytes_before": before,
            "bytes_written": size,
            "bytes_used": used,
            "bytes_allowed": allowed,
            "said": said.strip(),
        }
        return Proof(status == 0 and used <= allowed and used - before < size // 2, evidence)

    def heal(self, context: FaultContext) -> None:
        try:
            context.desired.release(context.event, context.node, MEMORY)
        finally:
            # It may have been killed for want of memory: whoever wants nothing of it lets it run.
            context.processes.release(context.event, context.node)

    def verify_healed(self, context: FaultContext) -> Proof:
        if context.desired.now(MEMORY, context.node) is not None:
            return Proof(True, {"held_by": list(context.others)})
        if (state := context.processes.desired(context.node)) != "running":
            return Proof(True, {"not_asked": f"{', '.join(context.others)} wants it {state}"})
        if not context.until(lambda: context.process.state() == "running", LIMIT):
            return Proof(False, {"state": context.process.state()})
        used, allowed = context.process.memory()
        evidence = {"bytes_used": used, "bytes_allowed": allowed}
        if "asked" in context.notes and allowed <= used + 2 * (self.spare_mb << 20):
            return Proof(False, evidence)
        served = serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})
