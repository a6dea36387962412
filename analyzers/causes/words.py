"""Faults and elections in words, for the steps of a cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analyzers.causes.evidence import Change, RunEvidence
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.cause import Election, Step
from analyzers.verdict.names import client_name

MOST_FAULTS = 2
"""Faults that the steps of one cause tell; `Cause.faults` names all."""

WHAT_HAPPENS = {
    "isolate": "is cut off from the other brokers",
    "partition": "is partitioned from others",
    "kill": "is killed",
    "stop": "is stopped",
    "restart": "is restarted",
    "pause": "is paused",
    "power_loss": "loses power",
    "wipe": "loses its disk",
    "kill_client": "is killed",
    "pause_client": "is paused",
    "isolate_client": "is cut off from the brokers",
}
"""By fault, after the name of what it acts on. Another fault is named as in the schedule."""


def fault_steps(events: Sequence[FaultEvent], run: RunEvidence, leader: str = "") -> Iterator[Step]:
    """When faults began and were healed.

    leader  what to say of a fault's target if it was the leader, such as ``(leader of t-0, epoch 0)``.
    """
    for event in events:
        yield Step(time=run.at(event.began), text=fault_text(event, leader, run.clients))
        if event.heal is not None:
            end = "is healed" if event.heal.effective else "is not known to be healed"
            yield Step(time=run.at(event.ended), text=f"the fault {event.fault} {end}")


def fault_text(event: FaultEvent, leader: str, clients: Mapping[int, str]) -> str:
    """``broker 1 (leader of t-0, epoch 0) is cut off from the other brokers``."""
    what = WHAT_HAPPENS.get(event.fault)
    role = f" {leader}" if leader else ""
    if what is None or not (event.nodes or event.processes):
        return f"fault {event.name()}{role}"
    if event.processes:
        names = ", ".join(client_name(each, clients) for each in event.processes)
    else:
        names = f"broker{'s' * (len(event.nodes) > 1)} {', '.join(map(str, event.nodes))}"
    is_one = len(event.nodes or event.processes) == 1
    return f"{names}{role} {what if is_one else what.replace('is ', 'are ', 1)}"


def election_text(election: Election, log: str, *, offset: int | None = None) -> str:
    isr = f", ISR {braces(election.isr)}" if election.isr else ""
    place = f", from offset {offset:,}" if offset is not None else ""
    return f"broker {election.leader} leads {log}, epoch {election.epoch}{place}{isr}"


def braces(isr: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, sorted(isr))) + "}"


def leader_before(changes: Sequence[Change], time: int | None) -> tuple[int, int] | None:
    """The leader and its epoch as the brokers saw them at a time (ns); None if unknown."""
    seen = [each.after for each in changes if time is None or each.after.time <= time]
    known = [(each.epoch, each.leader) for each in seen if each.leader >= 0]
    if not known:
        return None
    epoch, leader = max(known)
    return leader, epoch
