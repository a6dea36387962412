"""One event while a schedule is carried out: its contexts, its steps, and when it was at work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from nemesis.event import Event
from nemesis.fault_context import FaultContext, Proof

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Of an injection or a heal, with its verification. error: the exception that it ended with."""

    proof: Proof
    error: str | None = None


class EventRun:
    """The steps of one event. Several nodes have a context each, unless the fault takes all nodes together.

    now  returns monotonic nanoseconds.
    """

    def __init__(self, event: Event, now: Callable[[], int]) -> None:
        self.event = event
        self.contexts: tuple[FaultContext, ...] = ()
        self.began: int | None = None
        self.is_finished = False
        self._now = now
        self._applied: int | None = None

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(node for context in self.contexts for node in context.node_ids)

    def inject(self, context: FaultContext) -> Proof:
        """Inject and verify. Passes on what the fault raises."""
        contexts: tuple[FaultContext, ...] = (context,)
        if not self.event.fault.takes_all_nodes and len(context.node_ids) > 1:
            contexts = tuple(replace(context, node_ids=(node,), notes={}) for node in context.node_ids)
        self.contexts = contexts
        _for_each(contexts, self.event.fault.inject)
        applied = self._now()
        proof = _joined(contexts, _for_each(contexts, self.event.fault.verify_injected))
        self._applied = applied if proof.effective else None
        return Proof(proof.effective, {"applied": applied, **proof.evidence})

    def repeat(self) -> None:
        try:
            _for_each(self.contexts, self.event.fault.repeat)
        except Exception as problem:  # one of many repetitions; its effects show at the heal
            describe(problem)

    def heal(self) -> Outcome:
        """Heal and verify."""
        try:
            self.undo()
            lifted = self._now()
            proof = _joined(self.contexts, _for_each(self.contexts, self.event.fault.verify_healed))
            return Outcome(proof=Proof(proof.effective, {"lifted": lifted, **proof.evidence}))
        except Exception as problem:
            return Outcome(proof=Proof(False), error=describe(problem))

    def undo(self) -> None:
        """Call `heal` of the fault for each context for which it has not succeeded yet."""

        def heal(context: FaultContext) -> None:
            self.event.fault.heal(context)
            context.healed = True

        _for_each(tuple(context for context in self.contexts if not context.healed), heal)

    def window(self, heal_began: int, proof: Proof) -> dict[str, list[int]]:
        """When the fault was at work, in ns: "possibly" up to now, and "surely" if it lasted until its heal.

        proof  of the heal.
        """
        assert self.began is not None
        window = {"possibly": [self.began, self._now()]}
        if self._applied is not None and self._applied <= heal_began and not _ended_early(proof):
            window["surely"] = [self._applied, heal_began]
        return window


def describe(problem: Exception) -> str:
    """Text for the record of an action that failed; the traceback goes to the log."""
    log.warning("an action of the nemesis failed", exc_info=problem)
    return f"{type(problem).__name__}: {problem}"


def _for_each(contexts: tuple[FaultContext, ...], step: Callable[[FaultContext], T]) -> list[T]:
    """Take a step for all contexts at the same time. Passes on what it raised, after all have ended."""
    if len(contexts) < 2:
        return [step(context) for context in contexts]
    with ThreadPoolExecutor(max_workers=len(contexts)) as pool:
        futures = [pool.submit(step, context) for context in contexts]
    problems = [problem for future in futures if isinstance(problem := future.exception(), Exception)]
    if problems:
        raise problems[0] if len(problems) == 1 else ExceptionGroup("several nodes failed", problems)
    return [future.result() for future in futures]


def _joined(contexts: tuple[FaultContext, ...], proofs: list[Proof]) -> Proof:
    """One proof for all nodes, effective where each proof is. The evidence is listed by node."""
    for context, proof in zip(contexts, proofs, strict=True):
        context.effective = proof.effective
    if len(proofs) == 1:
        return proofs[0]
    by_node = {
        str(context.node_id): dict(proof.evidence) for context, proof in zip(contexts, proofs, strict=True)
    }
    return Proof(all(proof.effective for proof in proofs), {"by_node": by_node})


def _ended_early(proof: Proof) -> bool:
    by_node = proof.evidence.get("by_node")
    evidence = by_node.values() if isinstance(by_node, Mapping) else (proof.evidence,)
    return any("ended_early" in each for each in evidence)
