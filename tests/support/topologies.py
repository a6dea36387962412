"""Topologies of all kinds, and a naive count of the nodes that schedules may take down there."""

from __future__ import annotations

from typing import Any

from nemesis.budget import RESTARTING
from nemesis.topology import Topology

WORKLOAD: dict[str, Any] = {
    "topics": {"log": 3},
    "clients": {"producer": 2, "reader": 1, "session": 1},
    "disks": True,
}

TOPOLOGIES = {
    "one": Topology(brokers=(1,), controllers=(1,), **WORKLOAD),
    "three": Topology(brokers=(1, 2, 3), controllers=(1, 2, 3), replicas=3, **WORKLOAD),
    "five": Topology(brokers=(1, 2, 3, 4, 5), controllers=(1, 2, 3, 4, 5), replicas=3, **WORKLOAD),
    "apart": Topology(brokers=(1, 2, 3), controllers=(101, 102, 103), replicas=3, **WORKLOAD),
    "zookeeper": Topology(brokers=(1, 2, 3), zookeepers=(101, 102, 103), replicas=3, **WORKLOAD),
}


def most_down(event: Any, topology: Topology, nodes: tuple[int, ...]) -> tuple[set[int], int]:
    """(nodes of that kind that the event surely takes down, how many more it may take down); naive on purpose."""
    if not event.fault.takes_nodes_down or event.fault.target_family != "nodes":
        return set(), 0
    ids, more = _target(str(event.target), topology, nodes)
    return (set(), min(len(ids) + more, 1)) if event.fault.name == "rolling-restart" else (ids, more)


def _target(text: str, topology: Topology, nodes: tuple[int, ...]) -> tuple[set[int], int]:
    are_brokers = nodes == topology.brokers
    are_combined = bool(set(topology.brokers) & set(topology.controllers))
    if "|" in text:
        groups = sorted((set(map(int, group.split(","))) for group in text.split("|")), key=len)
        return set().union(*groups[:-1]) & set(nodes), 0
    if text[0].isdigit():
        return set(map(int, text.split(","))) & set(nodes), 0
    if text == "controller":
        if are_brokers:
            return set(), int(are_combined or not topology.controllers)
        return set(), int(bool(topology.controllers))
    if text == "controllers":
        return set(), len(topology.controllers) if not are_brokers or are_combined else 0
    size, word = len(topology.brokers), text.split(":")[0]
    number = {"minority": (size - 1) // 2, "majority": size // 2 + 1, "all": size, "random": size}.get(
        word, 1
    )
    if word in ("isr", "out-of-sync"):
        number = topology.replicas - (word != "isr")
    return set(), number if are_brokers or are_combined else 0


def down(schedule, topology, moment: float, nodes) -> int:
    """The largest number of nodes that are down at a moment, by examining every event."""
    named: set[int] = set()
    others = 0
    for event in schedule.events:
        end = event.at + event.lasting
        if event.fault.name == "restart":
            end += RESTARTING
        if event.fault.name == "rolling-restart":
            size = len(topology.brokers)
            end += RESTARTING * {"all": size, "minority": (size - 1) // 2}.get(str(event.target), 1)
        if event.after is not None or event.at <= moment < end:
            ids, more = most_down(event, topology, nodes)
            named |= ids
            others += more
    return len(named) + others
