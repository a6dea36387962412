"""Isolate: a node, or some, against all peers. Clients still reach it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.faults.partition import Partition
from nemesis.ground import Ground
from nemesis.targets import Groups, Target

_EVERYTHING = Partition()


@dataclass(frozen=True, kw_only=True)
class Isolate(Fault):
    """A partition of the target from all others on all ports, under the name people look for."""

    name: ClassVar[str] = "isolate"
    together: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = Partition.needs

    def check(self, ground: Ground, target: Target | Groups) -> None:
        _EVERYTHING.check(ground, target)

    def inject(self, strike: Strike) -> None:
        _EVERYTHING.inject(strike)

    def verify_injected(self, strike: Strike) -> Proof:
        return _EVERYTHING.verify_injected(strike)

    def heal(self, strike: Strike) -> None:
        _EVERYTHING.heal(strike)

    def verify_healed(self, strike: Strike) -> Proof:
        return _EVERYTHING.verify_healed(strike)
