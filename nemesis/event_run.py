"""One event while a schedule is carried out: its contexts, its steps, when it was at work, and the rows about it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar

from nemesis.event import Event
from nemesis.fault import FaultContext, Proof
from nemesis.serving_watch import ServingWatch
from nemesis.tasks import Start, side_by_side

log = logging.getLogger(__name__)

T = TypeVar("T")

RECOVERY = 60.0
"""Seconds for a broker to start, recover its logs and be unfenced on a busy machine."""

SOON = 0.001
"""Seconds until the end of an event whose heal is due or under way."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Of an injection or a heal, with its verification. error: the exception that it ended with."""

    proof: Proof
    error: str | None = None


class EventRun:
    """The steps of one event. Several nodes have a context each, unless the fault takes all nodes together.

    now    returns monotonic nanoseconds.
    start  starts a task, for steps at several nodes.
    """

    def __init__(self, event: Event, now: Callable[[], int], start: Start) -> None:
        self.event = event
        self.contexts: tuple[FaultContext, ...] = ()
        self.without = ""
        """That its trigger did not come, where it comes without."""
        self.planned: float | None = None
        """When it should begin, in seconds of the clock; None until that is known."""
        self.began: int | None = None
        """ns"""
        self.due: float | None = None
        """When its heal should begin, in seconds of the clock; None for none."""
        self.is_proved = False
        """Whether the injection was verified before the heal began."""
        self.is_cut_short = False
        """Whether the heal was due before the verification of the injection had ended."""
        self.is_healing = False
        self.is_lifted = False
        """Whether its heal was carried out. It may not be proved yet."""
        self.is_finished = False
        self.serving: ServingWatch | None = None
        """Which nodes served before the injection, where the fault's proof needs that."""
        self.ended: float | None = None
        """When it was finished, in seconds of the clock."""
        self._now = now
        self._start = start
        self._applied: int | None = None

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(node for context in self.contexts for node in context.node_ids)

    def finish(self) -> None:
        self.is_finished, self.ended = True, self._now() / 1e9

    def ahead(self, now: float) -> Event | None:
        """The event as a schedule has it that begins now, in seconds of the clock; None if it has ended."""
        if self.is_finished:
            return None
        if self.planned is None:  # it waits for its trigger, or its schedule is only just beginning
            return self.event
        begins = max(self.planned - now, 0.0)
        if self.event.fault.momentary:
            return replace(self.event, after=None, at=begins)
        ends = (self.planned + self.event.lasting if self.due is None else self.due) - now
        return replace(self.event, after=None, at=begins, lasting=max(ends - begins, SOON))

    def inject(self, context: FaultContext) -> None:
        """Passes on what the fault raises."""
        contexts: tuple[FaultContext, ...] = (context,)
        if not self.event.fault.takes_all_nodes and len(context.node_ids) > 1:
            contexts = tuple(replace(context, node_ids=(node,), notes={}) for node in context.node_ids)
        self.contexts = contexts
        self._for_each(contexts, self.event.fault.inject)
        self._applied = self._now()

    def verify_injected(self) -> Proof:
        """Passes on what the fault raises. A proof that ends when the heal has begun counts no longer."""
        proofs = self._for_each(self.contexts, self.event.fault.verify_injected)
        if not self.is_healing:
            for context, proof in zip(self.contexts, proofs, strict=True):
                context.effective = proof.effective
            self.is_proved = all(proof.effective for proof in proofs)
        joined = _joined(self.contexts, proofs)
        return Proof(joined.effective, {"applied": self._applied, **joined.evidence})

    def repeat(self) -> None:
        try:
            self._for_each(self.contexts, self.event.fault.repeat)
        except Exception as problem:  # one of many repetitions; its effects show at the heal
            describe(problem)

    def heal(self) -> Outcome:
        """Heal and verify."""
        try:
            self.undo()
            self.is_lifted, lifted = True, self._now()
            proof = _joined(self.contexts, self._for_each(self.contexts, self.event.fault.verify_healed))
            # What the verification denied is not proved by anything else.
            had_effect = self.is_cut_short and proof.had_effect
            return Outcome(proof=Proof(proof.effective, {"lifted": lifted, **proof.evidence}, had_effect))
        except Exception as problem:
            return Outcome(proof=Proof(False), error=describe(problem))
        finally:
            self.is_lifted = True

    def undo(self) -> None:
        """Call `heal` of the fault for each context for which it has not succeeded yet."""

        def heal(context: FaultContext) -> None:
            self.event.fault.heal(context)
            context.healed = True

        self._for_each(tuple(context for context in self.contexts if not context.healed), heal)

    def window(self, heal_began: int, proof: Proof) -> dict[str, list[int]]:
        """When the fault was at work, in ns: "possibly" up to now, and "surely" if it lasted until its heal.

        A momentary fault does not last, and one that repeats does nothing most of the time.
        proof  of the heal.
        """
        assert self.began is not None
        window = {"possibly": [self.began, self._now()]}
        fault = self.event.fault
        lasts = not fault.momentary and fault.repeat_every is None and not _ended_early(proof)
        if lasts and self.is_proved and self._applied is not None:
            window["surely"] = [self._applied, heal_began]
        return window

    def _for_each(self, contexts: Sequence[FaultContext], step: Callable[[FaultContext], T]) -> list[T]:
        """Take a step for all contexts at the same time. Passes on what it raised, after all have ended."""
        return side_by_side(self._start, [partial(step, context) for context in contexts], self.event.id)


def explaining(runs: Iterable[EventRun], run: EventRun, node: int | None, now: float) -> tuple[str, ...]:
    """Ids of the other events because of which that node may not serve; for None those that may explain anything.

    They hit the node, or take nodes down, which may cost the cluster its quorum; and they are at work, or ended less
    than `RECOVERY` ago. now: seconds of the clock.
    """
    return tuple(
        other.event.id
        for other in runs
        if other is not run
        and other.contexts
        and (other.ended is None or now - other.ended < RECOVERY)
        and other.event.fault.target_family != "clients"
        and (node is None or node in other.nodes or other.event.fault.takes_nodes_down)
    )


def describe(problem: Exception) -> str:
    """Text for the record of an action that failed; the traceback goes to the log."""
    log.warning("an action of the nemesis failed", exc_info=problem)
    return f"{type(problem).__name__}: {problem}"


def _joined(contexts: tuple[FaultContext, ...], proofs: list[Proof]) -> Proof:
    """One proof for all nodes, effective where each proof is. The evidence is listed by node."""
    if len(proofs) == 1:
        return proofs[0]
    by_node = {
        str(context.node_id): dict(proof.evidence) for context, proof in zip(contexts, proofs, strict=True)
    }
    had_effect = all(proof.had_effect for proof in proofs)
    return Proof(all(proof.effective for proof in proofs), {"by_node": by_node}, had_effect)


def _ended_early(proof: Proof) -> bool:
    by_node = proof.evidence.get("by_node")
    evidence = by_node.values() if isinstance(by_node, Mapping) else (proof.evidence,)
    return any("ended_early" in each for each in evidence)


Stage = Literal["inject", "heal"]


def action_row(
    event: Event,
    stage: Stage,
    nodes: Collection[int],
    proof: Proof,
    *,
    invoked: int,
    completed: int,
    planned: int | None = None,
    error: str | None = None,
    window: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The row of an injection or a heal. Times are monotonic ns.

    nodes    client processes, for a fault of clients.
    planned  when it was due; None where it had no time, because its trigger did not come or the run was stopped.
    """
    is_of_clients = event.fault.target_family == "clients"
    value: dict[str, Any] = {
        "event": event.id,
        "stage": stage,
        "target": event.target.to_json(),
        "nodes": [] if is_of_clients else list(nodes),
        "effective": proof.effective,
        "evidence": dict(proof.evidence),
    }
    if options := event.fault.options():
        value["options"] = options
    if is_of_clients:
        value["processes"] = list(nodes)
    if event.fault.removes_records:
        value["removes_records"] = True
    if planned is not None:
        value["planned"] = planned
    if proof.had_effect:
        value["had_effect"] = True
    if window is not None:
        value["active"] = dict(window)
    return {
        "f": event.fault.name,
        "type": "info",
        "invoked": invoked,
        "completed": completed,
        "value": value,
        "error": error,
    }


def heal_all_row(
    nodes: Collection[int], problems: list[str], *, invoked: int, completed: int
) -> dict[str, Any]:
    """The row that says what is left of faults at the end of a run."""
    value = {
        "event": "heal-all",
        "stage": "heal",
        "target": "all",
        "nodes": sorted(nodes),
        "effective": False,
        "evidence": {},
    }
    return {
        "f": "heal-all",
        "type": "info",
        "invoked": invoked,
        "completed": completed,
        "value": value,
        "error": "; ".join(problems),
    }
