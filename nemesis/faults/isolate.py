"""Isolate: one node against all its peers. Clients still reach it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nemesis.faults.fault import Proof, Strike
from nemesis.faults.partition import Partition

_EVERYTHING = Partition()


@dataclass(frozen=True, kw_only=True)
class Isolate:
    """A partition of the target from all others on all ports, under the name people look for."""

    name: ClassVar[str] = "isolate"
    splits: ClassVar[bool] = False

    def options(self) -> dict[str, Any]:
        return {}

    def inject(self, strike: Strike) -> None:
        _EVERYTHING.inject(strike)

    def verify_injected(self, strike: Strike) -> Proof:
        return _EVERYTHING.verify_injected(strike)

    def heal(self, strike: Strike) -> None:
        _EVERYTHING.heal(strike)

    def verify_healed(self, strike: Strike) -> Proof:
        return _EVERYTHING.verify_healed(strike)
