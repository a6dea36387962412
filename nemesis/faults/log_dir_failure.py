"""Log directory failure: every access to the node's data fails, and the broker ends itself."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext, Proof
from nemesis.steps.processes import EndsProcess, note_process

LIMIT = 30.0
"""Seconds for a broker to notice that its disk has failed, and to end itself."""


@dataclass(frozen=True, kw_only=True)
class LogDirFailure(EndsProcess):
    """A broker ends itself when its only log directory fails. It is started again at the end."""

    name = "log-dir-failure"
    family = "storage"
    proved_by = f"the node served just before, and its process ended by itself within {LIMIT:.0f} s"
    draw = Draw(least=8.0)
    changes_cluster = True
    destroys_records = True
    needs = frozenset({"disks"})

    def inject(self, context: FaultContext) -> None:
        node = context.node
        note_process(context)
        node.disk.shut_down()
        context.notes["by_itself"] = context.wait_until(lambda: node.state() == "stopped", LIMIT)
        context.processes.want(context.event, context.node_id, "stopped")

    def verify_injected(self, context: FaultContext) -> Proof:
        proof, by_itself = super().verify_injected(context), context.notes["by_itself"]
        return Proof(proof.effective and by_itself, {**proof.evidence, "ended_by_itself": by_itself})


def log_dir_failure(
    target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None
) -> Event:
    """Every access to the data fails, and the broker ends itself; started again at the end."""
    return Event.of(LogDirFailure(), target, at=at, after=after, lasting=lasting)
