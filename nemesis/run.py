"""Carry out a schedule: every fault is injected, verified, healed, verified again, and recorded."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from nemesis.agenda import Action, Agenda
from nemesis.cluster import Clients, Cluster
from nemesis.conflicts import may_restore_the_same
from nemesis.effects.network import Network
from nemesis.effects.processes import Processes
from nemesis.effects.reconciler import Reconciler
from nemesis.event import Event
from nemesis.event_run import EventRun, describe
from nemesis.fault_context import FaultContext, Proof
from nemesis.no_clients import NoClients
from nemesis.records import Stage, action_row, heal_all_row
from nemesis.resolution import Unresolved, resolve
from nemesis.schedule import Schedule
from nemesis.targets import Groups
from nemesis.triggers import TRIGGER_LIMIT
from nemesis.wait import wait_until

log = logging.getLogger(__name__)

RESOLVE_LIMIT = 5.0
"""Seconds in which a target must become known, such as the leader of a partition during an election."""

Record = Callable[[Mapping[str, Any]], None]


class Nemesis:
    """Carries out one schedule, once, in one thread. Faults of several nodes use more threads for their steps.

    topic    the workload's main topic, for targets that name none.
    seed     of all random choices.
    record   called with a row of ``operations`` after each action: keys f, type, invoked, completed (ns of `clock`),
             value, error. An exception that it raises is the only one that leaves `run`.
    clients  the workload's client processes.
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
        self._runs = [EventRun(event, self._now) for event in schedule.events]
        self._cluster = cluster
        self._clients = clients or NoClients()
        self._topic = topic
        self._seed = seed
        self._record = record
        self._clock = clock
        self._network = Network(cluster.nodes)
        self._processes = Processes(cluster.nodes)
        self._resources = Reconciler(cluster.nodes)
        self._stop = threading.Event()
        self._agenda = Agenda(clock, self._stop)
        # Events that wait for the heal of another one, by the position of that one.
        self._deferred: dict[int, list[int]] = {}

    def run(self, stop: threading.Event) -> None:
        """Work through the schedule. Return when every fault is healed, or its failed heal is recorded.

        stop  set by others: heal at once. Events that have not begun are recorded as without effect.

        A late action delays only actions that are due before it is done, and an event keeps its length. An event
        that restores the same object as another one also waits for the heal of that one. An action that fails is
        recorded, and the run continues.
        """
        self._stop = stop
        self._agenda = Agenda(self._clock, stop)
        for position, run in enumerate(self._runs):
            after = run.event.after
            has_come = after.watch(self._cluster, self._clients, topic=self._topic) if after else None
            self._agenda.add(run.event, position, has_come)
        actions = {Action.INJECT: self._inject, Action.REPEAT: self._repeat, Action.HEAL: self._heal}
        try:
            while self._agenda and not stop.is_set():
                for position in self._agenda.expired():
                    self._give_up(self._runs[position])
                if due := self._agenda.next():
                    action, position = due
                    actions[action](position)
        finally:
            self._agenda.clear()
            self._heal_everything()

    def _inject(self, position: int) -> None:
        if (other := self._must_wait_for(position)) is not None:
            self._deferred.setdefault(other, []).append(position)
            return
        run, began = self._runs[position], self._clock()
        run.began = round(began * 1e9)
        nodes: tuple[int, ...] = ()
        proof, error = Proof(False), None
        try:
            nodes = self._resolve(run.event)
            proof = run.inject(self._context(run.event, nodes))
        except Unresolved as problem:
            proof = Proof(False, {"unresolved": str(problem)})
        except Exception as problem:
            error = describe(problem)
        self._write(run.event, "inject", nodes, proof, invoked=run.began, error=error)
        if not run.contexts or run.event.fault.momentary:
            self._heal(position)
            return
        self._agenda.schedule(began + run.event.lasting, Action.HEAL, position)
        self._schedule_repeat(position, began)

    def _must_wait_for(self, position: int) -> int | None:
        """An event at work that restores the same object. It should be healed by now, but it began late."""
        event = self._runs[position].event
        for other, run in enumerate(self._runs):
            is_at_work = run.began is not None and not run.is_finished
            if is_at_work and may_restore_the_same(event, run.event, self._topic):
                return other
        return None

    def _context(self, event: Event, nodes: tuple[int, ...]) -> FaultContext:
        return FaultContext(
            event=event.id,
            target=event.target,
            node_ids=nodes,
            cluster=self._cluster,
            clients=self._clients,
            network=self._network,
            processes=self._processes,
            resources=self._resources,
            topic=self._topic,
            lasting=event.lasting,
            random=event.random(self._seed, "how"),
            wait_until=self._wait_until,
            seconds_to_next_action=self._agenda.seconds_to_next_action,
        )

    def _schedule_repeat(self, position: int, last: float) -> None:
        run = self._runs[position]
        interval, began = run.event.fault.repeat_every, run.began
        assert began is not None
        if interval is not None and last + interval < began / 1e9 + run.event.lasting:
            self._agenda.schedule(last + interval, Action.REPEAT, position)

    def _repeat(self, position: int) -> None:
        run = self._runs[position]
        if run.is_finished:
            # It was due at the time of the heal, apart from a rounding error. It would undo what the heal restored.
            return
        began = self._clock()
        run.repeat()
        self._schedule_repeat(position, max(began, self._clock() - (run.event.fault.repeat_every or 0)))

    def _heal(self, position: int) -> None:
        run = self._runs[position]
        if run.is_finished:
            return
        began = self._now()
        if not run.contexts:
            run.is_finished = True
            if run.began is None:
                proof = Proof(False, {"skipped": "the run was stopped before its time"})
                self._write(run.event, "inject", (), proof, invoked=began)
            proof = Proof(True, {"nothing": "there was nothing to heal"})
            self._write(run.event, "heal", (), proof, invoked=began)
            return
        outcome = run.heal()
        run.is_finished = True  # an interrupt before this line causes another heal
        for deferred in self._deferred.pop(position, ()):
            self._agenda.schedule(self._clock(), Action.INJECT, deferred)
        window = run.window(began, outcome.proof)
        self._write(
            run.event, "heal", run.nodes, outcome.proof, invoked=began, error=outcome.error, window=window
        )

    def _give_up(self, run: EventRun) -> None:
        """Record an event whose trigger did not come."""
        run.began = self._now()
        reason = f"{run.event.after} did not come within {TRIGGER_LIMIT:.0f} s"
        self._write(run.event, "inject", (), Proof(False, {"trigger": reason}), invoked=run.began)
        self._heal(self._runs.index(run))

    def _heal_everything(self) -> None:
        """At the end: heal every event, then whatever a failed heal left. Raises the first problem of `record`."""
        problems: list[BaseException] = []
        try:
            for position in range(len(self._runs)):
                try:
                    self._heal(position)
                except (
                    Exception
                ) as problem:  # it could not be recorded; the others must be healed nevertheless
                    problems.append(problem)
        finally:
            self._heal_rest()
        if problems:
            raise problems[0]

    def _heal_rest(self) -> None:
        """Withdraw all wishes, repeat failed heals, and look at the nodes. What is left is recorded as an event."""
        began, problems = self._now(), []
        for heal_all in (self._network.heal_all, self._resources.heal_all, self._processes.heal_all):
            try:
                heal_all()
            except Exception as problem:
                problems.append(describe(problem))
        # A heal that failed may succeed now, because no other fault is at work.
        for run in self._runs:
            try:
                run.undo()
            except Exception as problem:
                problems.append(f"{run.event.id}: {describe(problem)}")
        problems += self._remains()
        if problems:
            row = heal_all_row(self._cluster.nodes, problems, invoked=began, completed=self._now())
            self._record(row)

    def _remains(self) -> list[str]:
        """What a look at the nodes finds of any fault."""
        try:
            rules = self._network.dropped(tuple(self._cluster.nodes))
            found = [f"node {rule.receiver} still drops packets of node {rule.sender}" for rule in rules]
            found += self._resources.remains()
            for node in self._processes.touched:
                if node in self._cluster.nodes and (state := self._cluster.nodes[node].state()) != "running":
                    found.append(f"node {node} is {state}")
        except Exception as problem:
            return [f"what faults left behind could not be examined: {describe(problem)}"]
        return found

    def _resolve(self, event: Event) -> tuple[int, ...]:
        target = event.target
        if isinstance(target, Groups):
            return target.nodes
        found: list[tuple[int, ...]] = []
        reasons = ["the run was stopped before the first attempt"]

        def is_known() -> bool:
            try:
                rng = event.random(self._seed, "target")
                roles = self._clients.roles()
                found.append(resolve(target, self._cluster, topic=self._topic, rng=rng, clients=roles))
            except Unresolved as problem:
                reasons.append(str(problem))
            return bool(found)

        if not self._wait_until(is_known, RESOLVE_LIMIT):
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
        completed = self._now()
        self._record(
            action_row(
                event, stage, nodes, proof, invoked=invoked, completed=completed, error=error, window=window
            )
        )

    def _wait_until(self, condition: Callable[[], bool], limit: float) -> bool:
        def is_true() -> bool:
            try:
                return condition()
            except OSError as problem:  # no broker answers at this moment
                log.info("not answered: %r", problem)
                return False

        return wait_until(
            is_true, limit=limit, clock=self._clock, sleep=self._stop.wait, abandon=self._stop.is_set
        )

    def _now(self) -> int:
        return round(self._clock() * 1e9)
