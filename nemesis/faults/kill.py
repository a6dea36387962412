"""Kill: the process ends without warning. It is started again at the end of the fault."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext
from nemesis.faults.kill_client import kill_client
from nemesis.steps.processes import EndsProcess, end_process
from nemesis.targets import names_clients


@dataclass(frozen=True, kw_only=True)
class Kill(EndsProcess):
    """SIGKILL to the process."""

    name = "kill"
    proved_by = "the node served just before, and its process is gone"
    draw = Draw(weight=3)

    def inject(self, context: FaultContext) -> None:
        end_process(context)


def kill(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """SIGKILL to the broker, or to client processes such as ``app:1``; it is started again at the end."""
    if names_clients(target):
        return kill_client(str(target), at=at, after=after, lasting=lasting)
    return Event.of(Kill(), target, at=at, after=after, lasting=lasting)
