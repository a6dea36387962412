"""An append log whose user expects every record once, although its producers are not idempotent."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kafkacheck import AppendLog


@dataclass(frozen=True, kw_only=True)
class EachOnce(AppendLog):
    """`AppendLog` allows duplicates without idempotence, because Kafka promises none there."""

    @property
    def allowed(self) -> frozenset[str]:
        return super().allowed - {"duplicate"}
