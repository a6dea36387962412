"""Which cluster: a value that says everything needed to start one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_kafkacheck.cluster.settings import check_settings
from pytest_kafkacheck.errors import UsageError

DEFAULT_VERSION = "4.1.1"
MOST_BROKERS = 9


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """A cluster of combined KRaft nodes: each is broker and controller.

    version   Kafka release, 4.0 or later.
    brokers   1 to 9. A controller quorum of an even number tolerates no more failures than one less.
    config    broker settings on top of the fast profile (see ``properties.py``), as strings or numbers.
    heap_mb   heap of each broker's JVM, MiB.
    image     a broker image to use instead of the one for the version; Kafka's jars in /opt/kafka/libs.
    """

    version: str = DEFAULT_VERSION
    brokers: int = 3
    config: Mapping[str, str] = field(default_factory=dict)
    heap_mb: int = 384
    image: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[4-9]\.\d+\.\d+", self.version):
            raise UsageError(
                f"ClusterSpec.version={self.version!r}: expected a Kafka release from 4.0.0 on, such as "
                f"{DEFAULT_VERSION!r}"
            )
        if not isinstance(self.brokers, int) or not 1 <= self.brokers <= MOST_BROKERS:
            raise UsageError(f"ClusterSpec.brokers={self.brokers!r}: expected 1 to {MOST_BROKERS}")
        if not isinstance(self.heap_mb, int) or self.heap_mb < 200:
            raise UsageError(
                f"ClusterSpec.heap_mb={self.heap_mb!r}: expected 200 or more; a broker dies below"
            )
        settings = {str(key): _text(value) for key, value in self.config.items()}
        check_settings(settings, kind="broker", where="ClusterSpec.config")
        minimum = settings.get("min.insync.replicas")
        if minimum is not None and int(minimum) > self.brokers:
            raise UsageError(
                f"ClusterSpec.config['min.insync.replicas']={minimum}: above brokers={self.brokers}, so that no "
                f"acks=all write could ever be accepted; allowed: 1 to {self.brokers}"
            )
        object.__setattr__(self, "config", dict(sorted(settings.items())))

    def __hash__(self) -> int:
        return hash((self.version, self.brokers, tuple(self.config.items()), self.heap_mb, self.image))

    @property
    def nodes(self) -> tuple[int, ...]:
        """Node ids, from 1."""
        return tuple(range(1, self.brokers + 1))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ClusterSpec:
        return cls(**data)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
