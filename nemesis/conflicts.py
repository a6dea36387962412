"""Events that interfere with each other, so that a schedule with both of them is refused."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.targets import Groups, Target
from nemesis.topology import Topology


def conflict(event: Event, other: Event, topology: Topology) -> str | None:
    """Why the two events interfere. None where they do not, or where only their resolved targets can show it.

    Two faults that block a process interfere at the same node: a stopped process cannot be paused, and a process on a
    stalled disk cannot be killed. Exceptions are the same fault twice, and what a fault `allows`.
    Two faults that restore an earlier state interfere where the later one would restore what the earlier one had set.
    """
    main_topic = next(iter(topology.topics), "")
    if may_restore_the_same(event, other, main_topic) and event.overlaps(other):
        return (
            f"{event.fault.name} {event.target} and {other.fault.name} {other.target} may go on at the same time, "
            f"and each restores at its end what it found; let one begin after the other's end"
        )
    if not may_block_the_same(event, other) or event.after is not None or other.after is not None:
        return None
    first, second = sorted((event, other), key=lambda each: each.at)
    if first.fault.name == second.fault.name or second.fault.name in first.fault.allows:
        return None
    is_during = first.at <= second.at < first.end or first.at == second.at
    if not is_during or not _surely_the_same(first, second, topology):
        return None
    return (
        f"{second.fault.name} {second.target} at {second.at:g} s begins while {first.fault.name} {first.target} "
        f"blocks the same process ({first.at:g} to {first.end:g} s); let it begin at {first.end:g} s or later"
    )


def may_block_the_same(event: Event, other: Event) -> bool:
    """Whether both block processes, and both those of nodes or both those of clients."""
    both = event.fault.blocks_process and other.fault.blocks_process
    return both and event.fault.target_family == other.fault.target_family


def may_restore_the_same(event: Event, other: Event, main_topic: str) -> bool:
    """Whether both may restore the same object: the replicas of a partition, or a setting of a topic or a broker.

    main_topic  of targets that name no topic.
    """
    both = event.fault.restores_state and other.fault.restores_state
    if not both or event.fault.target_family != other.fault.target_family:
        return False
    here, there = event.target, other.target
    if isinstance(here, Groups) or isinstance(there, Groups):
        return False
    if here.kind == there.kind == "node":
        may_meet = bool(set(here.nodes) & set(there.nodes))
    elif here.family == "nodes":
        may_meet = True  # a role may be any node
    else:
        may_meet = here.log(main_topic) == there.log(main_topic)
    settings, others = event.fault.options().get("settings"), other.fault.options().get("settings")
    return may_meet and (settings is None or others is None or bool(set(settings) & set(others)))


def _surely_the_same(event: Event, other: Event, topology: Topology) -> bool:
    """Whether both have a node, or a client process, in common whatever their targets resolve to."""
    here, there = event.target, other.target
    if isinstance(here, Groups) or isinstance(there, Groups):
        return False
    if event.fault.target_family == "clients":
        return _surely_same_client(here, there)
    sure_here, sure_there = _sure_nodes(here, topology), _sure_nodes(there, topology)
    if sure_here is not None and sure_there is not None:
        return bool(sure_here & sure_there)
    # All roles are of brokers, except the controller where controllers are separate nodes.
    has_separate_controllers = bool(topology.controllers) and not set(topology.controllers) & set(
        topology.brokers
    )
    return any(
        every.kind == "all" and not (role.kind == "controller" and has_separate_controllers)
        for every, role in ((here, there), (there, here))
    )


def _surely_same_client(here: Target, there: Target) -> bool:
    if "clients" in (here.kind, there.kind):
        return True
    if here.kind == there.kind and here.nodes and there.nodes:
        return here.nodes == there.nodes
    return (here.is_whole_role or there.is_whole_role) and here.role == there.role


def _sure_nodes(target: Target, topology: Topology) -> frozenset[int] | None:
    """The nodes that the target is in any case; None for a role, which may be one node or another."""
    match target.kind:
        case "node":
            return frozenset(target.nodes)
        case "all":
            return frozenset(topology.brokers)
        case "controllers":
            return frozenset(topology.controllers)
    return None
