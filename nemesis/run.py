"""Carrying out a schedule: every fault injected, verified, healed, verified again, and recorded."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal, TypeVar

from nemesis.cluster import Clients, Cluster
from nemesis.effects.network import Network
from nemesis.effects.processes import Processes
from nemesis.effects.reconciler import Reconciler
from nemesis.faults.fault import FaultContext, Proof
from nemesis.no_clients import NoClients
from nemesis.schedule import TRIGGER_LIMIT, Event, Schedule
from nemesis.targets import Groups, Unresolved, resolve
from nemesis.triggers import Happened
from nemesis.wait import until

log = logging.getLogger(__name__)

RESOLVE_LIMIT = 5.0
"""Seconds in which a target must become known, such as the leader of a partition that elects one."""

LOOK = 0.1
"""Seconds between two looks at what an event waits for."""

Stage = Literal["inject", "heal"]
Record = Callable[[Mapping[str, Any]], None]
T = TypeVar("T")

_HEAL, _BEAT, _INJECT = 0, 1, 2  # in this order when several are due at once


class Nemesis:
    """Runs once, in one thread; faults of several nodes use more while they inject and heal.

    topic    the workload's own, for targets that name none.
    seed     of all random choices.
    record   gets a row of ``operations`` for each action when it is done: keys f, type, invoked, completed
             (ns of `clock`), value, error. An exception of its is the only one that leaves `run`.
    clients  the workload's processes.
    clock    monotonic seconds.
    """

    def __init__(
        self,
        schedule: Schedule,
        cluster: Cluster,
        *,
        topic: str,
        seed: int,
        record: Record,
        clients: Clients | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events = schedule.events
        self._cluster = cluster
        self._clients = clients or NoClients()
        self._topic = topic
        self._seed = seed
        self._record = record
        self._clock = clock
        self._network = Network(cluster.nodes)
        self._processes = Processes(cluster.nodes)
        self._desired = Reconciler(cluster.nodes)
        self._stop = threading.Event()
        self._start = 0.0
        self._pending: list[tuple[float, int, int]] = []
        self._waiting: dict[int, Happened] = {}
        self._looking = threading.Lock()
        self._strikes: dict[int, tuple[FaultContext, ...]] = {}
        self._windows: dict[int, tuple[int, int | None]] = {}
        self._finished: set[int] = set()

    def run(self, stop: threading.Event) -> None:
        """Work through the schedule; return when everything is healed, as verified or as recorded.

        stop  set from outside: heal at once. Events whose time had not come are recorded as without effect.

        A late action delays only what is due before it is done, and an event keeps its length. An action
        that fails is recorded, and the run goes on.
        """
        self._stop = stop
        self._start = self._clock()
        for index, event in enumerate(self._events):
            if event.after is None:
                heapq.heappush(self._pending, (self._start + event.at, _INJECT, index))
            else:
                self._waiting[index] = event.after.watch(self._cluster, self._clients, topic=self._topic)
        problems: list[BaseException] = []
        try:
            while (self._pending or self._waiting) and not stop.is_set():
                self._look()
                if self._due():
                    _, action, index = heapq.heappop(self._pending)
                    {_INJECT: self._begin, _BEAT: self._beat, _HEAL: self._end}[action](index)
        finally:
            self._waiting.clear()
            self._pending.clear()
            try:
                for index in range(len(self._events)):
                    try:
                        self._end(index)
                    except (
                        Exception
                    ) as problem:  # its record could not be written; the others must be healed too
                        problems.append(problem)
            finally:
                self._heal_rest()
            if problems:
                raise problems[0]

    def _come(self) -> None:
        """Give events whose trigger has come their time."""
        with self._looking:
            for index, happened in tuple(self._waiting.items()):
                event = self._events[index]
                try:
                    come = happened()
                except Exception as problem:  # while faults are at work, questions go unanswered
                    log.info("%s: whether %s: %r", event.id, event.after, problem)
                    continue
                if come:
                    del self._waiting[index]
                    heapq.heappush(self._pending, (self._clock() + event.at, _INJECT, index))

    def _look(self) -> None:
        """See whether triggers have come, and give up events that waited for too long."""
        self._come()
        for index in tuple(self._waiting):
            event, now = self._events[index], self._clock()
            if now - self._start > TRIGGER_LIMIT:
                del self._waiting[index]
                why = f"{event.after} did not come within {TRIGGER_LIMIT:.0f} s"
                self._strikes[index] = ()
                self._write(event, "inject", (), Proof(False, {"trigger": why}), invoked=round(now * 1e9))
                self._end(index)

    def _due(self) -> bool:
        """Whether the next action is due, after a wait for it: a short one where events wait for triggers."""
        if not self._pending and not self._waiting:
            return False  # the last one that waited has been given up
        due = self._pending[0][0] if self._pending else float("inf")
        if self._waiting:
            due = min(due, self._clock() + LOOK)
        while not self._stop.is_set() and (left := due - self._clock()) > 0:
            self._stop.wait(left)
        return not self._stop.is_set() and bool(self._pending) and self._pending[0][0] <= self._clock()

    def _begin(self, index: int) -> None:
        event, began = self._events[index], self._clock()
        self._strikes[index] = ()
        self._windows[index] = round(began * 1e9), None
        proof, error = Proof(False), None
        nodes: tuple[int, ...] = ()
        applied: int | None = None
        try:
            nodes = self._resolve(event)
            context = FaultContext(
                event=event.id,
                target=event.target,
                nodes=nodes,
                cluster=self._cluster,
                clients=self._clients,
                network=self._network,
                processes=self._processes,
                desired=self._desired,
                topic=self._topic,
                lasting=event.lasting,
                random=event.random(self._seed, "how"),
                until=self._until,
                leisure=self._leisure,
            )
            parts: tuple[FaultContext, ...] = (context,)
            if not event.fault.together and len(nodes) > 1:
                parts = tuple(replace(context, nodes=(node,), notes={}) for node in nodes)
            self._strikes[index] = parts
            _of_each(parts, event.fault.inject)
            applied = self._now()
            proof = _joined(parts, _of_each(parts, event.fault.verify_injected))
            proof = Proof(proof.effective, {"applied": applied, **proof.evidence})
        except Unresolved as problem:
            proof = Proof(False, {"unresolved": str(problem)})
        except Exception as problem:
            error = _describe(problem)
        self._windows[index] = round(began * 1e9), applied if proof.effective else None
        self._write(event, "inject", nodes, proof, invoked=round(began * 1e9), error=error)
        if not self._strikes[index] or event.fault.momentary:
            self._end(index)
            return
        heal = began + event.lasting
        heapq.heappush(self._pending, (heal, _HEAL, index))
        self._pulse(index, began)

    def _pulse(self, index: int, last: float) -> None:
        event = self._events[index]
        if (
            event.fault.pulse is not None
            and (due := last + event.fault.pulse) < self._windows[index][0] / 1e9 + event.lasting
        ):
            heapq.heappush(self._pending, (due, _BEAT, index))

    def _beat(self, index: int) -> None:
        if index in self._finished:
            return  # due at the very time of the heal, but for a rounding: it would undo what that put back
        began = self._clock()
        try:
            _of_each(self._strikes[index], self._events[index].fault.beat)
        except Exception as problem:  # one of many; what it leaves shows at the end
            _describe(problem)
        self._pulse(index, max(began, self._clock() - (self._events[index].fault.pulse or 0)))

    def _end(self, index: int) -> None:
        if index in self._finished:
            return
        event, began = self._events[index], self._now()
        parts = self._strikes.get(index, ())
        if not parts:
            self._finished.add(index)
        if index not in self._strikes:
            proof = Proof(False, {"skipped": "the run was stopped before its time"})
            self._write(event, "inject", (), proof, invoked=began)
        if not parts:
            proof = Proof(True, {"nothing": "there was nothing to heal"})
            self._write(event, "heal", (), proof, invoked=began)
            return
        error, lifted = None, None
        try:
            self._lift(index)
            lifted = self._now()
            proof = _joined(parts, _of_each(parts, event.fault.verify_healed))
            proof = Proof(proof.effective, {"lifted": lifted, **proof.evidence})
        except Exception as problem:
            proof, error = Proof(False), _describe(problem)
        self._finished.add(index)  # an interrupt before this line has it healed once more
        nodes = tuple(node for part in parts for node in part.nodes)
        window = self._window(index, began, early=_ended_early(proof))
        self._write(event, "heal", nodes, proof, invoked=began, error=error, window=window)

    def _lift(self, index: int) -> None:
        """Heal what of it has not been healed yet."""
        fault = self._events[index].fault

        def heal(part: FaultContext) -> None:
            fault.heal(part)
            part.healed = True

        _of_each(tuple(part for part in self._strikes[index] if not part.healed), heal)

    def _window(self, index: int, ended: int, *, early: bool) -> dict[str, list[int]]:
        """When the fault was at work, in ns: surely, and possibly. Possibly is up to the end of this very heal.

        early  it had ended before its heal, nobody knows when.
        """
        possibly, surely = self._windows[index]
        window = {"possibly": [possibly, self._now()]}
        if surely is not None and surely <= ended and not early:
            window["surely"] = [surely, ended]
        return window

    def _heal_rest(self) -> None:
        """Heal whatever a failed heal may have left, and look whether it is gone. What is left is an event."""
        began, problems = self._now(), []
        for heal_all in (self._network.heal_all, self._desired.heal_all, self._processes.heal_all):
            try:
                heal_all()
            except Exception as problem:
                problems.append(_describe(problem))
        # Heals that failed get another chance, now that nothing else is in their way.
        for index in self._strikes:
            try:
                self._lift(index)
            except Exception as problem:
                problems.append(f"{self._events[index].id}: {_describe(problem)}")
        problems += self._left()
        if problems:
            value = {
                "event": "heal-all",
                "stage": "heal",
                "target": "all",
                "nodes": sorted(self._cluster.nodes),
            }
            self._record(
                {
                    "f": "heal-all",
                    "type": "info",
                    "invoked": began,
                    "completed": self._now(),
                    "value": {**value, "effective": False, "evidence": {}},
                    "error": "; ".join(problems),
                }
            )

    def _left(self) -> list[str]:
        """What is still there of any fault, found out and not remembered."""
        try:
            rules = self._network.dropped(tuple(self._cluster.nodes))
            left = [f"node {rule.receiver} still drops packets of node {rule.sender}" for rule in rules]
            left += self._desired.left()
            for node in self._processes.touched:
                if node in self._cluster.nodes and (state := self._cluster.nodes[node].state()) != "running":
                    left.append(f"node {node} is {state}")
        except Exception as problem:
            return [f"what is left could not be found out: {_describe(problem)}"]
        return left

    def _resolve(self, event: Event) -> tuple[int, ...]:
        target = event.target
        if isinstance(target, Groups):
            return target.nodes
        found: list[tuple[int, ...]] = []
        reasons = ["never looked"]

        def known() -> bool:
            try:
                rng = event.random(self._seed, "target")
                roles = self._clients.roles()
                found.append(resolve(target, self._cluster, topic=self._topic, rng=rng, clients=roles))
            except Unresolved as problem:
                reasons.append(str(problem))
            return bool(found)

        if not self._until(known, RESOLVE_LIMIT):
            raise Unresolved(
                f"{target}: {reasons[-1]}, for {RESOLVE_LIMIT:.0f} s or until the run was stopped"
            )
        return found[0]

    def _write(
        self,
        event: Event,
        stage: Stage,
        nodes: tuple[int, ...],
        proof: Proof,
        *,
        invoked: int,
        error: str | None = None,
        window: Mapping[str, Any] | None = None,
    ) -> None:
        clients = event.fault.strikes == "clients"
        value: dict[str, Any] = {
            "event": event.id,
            "stage": stage,
            "target": event.target.to_json(),
            "nodes": [] if clients else list(nodes),
            "effective": proof.effective,
            "evidence": dict(proof.evidence),
        }
        if clients:
            value["processes"] = list(nodes)
        if window is not None:
            value["active"] = dict(window)
        row = {"f": event.fault.name, "type": "info", "invoked": invoked, "completed": self._now()}
        self._record({**row, "value": value, "error": error})

    def _until(self, condition: Callable[[], bool], limit: float) -> bool:
        def answered() -> bool:
            try:
                return condition()
            except OSError as problem:  # nobody answers, for now
                log.info("not answered: %r", problem)
                return False

        return until(
            answered, limit=limit, clock=self._clock, sleep=self._stop.wait, abandon=self._stop.is_set
        )

    def _leisure(self) -> float:
        if self._waiting:
            self._come()
        return self._pending[0][0] - self._clock() if self._pending else float("inf")

    def _now(self) -> int:
        return round(self._clock() * 1e9)


def _of_each(parts: tuple[FaultContext, ...], step: Callable[[FaultContext], T]) -> list[T]:
    """Take a step for all parts at the same time. Raises what it raised, after all have ended."""
    if len(parts) < 2:
        return [step(part) for part in parts]
    with ThreadPoolExecutor(max_workers=len(parts)) as pool:
        futures = [pool.submit(step, part) for part in parts]
    problems = [problem for future in futures if isinstance(problem := future.exception(), Exception)]
    if problems:
        raise problems[0] if len(problems) == 1 else ExceptionGroup("several nodes failed", problems)
    return [future.result() for future in futures]


def _joined(parts: tuple[FaultContext, ...], proofs: list[Proof]) -> Proof:
    """One proof for all: effective where each is. What was seen stands by node."""
    for part, proof in zip(parts, proofs, strict=True):
        part.effective = proof.effective
    if len(proofs) == 1:
        return proofs[0]
    seen = {str(part.node): dict(proof.evidence) for part, proof in zip(parts, proofs, strict=True)}
    return Proof(all(proof.effective for proof in proofs), {"by_node": seen})


def _ended_early(proof: Proof) -> bool:
    by_node = proof.evidence.get("by_node")
    seen = by_node.values() if isinstance(by_node, Mapping) else (proof.evidence,)
    return any("ended_early" in each for each in seen)


def _describe(problem: Exception) -> str:
    log.warning("an action of the nemesis failed", exc_info=problem)
    return f"{type(problem).__name__}: {problem}"
