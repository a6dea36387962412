"""ClusterSpec: a value that describes a cluster completely, checked when it is made."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from pytest_kafkacheck.cluster.spec.member import (
    CONTROL_PLANE,
    CONTROLLER,
    EXTERNAL,
    FIRST_CONTROLLER,
    FIRST_ZOOKEEPER,
    INTERNAL,
    ZOOKEEPER,
    Member,
    NodeRole,
)
from pytest_kafkacheck.cluster.spec.release import METADATA, RELEASES, SCRAM_METADATA, Release, release_of
from pytest_kafkacheck.cluster.spec.settings import check_settings
from pytest_kafkacheck.errors import UsageError

DEFAULT_VERSION = "4.1.1"
MOST_BROKERS = 9
CONTROLLERS = (0, 1, 3, 5)
ZOOKEEPERS = (0, 1, 3)
DISK_MB = (64, 65_536)
"""Smallest and largest size of a node's own disk in MiB; Kafka does not start on a smaller one."""

EXAMPLES = {
    "listeners": {"ADMIN": "PLAINTEXT"},
    "features": {"eligible.leader.replicas.version": 0},
    "config": {"num.io.threads": 4},
}

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """A cluster. Tests with equal specs may share one running cluster.

    version        Kafka release, such as "4.1.1"; see docs/versions.md for what each supports.
    brokers        1 to 9.
    controllers    0: each broker is a controller as well; otherwise 1, 3 or 5 separate KRaft controllers.
    zookeepers     0: KRaft; otherwise 1 or 3 ZooKeeper nodes, with releases before 4.0.
    control_plane  ZooKeeper mode only: the controller talks to brokers through a listener of its own.
    racks          names of racks, assigned to brokers in turn: 3 brokers with racks=("a", "b") are in a, b, a.
    listeners      additional client listeners, name to protocol, such as {"ADMIN": "PLAINTEXT"}; clients of
                   experiments use the listener EXTERNAL, which always exists.
    security       protocol of all listeners: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
    mechanism      SASL mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (default).
    features       KRaft feature levels at format time, such as {"eligible.leader.replicas.version": 0};
                   metadata.version also by name, such as "4.0-IV3" or "4.0".
    config         broker settings on top of the fast profile (see ``properties.py``), as strings or numbers.
    heap_mb        heap of each broker's JVM, MiB.
    disk_mb        None: data is on the engine's disk. 64 to 65536: the data of each broker and controller is on an
                   ext4 file system of its own with that size in MiB, which can lose power, fill up or stall. Each
                   needs a loop device of the engine's host.
    image          a broker image to use instead of the version's own; it has Kafka's jars in /opt/kafka/libs.
    attached       None: a cluster that kafkacheck starts. Otherwise the nodes of a running cluster to which the
                   session attaches: roles by id, such as {0: "combined", 1: "broker", 100: "controller"}, or only ids
                   where every broker is a controller as well. It replaces brokers, controllers and zookeepers.
    Raises UsageError naming the field, the value and what is allowed.
    """

    version: str = DEFAULT_VERSION
    brokers: int = 3
    controllers: int = 0
    zookeepers: int = 0
    control_plane: bool = False
    racks: Sequence[str] = ()
    listeners: Mapping[str, str] = field(default_factory=dict)
    security: str = "PLAINTEXT"
    mechanism: str | None = None
    features: Mapping[str, int | str] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    heap_mb: int = 384
    disk_mb: int | None = None
    image: str | None = None
    attached: Mapping[int, NodeRole] | Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.attached is not None:
            self._check_attached()
        self._check_counts()
        self._check_kinds()
        self._check_coordination()
        self._check_security()
        self._check_racks_and_listeners()
        self._check_features()
        self._check_config()

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def release(self) -> Release:
        return release_of(self.version)

    @property
    def digest(self) -> str:
        """A hash that is equal for equal specs in every process."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def kraft(self) -> bool:
        return not self.zookeepers

    @property
    def members(self) -> tuple[Member, ...]:
        """Every node; nodes that others depend on come first."""
        if isinstance(self.attached, Mapping):
            found = (Member(id=node, role=role) for node, role in self.attached.items())
            return tuple(sorted(found, key=lambda member: (member.is_broker, member.id)))
        separate = bool(self.controllers or self.zookeepers)
        return (
            *(Member(id=FIRST_ZOOKEEPER + number, role="zookeeper") for number in range(self.zookeepers)),
            *(Member(id=FIRST_CONTROLLER + number, role="controller") for number in range(self.controllers)),
            *(
                Member(id=node, role="broker" if separate else "combined", rack=self.rack_of(node))
                for node in range(1, self.brokers + 1)
            ),
        )

    @property
    def nodes(self) -> tuple[int, ...]:
        """Ids of all nodes.

        Clusters of kafkacheck have brokers from 1, controllers from 101, ZooKeeper nodes from 201.
        """
        return tuple(sorted(member.id for member in self.members))

    @property
    def voters(self) -> tuple[Member, ...]:
        """The KRaft quorum."""
        return tuple(member for member in self.members if member.is_controller)

    def rack_of(self, broker: int) -> str | None:
        return self.racks[(broker - 1) % len(self.racks)] if self.racks else None

    def describe(self) -> str:
        """Such as ``3 brokers, 3 controllers, Kafka 4.1.1``."""
        parts = [f"{self.brokers} broker{'s' * (self.brokers > 1)}"]
        if self.controllers:
            parts.append(f"{self.controllers} controller{'s' * (self.controllers > 1)}")
        if self.zookeepers:
            parts.append(f"{self.zookeepers} ZooKeeper node{'s' * (self.zookeepers > 1)}")
        if self.disk_mb is not None:
            parts.append(f"disks of {self.disk_mb} MiB")
        return ", ".join([*parts, f"Kafka {self.version}"])

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        if self.attached is None:
            del data["attached"]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ClusterSpec:
        """Raises UsageError naming what is wrong."""
        if not isinstance(data, Mapping):
            raise UsageError(f"cluster {data!r}: expected an object")
        attached = data.get("attached")
        if isinstance(attached, Mapping):  # names of JSON fields are strings
            data = {**data, "attached": {int(node): role for node, role in attached.items()}}
        return cls(**data)

    def _check_attached(self) -> None:
        given, where = self.attached, f"ClusterSpec.attached={self.attached!r}"
        roles = dict(given) if isinstance(given, Mapping) else None
        if isinstance(given, (list, tuple)) and all(map(_whole, given)):
            roles = dict.fromkeys(given, "combined")
        if roles is None or not all(_whole(node) and node >= 0 for node in roles):
            raise UsageError(f"{where}: expected ids of nodes, 0 or more, or their roles by id")
        if strange := [role for role in roles.values() if role not in get_args(NodeRole)]:
            raise UsageError(f"{where}: no role {strange[0]!r}; allowed: {', '.join(get_args(NodeRole))}")
        counts = {role: list(roles.values()).count(role) for role in get_args(NodeRole)}
        if not (brokers := counts["combined"] + counts["broker"]):
            raise UsageError(f"{where}: expected at least one broker")
        object.__setattr__(self, "attached", dict(sorted(roles.items())))
        object.__setattr__(self, "brokers", brokers)
        object.__setattr__(self, "controllers", counts["controller"])
        object.__setattr__(self, "zookeepers", counts["zookeeper"])

    def _check_counts(self) -> None:
        if self.attached is not None:
            return
        if not _whole(self.brokers) or not 1 <= self.brokers <= MOST_BROKERS:
            raise UsageError(f"ClusterSpec.brokers={self.brokers!r}: expected 1 to {MOST_BROKERS}")
        for name, allowed in (("controllers", CONTROLLERS), ("zookeepers", ZOOKEEPERS)):
            value = getattr(self, name)
            if not _whole(value) or value not in allowed:
                raise UsageError(
                    f"ClusterSpec.{name}={value!r}: expected {', '.join(map(str, allowed[:-1]))} or {allowed[-1]}"
                )
        if not _whole(self.heap_mb) or self.heap_mb < 200:
            raise UsageError(
                f"ClusterSpec.heap_mb={self.heap_mb!r}: expected 200 or more; a broker runs out of memory with less"
            )
        least, most = DISK_MB
        if self.disk_mb is not None and (not _whole(self.disk_mb) or not least <= self.disk_mb <= most):
            raise UsageError(
                f"ClusterSpec.disk_mb={self.disk_mb!r}: expected None, for the engine's disk, or {least} to "
                f"{most} MiB"
            )

    def _check_kinds(self) -> None:
        for name in ("listeners", "features", "config"):
            value = getattr(self, name)
            if not isinstance(value, Mapping):
                raise UsageError(
                    f"ClusterSpec.{name}={value!r}: expected values by name, such as {EXAMPLES[name]}"
                )
        if not isinstance(self.control_plane, bool):
            raise UsageError(f"ClusterSpec.control_plane={self.control_plane!r}: expected True or False")
        if self.image is not None and not (isinstance(self.image, str) and self.image):
            raise UsageError(f"ClusterSpec.image={self.image!r}: expected the name of an image, or None")

    def _check_coordination(self) -> None:
        if self.attached is not None:
            return  # its version is not known
        release = self.release
        if self.zookeepers and not release.zookeeper:
            raise UsageError(
                f"ClusterSpec.zookeepers={self.zookeepers} with version={self.version!r}: Kafka 4.0 removed "
                f"ZooKeeper mode; use version='3.9.2', or KRaft: zookeepers=0"
            )
        if not self.zookeepers and not release.kraft:
            raise UsageError(
                f"ClusterSpec.version={self.version!r} without zookeepers: before Kafka 3.3, KRaft was not fit for "
                f"use; set zookeepers=1, or use version='{RELEASES['3.3'].tested}' or later"
            )
        if self.zookeepers and self.controllers:
            raise UsageError(
                f"ClusterSpec.controllers={self.controllers} with zookeepers={self.zookeepers}: in ZooKeeper "
                f"mode a broker is the controller; set one of the two to 0"
            )
        if self.control_plane and not self.zookeepers:
            raise UsageError(
                "ClusterSpec.control_plane=True without zookeepers: KRaft has no such listener; set "
                "zookeepers=1 with version='3.9.2', or control_plane=False"
            )

    def _check_racks_and_listeners(self) -> None:
        named = isinstance(self.racks, (list, tuple)) and all(
            isinstance(rack, str) and rack for rack in self.racks
        )
        if not named:
            raise UsageError(f"ClusterSpec.racks={self.racks!r}: expected names, such as ('a', 'b', 'c')")
        object.__setattr__(self, "racks", tuple(self.racks))
        taken = {INTERNAL, CONTROLLER, EXTERNAL, CONTROL_PLANE, ZOOKEEPER}
        for name, protocol in self.listeners.items():
            if not re.fullmatch(r"[A-Z][A-Z0-9_]*", str(name)) or name in taken:
                raise UsageError(
                    f"ClusterSpec.listeners[{name!r}]: expected a name in capitals, and none of "
                    f"{', '.join(sorted(taken))}"
                )
            if protocol not in PROTOCOLS:
                raise UsageError(
                    f"ClusterSpec.listeners[{name!r}]={protocol!r}: expected one of {', '.join(PROTOCOLS)}"
                )
            if protocol.startswith("SASL") and not self.security.startswith("SASL"):
                raise UsageError(
                    f"ClusterSpec.listeners[{name!r}]={protocol!r} with security={self.security!r}: users are "
                    f"only made for a cluster whose security is SASL_PLAINTEXT or SASL_SSL"
                )
        object.__setattr__(self, "listeners", dict(self.listeners))

    def _check_security(self) -> None:
        if self.security not in PROTOCOLS:
            raise UsageError(
                f"ClusterSpec.security={self.security!r}: expected one of {', '.join(PROTOCOLS)}"
            )
        sasl = self.security.startswith("SASL")
        if self.mechanism is None and sasl:
            object.__setattr__(self, "mechanism", "SCRAM-SHA-512")
        if (self.mechanism is not None and not sasl) or (sasl and self.mechanism not in MECHANISMS):
            allowed = f"one of {', '.join(MECHANISMS)}" if sasl else "None, or a security with SASL"
            raise UsageError(
                f"ClusterSpec.mechanism={self.mechanism!r} with security={self.security!r}: expected {allowed}"
            )

    def _check_features(self) -> None:
        levels: dict[str, int] = {}
        for name, level in self.features.items():
            where = f"ClusterSpec.features[{name!r}]"
            if not self.kraft:
                raise UsageError(
                    f"{where}={level!r} with zookeepers={self.zookeepers}: feature levels are KRaft's; in ZooKeeper "
                    f"mode set inter.broker.protocol.version in config"
                )
            levels[name] = self.release.level(name, level, where=where)
        self.release.check_together(levels, where="ClusterSpec.features")
        if self.kraft and self.attached is None and (self.mechanism or "").startswith("SCRAM"):
            metadata = levels.get(METADATA, self.release.features[METADATA][2])
            if metadata < SCRAM_METADATA:
                raise UsageError(
                    f"ClusterSpec.mechanism={self.mechanism!r} with version={self.version!r} and "
                    f"{METADATA} {metadata}: KRaft stores SCRAM users from {METADATA} {SCRAM_METADATA} (3.5-IV2) on; "
                    f"use a later one, or mechanism='PLAIN'"
                )
        object.__setattr__(self, "features", dict(sorted(levels.items())))

    def _check_config(self) -> None:
        for key, given in self.config.items():
            if not isinstance(key, str) or not isinstance(given, (str, int, float)):
                raise UsageError(
                    f"ClusterSpec.config[{key!r}]={given!r}: expected text, a number, True or False"
                )
        settings = {key: _text(value) for key, value in self.config.items()}
        check_settings(settings, kind="broker", where="ClusterSpec.config", version=self.version)
        for name in ("min.insync.replicas", "default.replication.factor", "offsets.topic.replication.factor",
                     "transaction.state.log.replication.factor", "transaction.state.log.min.isr"):  # fmt: skip
            if (value := settings.get(name)) is not None and int(value) > self.brokers:
                why = (
                    "no acks=all write could ever be accepted" if "min" in name else "no topic could be made"
                )
                raise UsageError(
                    f"ClusterSpec.config[{name!r}]={value}: above brokers={self.brokers}, so that {why}; "
                    f"allowed: 1 to {self.brokers}"
                )
        object.__setattr__(self, "config", dict(sorted(settings.items())))


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
