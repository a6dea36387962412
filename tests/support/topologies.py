"""Clusters of all kinds, as known before they start, and a naive count of what schedules may break there."""

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
    """Naive on purpose: (nodes of that kind it surely takes, how many more it may take), told by hand."""
    brokers = nodes == topology.brokers
    combined = bool(set(topology.brokers) & set(topology.controllers))
    if not event.fault.takes_nodes_down or event.fault.target_family != "nodes":
        return set(), 0
    text = str(event.target)
    if "|" in text:
        groups = sorted((set(map(int, group.split(","))) for group in text.split("|")), key=len)
        return set().union(*groups[:-1]) & set(nodes), 0
    if text[0].isdigit():
        return set(map(int, text.split(","))) & set(nodes), 0
    here = brokers or combined  # brokers are of that kind
    size = len(topology.brokers)
    if event.fault.name == "rolling-restart":
        return set(), int(here)
    if text == "controller":
        if brokers:
            return set(), int(combined or not topology.controllers)
        return set(), int(bool(topology.controllers))
    if text == "controllers":
        return set(), len(topology.controllers) if not brokers or combined else 0
    word = text.split(":")[0]
    number = {"minority": (size - 1) // 2, "majority": size // 2 + 1, "all": size, "random": size}.get(
        word, 1
    )
    if word in ("isr", "out-of-sync"):
        number = topology.replicas - (word != "isr")
    return set(), number if here else 0


def down(schedule, topology, moment: float, nodes) -> int:
    """By a look at each event there is, with all nodes it may take."""
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
