"""Which peer of a node test packets are sent to or from."""

from __future__ import annotations

from nemesis.cluster import Node
from nemesis.fault_context import FaultContext


def peer_of(context: FaultContext) -> Node | None:
    """A node that is not cut off from the target, if possible one that no fault works at; None for none."""
    cut = {frozenset({cut.receiver, cut.sender}) for cut in context.network.cuts}
    reached = [
        number
        for number in sorted(context.cluster.nodes)
        if number != context.node_id and frozenset({number, context.node_id}) not in cut
    ]

    def is_disturbed(number: int) -> bool:
        # Its own loss or bandwidth would drop test packets, and a process that does not run accepts no connection.
        return context.resources.has_wishes(number) or context.processes.wanted(number) != "running"

    return (
        context.cluster.nodes[min(reached, key=lambda number: (is_disturbed(number), number))]
        if reached
        else None
    )
