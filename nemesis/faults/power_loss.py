"""Power loss: the process is gone, and so is everything that was not synced to the disk."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault_context import FaultContext, Proof
from nemesis.steps.ended_process import EndsProcess, end_process, note_process

SIZE_OF_LOGS = "du -cb /k/data/*/*.log 2>/dev/null | tail -n 1 | cut -f 1"
"""Prints the size of all logs in bytes."""


@dataclass(frozen=True, kw_only=True)
class PowerLoss(EndsProcess):
    """The disk refuses access, so that nothing more is synced; then the process is killed."""

    name = "power-loss"
    family = "storage"
    proved_by = (
        "the disk refused access before the kill; the evidence has the sizes of the logs before and after"
    )
    changes_cluster = True
    needs = frozenset({"disks"})

    def inject(self, context: FaultContext) -> None:
        context.notes["bytes"] = _size_of_logs(context)
        note_process(context)  # before the broker ends itself, because its disk is gone
        context.node.disk.shut_down()
        # Without this check, a kill alone would look the same.
        status, _ = context.node.disk.run("touch /k/data/.probe && rm /k/data/.probe")
        context.notes["refused"] = status != 0
        end_process(context)

    def verify_injected(self, context: FaultContext) -> Proof:
        proof, is_refused = super().verify_injected(context), context.notes["refused"]
        on_disk = _size_of_logs(context) if proof.effective else None
        sizes = {"log_bytes_written": context.notes["bytes"], "log_bytes_on_disk": on_disk}
        return Proof(
            proof.effective and is_refused, {**proof.evidence, "access_refused": is_refused, **sizes}
        )


def _size_of_logs(context: FaultContext) -> int | None:
    _, output = context.node.disk.run(SIZE_OF_LOGS)
    return int(output) if output.strip().isdigit() else None


def power_loss(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """The process is gone, and so is everything that was not synced to the disk; started again at the end."""
    return Event.of(PowerLoss(), target, at=at, after=after, lasting=lasting)
