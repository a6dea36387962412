"""Isolate: a node, or some, against all peers. Clients still reach it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.partition import Partition
from nemesis.targets import Groups, Target
from nemesis.topology import Topology

_EVERYTHING = Partition()


@dataclass(frozen=True, kw_only=True)
class Isolate(Fault):
    """A partition of the target from all others on all ports, under the name people look for."""

    name: ClassVar[str] = "isolate"
    together: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = Partition.needs

    def check(self, topology: Topology, target: Target | Groups) -> None:
        _EVERYTHING.check(topology, target)

    def inject(self, context: FaultContext) -> None:
        _EVERYTHING.inject(context)

    def verify_injected(self, context: FaultContext) -> Proof:
        return _EVERYTHING.verify_injected(context)

    def heal(self, context: FaultContext) -> None:
        _EVERYTHING.heal(context)

    def verify_healed(self, context: FaultContext) -> Proof:
        return _EVERYTHING.verify_healed(context)
