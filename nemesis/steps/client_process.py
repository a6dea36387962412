"""What faults of client processes have in common."""

from __future__ import annotations

from nemesis.fault import Fault

LIMIT = 15.0
"""Seconds for a client process to be observed in its new state."""


class AffectsClient(Fault):
    """`FaultContext.node_id` is the number of a client process."""

    family = "clients"
    target_family = "clients"
    takes_nodes_down = False
