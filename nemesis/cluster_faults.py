"""The faults on one cluster, of all schedules that are carried out there at the same time, and what they leave."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

from nemesis.cluster import Node
from nemesis.effects.network import Network
from nemesis.effects.processes import Processes
from nemesis.effects.reconciler import Reconciler
from nemesis.event import Event
from nemesis.event_run import EventRun, describe


class ClusterFaults:
    """What the schedules share, so that none undoes at its end what another one still wants. Safe for use by several
    threads.

    effects    what all faults ask of the nodes.
    beginning  lock; an event holds it while it checks whether it has to wait for another one.
    """

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self.effects = Effects(nodes)
        self.beginning = threading.Lock()
        self._runs: list[EventRun] = []
        self._schedules = 0
        self._joining = threading.Lock()

    @property
    def runs(self) -> Sequence[EventRun]:
        """The events of all schedules, also of those that have ended."""
        return tuple(self._runs)

    @property
    def is_idle(self) -> bool:
        """Whether no schedule is at work."""
        return not self._schedules

    def ahead(self, now: float) -> list[Event]:
        """The events that have not ended, with times from now on. now: seconds of the schedules' clock."""
        return [event for run in self.runs if (event := run.ahead(now)) is not None]

    def join(self, runs: Sequence[EventRun]) -> None:
        """A schedule with these events begins."""
        with self._joining:
            self._runs += runs
            self._schedules += 1

    def leave(self, runs: Sequence[EventRun]) -> list[str]:
        """A schedule with these events has ended. The last one also withdraws all that is left of any.

        Returns what failed and what is left.
        """
        with self._joining:  # a schedule that begins now waits, so that its faults are not withdrawn
            is_last = self._schedules == 1
            try:
                return self.effects.heal_rest(self._runs if is_last else runs, is_last=is_last)
            finally:
                self._schedules -= 1


class Effects:
    """All that faults have asked of the nodes."""

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self.network = Network(nodes)
        self.processes = Processes(nodes)
        self.resources = Reconciler(nodes)
        self._nodes = nodes

    def heal_rest(self, runs: Iterable[EventRun], *, is_last: bool) -> list[str]:
        """Repeat failed heals of these events, and look at the nodes. Returns what failed and what is left.

        is_last  no other fault is at work: withdraw all wishes first.
        """
        problems = []
        if is_last:
            for heal_all in (self.network.heal_all, self.resources.heal_all, self.processes.heal_all):
                try:
                    heal_all()
                except Exception as problem:
                    problems.append(describe(problem))
        # A heal that failed may succeed now, because fewer faults are at work.
        for run in runs:
            try:
                run.undo()
            except Exception as problem:
                problems.append(f"{run.event.id}: {describe(problem)}")
        return problems + self._remains()

    def _remains(self) -> list[str]:
        """What a look at the nodes finds that no fault wants."""
        try:
            rules = sorted(self.network.unwanted(tuple(self._nodes)), key=str)
            found = [f"node {rule.receiver} still drops packets of node {rule.sender}" for rule in rules]
            found += self.resources.remains()
            for node in self.processes.touched:
                if node not in self._nodes or self.processes.wanted(node) != "running":
                    continue
                if (state := self._nodes[node].state()) != "running":
                    found.append(f"node {node} is {state}")
        except Exception as problem:
            return [f"what faults left behind could not be examined: {describe(problem)}"]
        return found
