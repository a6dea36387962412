"""Reassignment: a partition moves to other replicas, and back again at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.ground import Ground
from nemesis.targets import Family, Groups, Target

LIMIT = 60.0
"""Seconds for replicas to catch up in their new place."""


@dataclass(frozen=True, kw_only=True)
class Reassign(Fault):
    """The last replica moves to a broker that has none, or where there is no such broker, the first one to the end.

    So the preferred leader changes where all brokers have a replica.
    """

    name: ClassVar[str] = "reassign"
    puts_back: ClassVar[bool] = True
    strikes: ClassVar[Family] = "partition"
    together: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def check(self, ground: Ground, target: Target | Groups) -> None:  # noqa: ARG002
        if len(ground.brokers) < 2:
            raise ValueError("a cluster of one broker has no other place")

    def inject(self, strike: Strike) -> None:
        replicas = strike.cluster.replicas(*strike.log)
        free = sorted(set(strike.cluster.brokers) - set(replicas))
        strike.notes["replicas"] = replicas
        strike.notes["wanted"] = (*replicas[:-1], free[0]) if free else (*replicas[1:], replicas[0])
        strike.cluster.kafka.reassign(*strike.log, strike.notes["wanted"])

    def verify_injected(self, strike: Strike) -> Proof:
        return _moved(strike, strike.notes["wanted"], strike.notes["replicas"])

    def heal(self, strike: Strike) -> None:
        if "replicas" in strike.notes:
            strike.cluster.kafka.reassign(*strike.log, strike.notes["replicas"])

    def verify_healed(self, strike: Strike) -> Proof:
        if "replicas" not in strike.notes:
            return Proof(True, {"nothing": "the injection failed before anything was done"})
        return _moved(strike, strike.notes["replicas"], strike.notes["wanted"])


def _moved(strike: Strike, wanted: tuple[int, ...], before: tuple[int, ...]) -> Proof:
    """Whether the replicas are those, and all of them in sync; a move under way names both."""
    cluster, log = strike.cluster, strike.log
    limit = min(LIMIT, max(strike.leisure(), 1.0))

    def there() -> bool:
        return cluster.replicas(*log) == wanted and set(cluster.isr(*log)) == set(wanted)

    moved = strike.until(there, limit)
    evidence = {"before": list(before), "wanted": list(wanted), "replicas": list(cluster.replicas(*log))}
    return Proof(moved and wanted != before, evidence)
