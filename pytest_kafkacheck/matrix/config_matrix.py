"""The configurations of a matrix: every combination of the values of some settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from pytest_kafkacheck.audit.configuration import Acks, Configuration, Mode
from pytest_kafkacheck.errors import UsageError
from workloads.clients.library import check_library, versioned
from workloads.values import kafka_text
from workloads.workload import DEFAULT_LIBRARY

SHORT = {"min.insync.replicas": "min.isr", "unclean.leader.election.enable": "unclean"}
"""Names of settings in the names of cells."""


@dataclass(frozen=True)
class Chosen:
    """One configuration. topic_config: in Kafka's own words. name: only what differs within the matrix."""

    acks: Acks
    replication: int
    idempotence: bool | None
    version: str
    elr: bool | None
    topic_config: Mapping[str, str]
    name: str
    mode: Mode | None = None
    library: str = DEFAULT_LIBRARY
    client_version: str | None = None

    def __hash__(self) -> int:
        """Settings of the topic are a mapping, which has no hash."""
        return hash((self.name, self.acks, self.replication, self.version))

    def problems(self) -> list[str]:
        """Why there is no such client; none where there is."""
        try:
            check_library(versioned(self.library, self.client_version))
        except ValueError as error:
            return [str(error)]
        return []

    @property
    def configuration(self) -> Configuration:
        """What the rules of the audit need of it."""
        flush = self.topic_config.get("flush.messages")
        return Configuration(
            acks=self.acks,
            idempotence=self.idempotence,
            replication=self.replication,
            min_isr=int(self.topic_config.get("min.insync.replicas", 1)),
            unclean=self.topic_config.get("unclean.leader.election.enable", "false") == "true",
            flush_messages=None if flush is None else int(flush),
            version=self.version,
            elr=self.elr,
            mode=self.mode,
        )


@dataclass(frozen=True, kw_only=True)
class ConfigMatrix:
    """Every combination of these values; multiply it by `scenarios`.

    acks          of the producers: "all", 1, 0.
    topic_config  settings of the topic as Kafka spells them, each with a list of values.
    replication   replicas of the topic.
    idempotence   of the producers; None: on with acks="all".
    version       Kafka releases.
    elr           eligible leader replicas on or off; None: the release's default.
    mode          "kraft" or "zookeeper"; None: that in which the release is run by default.
    library       of the producers, see docs/clients.md; "java-3.7.2" is a release of the Java client.
    client_version  of library="java".
    skip_impossible  run the rest where some combinations are impossible; otherwise these are refused, with a list.
    Raises UsageError for a setting without values.

    Example::

        MATRIX = ConfigMatrix(
            acks=["all", 1], topic_config={"min.insync.replicas": [1, 2]}
        ) * scenarios("leader-killed")

        @MATRIX.parametrize
        def test_cell(kafkacheck, cell):
            kafkacheck(cell).assert_as_predicted()
    """

    acks: Sequence[Acks] = ("all",)
    topic_config: Mapping[str, Sequence[str | int | float | bool]] = field(default_factory=dict)
    replication: Sequence[int] = (3,)
    idempotence: Sequence[bool | None] = (None,)
    version: Sequence[str] = ("4.1.1",)
    elr: Sequence[bool | None] = (None,)
    mode: Sequence[Mode | None] = (None,)
    library: Sequence[str] = (DEFAULT_LIBRARY,)
    client_version: Sequence[str | None] = (None,)
    skip_impossible: bool = False

    def __post_init__(self) -> None:
        lists: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "acks", "replication", "idempotence", "version", "elr", "mode", "library", "client_version",
            )
        }  # fmt: skip
        if not isinstance(self.topic_config, Mapping):
            raise UsageError(
                f"ConfigMatrix.topic_config={self.topic_config!r}: expected lists of values by name of setting, such "
                f"as {{'min.insync.replicas': [1, 2]}}"
            )
        lists |= {f"topic_config[{name!r}]": values for name, values in self.topic_config.items()}
        for name, values in lists.items():
            if isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or not values:
                raise UsageError(f"ConfigMatrix.{name}={values!r}: expected a list of values, such as [1, 2]")

    @property
    def chosen(self) -> tuple[Chosen, ...]:
        """All combinations, possible or not."""
        axes: dict[str, Sequence[Any]] = {
            "acks": self.acks,
            **{name: list(map(kafka_text, values)) for name, values in self.topic_config.items()},
            "replication": self.replication,
            "idempotence": self.idempotence,
            "version": self.version,
            "elr": self.elr,
            "mode": self.mode,
            "library": self.library,
            "client_version": self.client_version,
        }
        several = [name for name, values in axes.items() if len(values) > 1]
        found = []
        for values in product(*axes.values()):
            each = dict(zip(axes, values, strict=True))
            name = "-".join(f"{SHORT.get(axis, axis)}={_text(each[axis])}" for axis in several)
            topic_config = {axis: each.pop(axis) for axis in self.topic_config}
            found.append(Chosen(**each, topic_config=topic_config, name=name or f"acks={each['acks']}"))
        return tuple(found)


def _text(value: object) -> str:
    if value is None:
        return "default"
    return str(value).lower() if isinstance(value, bool) else str(value)
