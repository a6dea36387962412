"""OOM kill: the kernel ends the process for want of memory, and it is started again when the fault ends."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.kill import halted, rouse, roused
from nemesis.faults.memory import MEMORY

SPARE = 16 << 20
"""Bytes above what is in use: the engine refuses less than that."""

LIMIT = 15.0
"""Seconds for the kernel to choose its victim."""

HOG = "echo 1000 > /proc/1/oom_score_adj; head -c 1G /dev/zero | tail -c 1G >/dev/null"
"""Takes memory until something must go, which shall be the broker and not the taker."""


@dataclass(frozen=True, kw_only=True)
class Oom(Fault):
    """The container gets a limit, and something in it takes all there is."""

    name: ClassVar[str] = "oom"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True

    def inject(self, context: FaultContext) -> None:
        process = context.process
        context.notes |= {"before": process.state(), "incarnation": process.incarnation()}
        try:
            context.desired.want(context.event, context.node, MEMORY, SPARE)
        except Exception:
            context.desired.release(context.event, context.node, MEMORY)
            raise
        try:
            with contextlib.suppress(Exception):  # the command goes down with its container
                process.execute(HOG)
            context.until(lambda: process.state() == "stopped", LIMIT)
        finally:
            # The process that is started later needs more than this one was left with.
            context.desired.release(context.event, context.node, MEMORY)
            context.processes.want(context.event, context.node, "stopped")

    def verify_injected(self, context: FaultContext) -> Proof:
        proof = halted(context)
        killed = context.process.killed_for_memory()
        return Proof(proof.effective and killed, {**proof.evidence, "killed_for_memory": killed})

    def heal(self, context: FaultContext) -> None:
        rouse(context)

    def verify_healed(self, context: FaultContext) -> Proof:
        return roused(context)
