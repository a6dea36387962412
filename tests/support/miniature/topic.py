"""The settings of the topic of the model: what they let the cluster remove, and as a broker describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tests.support.miniature.scheduler import MS

WEEK = 7 * 86_400_000
"""ms. Kafka's default of retention.ms, longer than any run."""

RECORD_BYTES = 100


@dataclass(frozen=True, kw_only=True)
class Settings:
    retention: int = WEEK
    """ms for which a record stays at least."""
    length: int | None = None
    """Records of a partition that stay at least; None: all."""
    compacts: bool = False
    """Whether a record goes once a later one has its key."""

    @property
    def config(self) -> Mapping[str, str]:
        return {
            "cleanup.policy": "compact" if self.compacts else "delete",
            "delete.retention.ms": str(WEEK),
            "retention.ms": str(self.retention),
            "retention.bytes": str(-1 if self.length is None else self.length * RECORD_BYTES),
        }

    @property
    def keys(self) -> Sequence[int | None]:
        """Keys of records. A compacted topic refuses records without one."""
        return range(1, 10) if self.compacts else (None, 1, 2)

    @property
    def expire(self) -> bool:
        """Whether a record of the run may expire."""
        return self.retention != WEEK or self.length is not None

    def expired(self, appended: int, behind: int, now: int) -> bool:
        """Whether a record with this time (ns) and this number of records behind it may be removed."""
        is_old = now - appended > self.retention * MS
        return is_old or (self.length is not None and behind >= self.length)


def draw_settings(random: Random) -> Settings:
    """Two in five topics keep all records of the run."""
    return random.choice([
        Settings(), Settings(), Settings(compacts=True),
        Settings(retention=random.randint(100, 300)), Settings(length=random.randint(10, 40)),
    ])  # fmt: skip
