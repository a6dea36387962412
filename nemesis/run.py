"""Carry out a schedule: every fault is injected, verified, healed, verified again, and recorded."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from nemesis.cluster import Clients, Cluster
from nemesis.cluster_faults import ClusterFaults
from nemesis.event_run import EventRun, Stage, action_row, describe, explaining, heal_all_row
from nemesis.fault import FaultContext, Proof
from nemesis.no_clients import NoClients
from nemesis.resolution import Found, TargetSearch, Unresolved
from nemesis.run_clock import RunClock
from nemesis.schedule import Schedule, may_block_the_same, may_restore_the_same
from nemesis.serving_watch import WATCHED, ServingWatch, not_observed
from nemesis.targets import named
from nemesis.tasks import Start, Task, in_thread
from nemesis.topology import Aliases
from nemesis.triggers import Trigger
from nemesis.views import NeverComes, QuickView
from nemesis.watch import Watch

log = logging.getLogger(__name__)

LOOKS_AHEAD = (0.7, 0.35)
"""Seconds before the injection at which the brokers are asked about its target: first to open the connections, and so
that no later look waits for a silent broker; then for the answer, so that the injection waits for no broker at all.
While the load begins, an answer takes up to 0.3 s."""

ANSWER_AGE = 0.5
"""Seconds for which that answer counts. An injection that waits longer than that for its turn asks again."""

HEAL_FIRST = 0.1
"""Seconds for which an injection waits for a heal that is due at the same time."""

PROOF_STEP = 0.02
"""Seconds between two looks at whether a proof has ended."""

PROOF_END = 0.05
"""Seconds after the heal is due in which a proof that ends its waits then may still return its evidence."""

FIRST_LOOK = 0.4
"""Seconds that a proof gets at least, also where the injection took so long that the heal is due already."""

STOPPED = "the run was stopped before its time"

Record = Callable[[Mapping[str, Any]], None]


class Nemesis:
    """Carries out one schedule, once. Each event has a task of its own, which waits for its time, acts and verifies.

    So nothing that one event waits for delays another one: neither a proof, nor a broker that does not answer.

    topic    the workload's main topic, for targets that name none.
    seed     of all random choices.
    record   called with a row of ``operations`` after each action: keys f, type, invoked, completed (ns of `clock`),
             value, error; never by two tasks at once. An exception that it raises is the only one that leaves `run`.
    clients  the workload's client processes.
    aliases  short names, as targets and triggers have them, with those that the brokers know.
    clock    monotonic seconds.
    start    starts a task.
    faults   what it shares with other schedules on the cluster at the same time; None for none. It counts among them
             from now on until `run` returns.
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
        aliases: Aliases | None = None,
        clock: Callable[[], float] = time.monotonic,
        start: Start = in_thread,
        faults: ClusterFaults | None = None,
    ) -> None:
        self._clock = RunClock(clock)
        self._runs = [EventRun(event, self._clock.now, start) for event in schedule.events]
        self._cluster = cluster
        self._clients = clients or NoClients()
        self._topic = topic
        self._aliases = aliases or Aliases()
        self._seed = seed
        self._record = record
        self._start = start
        self._targets = TargetSearch(
            cluster, self._clients, self._clock, topic=topic, aliases=self._aliases, seed=seed
        )
        self._faults = faults or ClusterFaults(cluster.nodes)
        self._faults.join(self._runs)
        self._recording = threading.Lock()

    def run(self, stop: threading.Event) -> None:
        """Work through the schedule. Return when every fault is healed, or its failed heal is recorded.

        stop  set by others: heal at once. Events that have not begun are recorded as without effect.

        An event begins and is healed at its time whatever other events wait for, apart from three exceptions: it
        waits for the heal of an event that restores the same object, or that blocks the same kind of process until
        then; and an injection waits up to `HEAL_FIRST` seconds for other heals that are due by then. An action that
        fails is recorded, and the run continues.
        """
        self._clock.begin(stop)
        tasks: list[Task[None]] = []
        for run in self._runs:
            if run.event.after is None:
                run.planned = self._clock.began + run.event.at
        try:
            for run in sorted(self._runs, key=lambda run: 0.0 if run.event.after else run.event.at):
                if run.event.after is None:
                    self._clock.wait(self._clock.began + run.event.at - WATCHED)
                tasks.append(self._start(partial(self._attempt, run), f"nemesis-{run.event.id}"))
        except BaseException as problem:
            self._clock.fail(problem)
        for task in tasks:
            task.result()
        for run in self._runs:  # those whose task was not started, and whose heal was interrupted
            self._end(run)
        self._heal_rest()
        self._clock.raise_first()

    def finish(self) -> None:
        """Heal each fault now, as if its time were over, and inject no other. Heals are still verified; `run` then
        returns."""
        self._clock.finish()
        for run in self._runs:
            if run.due is not None:
                run.due = min(run.due, self._clock.seconds())

    def _attempt(self, run: EventRun) -> None:
        """One event from its time to its heal. A problem ends all events."""
        try:
            if run.event.fault.strikes_serving:
                run.serving = ServingWatch(self._cluster, self._clock, self._start, run.event.id)
            self._carry_out(run)
        except BaseException as problem:  # a row that could not be recorded, or an interrupt
            self._clock.fail(problem)
        self._end(run)
        if run.serving is not None:
            run.serving.close()

    def _end(self, run: EventRun) -> None:
        try:
            self._heal(run)
        except BaseException as problem:
            self._clock.fail(problem)

    def _carry_out(self, run: EventRun) -> None:
        if run.event.after is None:
            self._begin(run, None)
        else:
            for trigger in run.event.after.in_turn():
                watch = trigger.named(self._aliases).watch(
                    self._cluster, self._clients, topic=self._topic, pause=self._clock.pause
                )
                with closing(watch):
                    while (came := self._plan(run, trigger, watch)) and not self._begin(run, watch):
                        pass
                if came or run.began is not None:  # it began, or was given up
                    break
        if run.due is not None:
            self._hold(run, run.due)

    def _plan(self, run: EventRun, trigger: Trigger, watch: Watch) -> bool:
        """Wait for the trigger. Whether it came; that it did not is recorded."""
        try:
            came = self._await_trigger(trigger, watch)
        except NeverComes as problem:
            self._give_up(run, f"{trigger.moment} never comes: {problem}", watch)
            return False
        if came is None and not self._clock.is_ending:
            reason = f"{trigger.moment} did not come within {trigger.limit:g} s"
            if not trigger.or_without:
                self._give_up(run, reason, watch)
            else:
                run.without = f"{reason}; the fault comes without it"
        if came is None and (self._clock.is_ending or not trigger.comes_then):
            return False
        run.planned = (self._clock.seconds() if came is None else came) + run.event.at
        if came is None or run.event.at:
            watch.release()
        return True

    def _begin(self, run: EventRun, watch: Watch | None) -> bool:
        """Inject when it is time. False where the moment that was met was over by then: the next one counts."""
        event = run.event
        assert run.planned is not None
        with closing(self._cluster.quick()) as view:
            looked, found = -math.inf, None
            for ahead in LOOKS_AHEAD:
                if not self._clock.wait(run.planned - ahead):
                    return True
                if looked < run.planned - ANSWER_AGE:  # not where a trigger came this late
                    looked, found = self._clock.seconds(), self._targets.look(event, view)
            if not self._clock.wait(run.planned) or not self._await_turn(run):
                return True
            if watch is not None and watch.is_over:
                watch.release()
                run.planned = run.began = None
                return False
            self._inject(run, view, found if self._clock.seconds() - looked <= ANSWER_AGE else None, watch)
        return True

    def _await_trigger(self, trigger: Trigger, watch: Watch) -> float | None:
        """When it came; None if it did not in time, or if the run was stopped. Raises NeverComes."""
        clock = self._clock
        begin = clock.began + trigger.begin
        clock.wait(begin)
        while not clock.is_ending and clock.seconds() - begin <= trigger.limit:
            try:
                if watch.has_come():
                    return clock.seconds()
            except NeverComes:
                raise
            except Exception as problem:  # requests may stay unanswered while faults are at work
                log.info("whether %s: %r", trigger, problem)
            clock.wait(clock.seconds() + watch.interval)
        return None

    def _await_turn(self, run: EventRun) -> bool:
        """Wait for the heals that must come first. False if the run was stopped meanwhile."""
        while not self._clock.is_ending:
            with self._faults.beginning:
                if not any(self._must_wait(run, other) for other in self._faults.runs):
                    run.began = self._clock.now()
                    return True
            self._clock.pause(HEAL_FIRST / 10)
        return False

    def _must_wait(self, run: EventRun, other: EventRun) -> bool:
        if other is run or other.planned is None or other.is_finished:
            return False
        assert run.planned is not None
        if may_restore_the_same(run.event, other.event, self._aliases.short_topic(self._topic)):
            # It should be healed by now, but it began late. Of two that wait, the earlier one goes first.
            return other.began is not None or (other.planned, other.event.id) < (run.planned, run.event.id)
        if other.due is None or other.due > run.planned or other.is_lifted:
            return False
        return may_block_the_same(run.event, other.event) or self._clock.seconds() < run.planned + HEAL_FIRST

    def _inject(self, run: EventRun, view: QuickView, found: Found | None, watch: Watch | None) -> None:
        """found: the target, where it is known. watch: of its trigger."""
        assert run.began is not None
        event = run.event
        nodes: tuple[int, ...] = ()
        proof, error = Proof(False), None
        try:
            nodes, peers = found or self._targets.find(event, view)
            run.began = self._clock.now()
            if not event.fault.momentary:
                run.due = run.began / 1e9 + (0 if self._clock.is_finishing else event.lasting)
            if run.serving is not None:
                run.serving.end()
            run.inject(self._context(run, nodes, peers))
            if watch is not None:
                watch.release()
            proof = self._prove(run)
            if watch is not None and watch.met is not None:
                proof = replace(proof, evidence={**proof.evidence, "met": watch.met})
            if run.without:
                proof = replace(proof, evidence={**proof.evidence, "trigger": run.without})
        except Unresolved as problem:
            proof = Proof(False, {"unresolved": str(problem)})
        except Exception as problem:
            error = describe(problem)
        self._write(run, "inject", nodes, proof, invoked=run.began, planned=run.planned, error=error)

    def _prove(self, run: EventRun) -> Proof:
        """A request to a silent broker may outlast the fault. The heal does not wait for it."""
        clock = self._clock
        earliest = clock.seconds() + FIRST_LOOK
        task = self._start(run.verify_injected, f"nemesis-{run.event.id}-proof")
        while not task.done() and not (run.due is None and clock.is_stopped):
            if run.due is not None and (
                clock.is_stopped or clock.seconds() >= max(run.due + PROOF_END, earliest)
            ):
                run.is_cut_short = True
                return Proof(
                    False, {"proof": "it had not ended when the heal was due, or when the run was stopped"}
                )
            clock.pause(PROOF_STEP)
        return task.result()

    def _hold(self, run: EventRun, due: float) -> None:
        """Wait for the time of the heal, and repeat what the fault repeats."""
        interval = run.event.fault.repeat_every
        if interval is not None and run.began is not None:
            following = run.began / 1e9 + interval
            while following < due and self._clock.wait(following):
                run.repeat()
                following = max(following + interval, self._clock.seconds())
        self._clock.wait(due)

    def _context(self, run: EventRun, nodes: tuple[int, ...], peers: tuple[int, ...]) -> FaultContext:
        event = run.event
        return FaultContext(
            event=event.id,
            target=named(event.target, self._aliases),
            node_ids=nodes,
            peer_ids=peers,
            cluster=self._cluster,
            clients=self._clients,
            network=self._faults.effects.network,
            processes=self._faults.effects.processes,
            resources=self._faults.effects.resources,
            topic=self._topic,
            lasting=event.lasting,
            random=event.random(self._seed, "how"),
            wait_until=partial(self._wait_until, run=run),
            explaining=lambda node: explaining(self._faults.runs, run, node, self._clock.seconds()),
            served=run.serving.served if run.serving is not None else not_observed,
        )

    def _heal(self, run: EventRun) -> None:
        if run.is_finished:
            return
        began, run.is_healing = self._clock.now(), True
        if not run.contexts:
            run.finish()
            if run.began is None:
                self._write(run, "inject", (), Proof(False, {"skipped": STOPPED}), invoked=began)
            proof = Proof(True, {"nothing": "there was nothing to heal"})
            self._write(run, "heal", (), proof, invoked=began)
            return
        outcome = run.heal()
        run.finish()  # an interrupt before this line causes another heal
        window = run.window(began, outcome.proof)
        is_in_time = run.due is not None and began >= run.due * 1e9  # not where the run was stopped before
        self._write(
            run,
            "heal",
            run.nodes,
            outcome.proof,
            invoked=began,
            planned=run.due if is_in_time else None,
            error=outcome.error,
            window=window,
        )

    def _give_up(self, run: EventRun, reason: str, watch: Watch) -> None:
        """Record an event whose trigger did not come."""
        run.began = self._clock.now()
        evidence = {"trigger": reason, "seen_instead": watch.seen}
        self._write(run, "inject", (), Proof(False, evidence), invoked=run.began)

    def _heal_rest(self) -> None:
        """What is left of faults is recorded as an event."""
        began = self._clock.now()
        if problems := self._faults.leave(self._runs):
            row = heal_all_row(self._cluster.nodes, problems, invoked=began, completed=self._clock.now())
            self._record(row)

    def _write(
        self,
        run: EventRun,
        stage: Stage,
        nodes: tuple[int, ...],
        proof: Proof,
        *,
        invoked: int,
        planned: float | None = None,
        error: str | None = None,
        window: Mapping[str, Any] | None = None,
    ) -> None:
        row = action_row(
            run.event,
            stage,
            nodes,
            proof,
            invoked=invoked,
            completed=self._clock.now(),
            planned=None if planned is None else round(planned * 1e9),
            error=error,
            window=window,
        )
        with self._recording:
            self._record(row)

    def _wait_until(self, condition: Callable[[], bool], limit: float, run: EventRun) -> bool:
        """A wait for a proof ends when the heal is due."""
        if run.due is not None and not run.is_healing:
            limit = min(limit, run.due - self._clock.seconds())
        return self._clock.wait_until(condition, limit)
