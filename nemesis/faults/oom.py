"""OOM kill: the kernel ends the process because memory is exhausted. It is started again at the end of the fault."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from nemesis.effects.reconciler import MEMORY, limit_above_use
from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext, Proof
from nemesis.steps.processes import EndsProcess, note_process

SPARE = 16 << 20
"""Bytes above what is in use. The engine refuses a smaller limit."""

LIMIT = 15.0
"""Seconds for the kernel to kill a process."""

EXHAUST_MEMORY = "echo 1000 > /proc/1/oom_score_adj; head -c 1G /dev/zero | tail -c 1G >/dev/null"
"""Makes the broker the kernel's first choice, and takes memory until the kernel must kill something."""


@dataclass(frozen=True, kw_only=True)
class Oom(EndsProcess):
    """The container gets a memory limit, and a command in it takes all memory that is left."""

    name = "oom"
    proved_by = "the node served just before, its process is gone, and the engine reports a kill for memory"
    changes_cluster = True
    needs = frozenset({"limits"})

    def inject(self, context: FaultContext) -> None:
        node = context.node
        limit = limit_above_use(node, SPARE)
        note_process(context)
        try:
            context.resources.want(context.event, context.node_id, MEMORY, limit)
        except Exception:
            context.resources.release(context.event, context.node_id, MEMORY)
            raise
        try:
            with contextlib.suppress(Exception):  # the command ends with its container
                node.execute(EXHAUST_MEMORY)
            context.wait_until(lambda: node.state() == "stopped", LIMIT)
        finally:
            # The process that is started later needs more memory than the limit allows.
            context.resources.release(context.event, context.node_id, MEMORY)
            context.processes.want(context.event, context.node_id, "stopped")

    def verify_injected(self, context: FaultContext) -> Proof:
        proof = super().verify_injected(context)
        is_killed = context.node.killed_for_memory()
        return Proof(proof.effective and is_killed, {**proof.evidence, "killed_for_memory": is_killed})


def oom(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """The kernel kills the broker, because a command in its container exhausts a memory limit; started again at the
    end.
    """
    return Event.of(Oom(), target, at=at, after=after, lasting=lasting)
