"""Crash loop: the process is killed again and again, each time shortly after it was started."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext, Proof
from nemesis.steps.processes import EndsProcess, end_process
from nemesis.validation import LONGEST, number


@dataclass(frozen=True, kw_only=True)
class CrashLoop(EndsProcess):
    """every: seconds between a kill and the start after it, and between a start and the next kill. Both: a beat."""

    every: float = 2.0

    name = "crash-loop"
    proved_by = "the node served before, its process is gone after every kill, and runs before the next"
    end_proved_by = (
        "a new process runs, and the node serves; every beat had a kill, and each but the last a start"
    )
    allows = frozenset({"kill"})

    def __post_init__(self) -> None:
        number("crash-loop every", self.every, above=0, most=LONGEST)

    @property
    def repeat_every(self) -> float:
        return self.every

    def inject(self, context: FaultContext) -> None:
        end_process(context)
        context.notes |= {"beats": 1, "kills": int(context.node.state() == "stopped"), "starts": 0}

    def repeat(self, context: FaultContext) -> None:
        notes = context.notes
        if notes.pop("is_up", False):
            notes["starts"] += context.node.state() == "running"
            context.processes.want(context.event, context.node_id, "stopped")
            notes["beats"] += 1
            notes["kills"] += context.node.state() == "stopped"
        else:
            context.processes.release(context.event, context.node_id)
            notes["is_up"] = True

    def heal(self, context: FaultContext) -> None:
        super().heal(context)
        if context.notes.get("is_up"):
            context.notes["end"] = "stopped"  # the loop itself had started it, so the fault did not end early

    def verify_healed(self, context: FaultContext) -> Proof:
        proof, notes = super().verify_healed(context), context.notes
        counts = {name: notes.get(name, 0) for name in ("beats", "kills", "starts")}
        # A beat without its kill or its start means that something else stopped or started the process.
        is_whole = counts["kills"] == counts["beats"] and counts["starts"] >= counts["beats"] - 1
        return Proof(proof.effective and is_whole, {**proof.evidence, **counts})


def crash_loop(
    target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None, every: float = 2.0
) -> Event:
    """Killed, started after ``every`` seconds, killed again after the same time, and so on."""
    return Event.of(CrashLoop(every=every), target, at=at, after=after, lasting=lasting)
