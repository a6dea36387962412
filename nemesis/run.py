"""Carrying out a schedule: every fault injected, verified, healed, verified again, and recorded."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from nemesis.cluster import Cluster
from nemesis.faults.fault import Proof, Strike
from nemesis.network import Network
from nemesis.processes import Processes
from nemesis.schedule import Event, Schedule
from nemesis.targets import Groups, Unresolved, resolve
from nemesis.wait import until

log = logging.getLogger(__name__)

RESOLVE_LIMIT = 5.0
"""Seconds in which a target must become known, such as the leader of a partition that elects one."""

Stage = Literal["inject", "heal"]
Record = Callable[[Mapping[str, Any]], None]

_HEAL, _INJECT = 0, 1  # in this order when both are due at once


class Nemesis:
    """Runs once, in one thread.

    topic   the workload's own, for targets that name none.
    seed    of all random choices.
    record  gets a row of ``operations`` for each action when it is done: keys f, type, invoked, completed
            (ns of `clock`), value, error. An exception of its is the only one that leaves `run`.
    clock   monotonic seconds.
    """

    def __init__(
        self,
        schedule: Schedule,
        cluster: Cluster,
        *,
        topic: str,
        seed: int,
        record: Record,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events = schedule.events
        self._cluster = cluster
        self._topic = topic
        self._seed = seed
        self._record = record
        self._clock = clock
        self._network = Network(cluster.nodes)
        self._processes = Processes(cluster.nodes)
        self._stop = threading.Event()
        self._pending: list[tuple[float, int, int]] = []
        self._strikes: dict[int, Strike | None] = {}
        self._finished: set[int] = set()

    def run(self, stop: threading.Event) -> None:
        """Work through the schedule; return when everything is healed, as verified or as recorded.

        stop  set from outside: heal at once. Events whose time had not come are recorded as without effect.

        A late action delays only what is due before it is done, and an event keeps its length. An action
        that fails is recorded, and the run goes on.
        """
        self._stop = stop
        start = self._clock()
        self._pending = [(start + event.at, _INJECT, index) for index, event in enumerate(self._events)]
        heapq.heapify(self._pending)
        try:
            while self._pending and self._sleep_until(self._pending[0][0]):
                _, action, index = heapq.heappop(self._pending)
                if action == _INJECT:
                    self._begin(index)
                else:
                    self._end(index)
        finally:
            self._pending.clear()
            try:
                for index in range(len(self._events)):
                    self._end(index)
            finally:
                self._heal_rest()

    def _begin(self, index: int) -> None:
        event, began = self._events[index], self._clock()
        self._strikes[index] = strike = None
        proof, error = Proof(False), None
        nodes: tuple[int, ...] = ()
        try:
            nodes = self._resolve(event)
            self._strikes[index] = strike = Strike(
                event=event.id,
                target=event.target,
                nodes=nodes,
                cluster=self._cluster,
                network=self._network,
                processes=self._processes,
                until=self._until,
                leisure=self._leisure,
            )
            event.fault.inject(strike)
            applied = self._now()
            proof = event.fault.verify_injected(strike)
            proof = Proof(proof.effective, {"applied": applied, **proof.evidence})
            strike.effective = proof.effective
        except Unresolved as problem:
            proof = Proof(False, {"unresolved": str(problem)})
        except Exception as problem:
            error = _describe(problem)
        self._write(event, "inject", nodes, proof, invoked=round(began * 1e9), error=error)
        if strike is None:
            self._end(index)
        else:
            heapq.heappush(self._pending, (began + event.lasting, _HEAL, index))

    def _end(self, index: int) -> None:
        if index in self._finished:
            return
        self._finished.add(index)
        event, began = self._events[index], self._now()
        if index not in self._strikes:
            proof = Proof(False, {"skipped": "the run was stopped before its time"})
            self._write(event, "inject", (), proof, invoked=began)
        strike = self._strikes.get(index)
        if strike is None:
            proof = Proof(True, {"nothing": "there was nothing to heal"})
            self._write(event, "heal", (), proof, invoked=began)
            return
        error = None
        try:
            event.fault.heal(strike)
            lifted = self._now()
            proof = event.fault.verify_healed(strike)
            proof = Proof(proof.effective, {"lifted": lifted, **proof.evidence})
        except Exception as problem:
            proof, error = Proof(False), _describe(problem)
        self._write(event, "heal", strike.nodes, proof, invoked=began, error=error)

    def _heal_rest(self) -> None:
        """Heal whatever a failed heal may have left. A failure here is recorded as an event of its own."""
        began, problems = self._now(), []
        for heal_all in (self._network.heal_all, self._processes.heal_all):
            try:
                heal_all()
            except Exception as problem:
                problems.append(_describe(problem))
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

    def _resolve(self, event: Event) -> tuple[int, ...]:
        target = event.target
        if isinstance(target, Groups):
            return target.nodes
        found: list[int] = []
        reasons = ["never looked"]

        def known() -> bool:
            try:
                found.append(resolve(target, self._cluster, topic=self._topic, rng=event.random(self._seed)))
            except Unresolved as problem:
                reasons.append(str(problem))
            return bool(found)

        if not self._until(known, RESOLVE_LIMIT):
            raise Unresolved(
                f"{target}: {reasons[-1]}, for {RESOLVE_LIMIT:.0f} s or until the run was stopped"
            )
        return (found[0],)

    def _write(
        self,
        event: Event,
        stage: Stage,
        nodes: tuple[int, ...],
        proof: Proof,
        *,
        invoked: int,
        error: str | None = None,
    ) -> None:
        value = {
            "event": event.id,
            "stage": stage,
            "target": event.target.to_json(),
            "nodes": list(nodes),
            "effective": proof.effective,
            "evidence": dict(proof.evidence),
        }
        row = {"f": event.fault.name, "type": "info", "invoked": invoked, "completed": self._now()}
        self._record({**row, "value": value, "error": error})

    def _until(self, condition: Callable[[], bool], limit: float) -> bool:
        return until(
            condition, limit=limit, clock=self._clock, sleep=self._stop.wait, abandon=self._stop.is_set
        )

    def _leisure(self) -> float:
        return self._pending[0][0] - self._clock() if self._pending else float("inf")

    def _sleep_until(self, due: float) -> bool:
        """False when the run was stopped."""
        while not self._stop.is_set() and (left := due - self._clock()) > 0:
            self._stop.wait(left)
        return not self._stop.is_set()

    def _now(self) -> int:
        return round(self._clock() * 1e9)


def _describe(problem: Exception) -> str:
    log.warning("an action of the nemesis failed", exc_info=problem)
    return f"{type(problem).__name__}: {problem}"
