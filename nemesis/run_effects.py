"""What faults left behind at the end of a schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nemesis.cluster import Node
from nemesis.effects.network import Network
from nemesis.effects.processes import Processes
from nemesis.effects.reconciler import Reconciler
from nemesis.event_run import EventRun, describe


class Effects:
    """All that faults have asked of the nodes."""

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self.network = Network(nodes)
        self.processes = Processes(nodes)
        self.resources = Reconciler(nodes)
        self._nodes = nodes

    def heal_rest(self, runs: Iterable[EventRun], *, is_last: bool = True) -> list[str]:
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
