"""The settings of brokers, a topic and its clients that decide what an event destroys, also in Kafka's own terms."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal, Self, get_args

from pytest_kafkacheck.errors import UsageError

Acks = Literal["all", 1, 0]
Mode = Literal["kraft", "zookeeper"]
Reset = Literal["earliest", "latest", "none"]
Roles = Literal["separate", "combined"]
Storage = Literal["kept", "ephemeral"]
Commit = Literal["after-processing", "before-processing", "auto", "auto-asynchronous"]

KRAFT_IN_PRODUCTION = (3, 3, 0)
ZOOKEEPER_REMOVED = (4, 0, 0)
ELR_KNOWN = (4, 0, 0)
ELR_BY_DEFAULT = (4, 1, 0)
"""New clusters have eligible leader replicas; clusters that were upgraded keep their feature level."""
ACKS_ALL_BY_DEFAULT = (3, 0, 0)
IDEMPOTENCE_NOT_ON = ((3, 0, 0), (3, 1, 0))
"""Java clients in which the documented default had no effect: KAFKA-13598."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The settings for one topic and the clients that use it. None stands for Kafka's default, which replaces it.

    replication       replicas of each partition: replication.factor
    min_isr           min.insync.replicas
    unclean           unclean.leader.election.enable
    flush_messages    flush.messages of the topic, log.flush.interval.messages of the brokers; None: never
    flush_ms          flush.ms of the topic, log.flush.interval.ms of the brokers; None: never
    flush_check_ms    log.flush.scheduler.interval.ms of the brokers; None: never, and flush_ms has no effect then
    version           release of the brokers, such as "4.1.1"
    mode              "kraft" or "zookeeper"
    elr               eligible.leader.replicas.version=1
    protocol          inter.broker.protocol.version, such as "0.10.2"; the brokers' version by default
    controllers       voters of a KRaft quorum
    roles             "combined": brokers are voters of the KRaft quorum as well. "separate": voters have nodes of
                      their own
    zookeepers        nodes of the ensemble in ZooKeeper mode
    storage           "ephemeral": a broker's disk goes with its container or pod, whenever that is replaced
    metadata_storage  the same of the voters' disks; with combined roles, that of the brokers
    controlled_shutdown  controlled.shutdown.enable
    cleaner           log.cleaner.enable
    tiered            remote.storage.enable of the topic
    offsets_retention_minutes  offsets.retention.minutes
    replicas_in_rack  the most replicas of one partition that lie in one rack; None: not known
    acks              of producers: "all", 1 or 0
    idempotence       of producers: enable.idempotence
    client_version    release of Java clients; the brokers' version by default
    commit            when a consumer's position is committed: "after-processing" or "before-processing" of the
                      records by the program; "auto" (enable.auto.commit) where records are processed before the next
                      poll; "auto-asynchronous" where they may be processed later. None: not known
    auto_offset_reset  of consumers: "earliest", "latest" or "none". None: not known
    Raises UsageError naming the field, the value and what is allowed.
    """

    replication: int = 1
    min_isr: int = 1
    unclean: bool = False
    flush_messages: int | None = None
    flush_ms: int | None = None
    flush_check_ms: int | None = None
    version: str = "4.1.1"
    mode: Mode | None = None
    elr: bool | None = None
    protocol: str | None = None
    controllers: int = 3
    roles: Roles = "separate"
    zookeepers: int = 3
    storage: Storage = "kept"
    metadata_storage: Storage = "kept"
    controlled_shutdown: bool = True
    cleaner: bool = True
    tiered: bool = False
    offsets_retention_minutes: int | None = None
    replicas_in_rack: int | None = None
    acks: Acks | None = None
    idempotence: bool | None = None
    client_version: str | None = None
    commit: Commit | None = None
    auto_offset_reset: Reset | None = None

    def __post_init__(self) -> None:
        for name in ("replication", "min_isr", "controllers", "zookeepers"):
            _whole(name, getattr(self, name))
        for name in (
            "flush_messages", "flush_ms", "flush_check_ms", "replicas_in_rack", "offsets_retention_minutes",
        ):  # fmt: skip
            if (value := getattr(self, name)) is not None:
                _whole(name, value)
        for name, kind in CHOICES.items():
            value, allowed = getattr(self, name), get_args(kind)
            if value is not None and (isinstance(value, bool) or value not in allowed):
                raise UsageError(f"{name}={value!r}: expected {', '.join(map(str, allowed))}")
        number, client = (
            self.number,
            parse_version(self.client_version or self.version, where="client_version"),
        )
        if self.mode is None:
            self._set("mode", "kraft" if number >= KRAFT_IN_PRODUCTION else "zookeeper")
        if self.mode == "zookeeper" and number >= ZOOKEEPER_REMOVED:
            raise UsageError(
                f"mode='zookeeper' with version={self.version}: Kafka 4.0 removed ZooKeeper mode"
            )
        if self.mode == "kraft" and number < KRAFT_IN_PRODUCTION:
            raise UsageError(
                f"mode='kraft' with version={self.version}: KRaft is fit for production since Kafka 3.3"
            )
        if self.elr and (number < ELR_KNOWN or self.mode != "kraft"):
            raise UsageError(f"elr=True with version={self.version}: eligible leader replicas need Kafka 4.0")
        if self.flush_ms is None:
            self._set("flush_ms", self.flush_check_ms)
        if self.offsets_retention_minutes is None:
            self._set("offsets_retention_minutes", WEEK if number >= A_WEEK_BY_DEFAULT else DAY)
        if self.roles == "combined":
            self._set("metadata_storage", self.storage)
        if self.elr is None:
            self._set("elr", number >= ELR_BY_DEFAULT)
        if self.acks is None:
            self._set("acks", "all" if client >= ACKS_ALL_BY_DEFAULT or self.idempotence else 1)
        if self.idempotence is None:
            is_default = client >= ACKS_ALL_BY_DEFAULT and client not in IDEMPOTENCE_NOT_ON
            self._set("idempotence", self.acks == "all" and is_default)
        if self.protocol is not None and (self.protocol_number > number or self.mode == "kraft"):
            reason = "KRaft has no such setting" if self.mode == "kraft" else "it is later than the release"
            raise UsageError(f"protocol={self.protocol!r} with version={self.version}: {reason}")

    @property
    def number(self) -> Version:
        """Of the brokers."""
        return parse_version(self.version)

    @property
    def protocol_number(self) -> Version:
        return parse_version(self.protocol or self.version, where="protocol")

    @property
    def minimum(self) -> int:
        """The replicas that must be in sync for acks=all, no more than there are."""
        return min(self.min_isr, self.replication)

    @property
    def caps_minimum(self) -> bool:
        """Whether brokers apply the replication factor where min.insync.replicas is above it (KAFKA-15583)."""
        return self.number >= (3, 7, 0)

    @property
    def elects_uncleanly(self) -> bool:
        """Whether the controller itself elects a replica that is not in sync."""
        return self.unclean and not self.ignores_unclean

    @property
    def ignores_unclean(self) -> bool:
        return self.mode == "kraft" and self.number < (3, 9, 0)

    @property
    def syncs(self) -> bool:
        """Whether a record is on the disk before it is acknowledged."""
        return self.flush_messages == 1

    @property
    def has_eligible_replicas(self) -> bool:
        """Whether a replica that left the ISR may be elected cleanly. It must leave while the ISR is below the
        minimum, so with a minimum of 1 there are none."""
        return bool(self.elr) and self.minimum > 1

    @property
    def is_combined(self) -> bool:
        return self.mode == "kraft" and self.roles == "combined"

    @property
    def voters(self) -> int:
        """Nodes of which a majority elects leaders and keeps the metadata."""
        return self.controllers if self.mode == "kraft" else self.zookeepers

    @property
    def voters_text(self) -> str:
        return "controllers" if self.mode == "kraft" else "nodes of ZooKeeper"

    def has_majority_without(self, lost: int) -> bool:
        """Of voters, when so many of them are down."""
        return (self.voters - lost) * 2 > self.voters

    @property
    def keeps_metadata_once(self) -> bool:
        """Whether a broker's disk is the only one with the metadata."""
        return self.is_combined and self.controllers == 1

    @property
    def flush_bound_text(self) -> str:
        """What is lost at most where memory is lost."""
        parts = []
        if self.flush_messages is not None and self.flush_messages > 1:
            parts.append(
                f"flush.messages={self.flush_messages}: at most {self.flush_messages - 1} records of a replica are "
                "not on its disk"
            )
        if self.flush_ms is not None and self.flush_check_ms is not None:
            parts.append(
                f"flush.ms={self.flush_ms}: at most the records of the last {self.flush_ms + self.flush_check_ms} ms "
                f"are not on the disk (log.flush.scheduler.interval.ms={self.flush_check_ms} included)"
            )
        elif self.flush_ms is not None:
            parts.append(
                f"flush.ms={self.flush_ms} has no effect: log.flush.scheduler.interval.ms, which says how often "
                "brokers look, is not set"
            )
        return "; ".join(parts)

    @property
    def offsets_retention_text(self) -> str:
        """Such as "offsets.retention.minutes=1440 (1 day)"."""
        minutes = self.offsets_retention_minutes or WEEK
        return f"offsets.retention.minutes={minutes} ({duration_text(minutes)})"

    @property
    def survivors(self) -> int:
        """Replicas that are left of a partition without one of them."""
        return self.replication - 1

    @property
    def unclean_text(self) -> str:
        """As Kafka writes it."""
        return str(self.unclean).lower()

    @property
    def protocol_text(self) -> str:
        return self.protocol or self.version

    def problems(self) -> tuple[str, ...]:
        """What cannot be as it stands: Kafka refuses it, or does something else."""
        found = []
        if self.min_isr > self.replication:
            found.append(
                f"min.insync.replicas={self.min_isr} is above the replication factor {self.replication}; Kafka "
                + (
                    f"{self.version} applies {self.minimum}"
                    if self.caps_minimum
                    else f"{self.version} refuses all writes with acks=all"
                )
            )
        if self.idempotence and self.acks != "all":
            found.append(
                f"enable.idempotence=true needs acks=all; with acks={self.acks} a producer does not start"
            )
        return tuple(found)

    def with_(self, **changes: Any) -> Self:
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def _whole(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name}={value!r}: expected a whole number, 1 or more")


__all__ = ["Acks", "Commit", "Configuration", "Mode", "Reset"]

Version = tuple[int, int, int]


@cache
def parse_version(text: str, *, where: str = "version") -> Version:
    """(4, 1, 1) from "4.1.1", and (0, 10, 2) from "0.10.2.1": before 1.0, releases had four numbers.

    "4.1" is (4, 1, 0). Raises UsageError.
    """
    if not isinstance(text, str) or not re.fullmatch(r"\d{1,3}(\.\d{1,3}){1,3}", text):
        raise UsageError(f"{where}={text!r}: expected a Kafka release, such as 4.1.1")
    first, second, third = (*map(int, text.split(".")), 0)[:3]
    return first, second, third


CHOICES: dict[str, Any] = {
    "commit": Commit, "auto_offset_reset": Reset, "mode": Mode, "acks": Acks, "roles": Roles, "storage": Storage,
    "metadata_storage": Storage,
}  # fmt: skip
"""The type of each field that has a few values, by name."""

DAY, WEEK = 24 * 60, 7 * 24 * 60
"""Minutes."""

A_WEEK_BY_DEFAULT = (2, 0, 0)
"""Before, committed positions were kept for a day (KIP-186)."""


def duration_text(minutes: int) -> str:
    """Such as "1 day", "36 hours" or "90 minutes": in the largest unit that divides it."""
    for unit, size in (("day", DAY), ("hour", 60)):
        if minutes % size == 0:
            return f"{minutes // size} {unit}{'s' * (minutes != size)}"
    return f"{minutes} minute{'s' * (minutes != 1)}"


NAMES = {
    "version": "Kafka",
    "mode": "metadata",
    "replication": "replication factor",
    "min_isr": "min.insync.replicas",
    "unclean": "unclean.leader.election.enable",
    "acks": "acks",
    "idempotence": "enable.idempotence",
    "elr": "eligible.leader.replicas.version",
    "flush_messages": "flush.messages",
    "flush_ms": "flush.ms",
    "flush_check_ms": "log.flush.scheduler.interval.ms",
    "controlled_shutdown": "controlled.shutdown.enable",
    "cleaner": "log.cleaner.enable",
    "tiered": "remote.storage.enable",
    "offsets_retention_minutes": "offsets.retention.minutes",
    "protocol": "inter.broker.protocol.version",
    "controllers": "controllers",
    "roles": "roles",
    "zookeepers": "nodes of ZooKeeper",
    "storage": "disks of brokers",
    "metadata_storage": "disks of voters",
    "replicas_in_rack": "number of replicas in one rack",
    "client_version": "clients",
    "commit": "commit",
    "auto_offset_reset": "auto.offset.reset",
}
"""In the order of a listing."""

LEFT_OUT: dict[str, Any] = {
    **dict.fromkeys(
        (
            "flush_messages",
            "flush_ms",
            "flush_check_ms",
            "protocol",
            "client_version",
            "commit",
            "auto_offset_reset",
        )
    ),
    "controlled_shutdown": True,
    "cleaner": True,
    "tiered": False,
    "storage": "kept",
    "metadata_storage": "kept",
}
"""Fields that a listing leaves out where they have this value."""

OTHER_MODE = {"kraft": ("zookeepers",), "zookeeper": ("controllers", "roles", "elr")}
"""Fields that have no meaning in a mode."""


def value_text(field: str, value: object) -> str:
    if field == "elr":
        return str(int(bool(value)))
    if isinstance(value, bool):
        return str(value).lower()
    return "not known" if value is None else str(value)


ALWAYS = object()
"""No field has this value, so a field without an entry in `LEFT_OUT` is always shown."""


def setting_texts(configuration: Configuration) -> dict[str, str]:
    """Such as {"replication": "replication factor 3"}, without settings that have no say."""
    return {
        field: f"{name}{'=' if '.' in name or name == 'acks' else ' '}{value_text(field, value)}"
        for field, name in NAMES.items()
        if (value := getattr(configuration, field)) != LEFT_OUT.get(field, ALWAYS)
        and field not in OTHER_MODE[configuration.mode or "kraft"]
    }
