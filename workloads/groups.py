"""Consumer groups: every record reaches a member of each group, and what a group commits is what it has polled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, get_args

from workloads.clients.library import library
from workloads.clients.protocol import ResetPolicy
from workloads.declaration import Declaration, Need, assignor_uses, uses
from workloads.load import Rate
from workloads.values import (
    BuiltIn,
    check_choice,
    check_common_fields,
    check_counts,
    check_seconds,
    make_topic,
)
from workloads.workload import (
    DEFAULT_LIBRARY,
    PROBE,
    PRODUCER,
    Topic,
    WorkerRole,
    WorkerSpec,
)

Assignor = Literal["range", "roundrobin", "sticky", "cooperative-sticky"]
Protocol = Literal["classic", "consumer"]
Commit = Literal["after-poll", "periodic", "auto", "during-rebalance"]

IN_POLL: Mapping[Commit, str] = {"auto": "auto", "during-rebalance": "revoked"}
"""The member's setting `commits_in_poll`."""

PERIOD = 1.0
"""Seconds between two periodic commits. Kafka's default, 5 s, would let few of them fall into a fault."""

HEARTBEATS = 4
"""Per session timeout; Kafka recommends 3 or more."""

SLOWEST_POLL = 10.0
"""Seconds of ``max.poll.interval.ms`` at least. A member polls five times a second, so only a fault can exceed it.
kafka-python waits 5 s longer for a coordinator that does not answer a request to join."""


MEMBER = WorkerRole("member", "workloads.roles.member:consume")


@dataclass(frozen=True, kw_only=True)
class Groups(BuiltIn):
    """Producers write unique values to one topic, and the members of consumer groups share its partitions.

    Several groups of one member get every record each (publish-subscribe); one group of several members divides the
    records (point-to-point). Groups are named ``group-0``, ``group-1`` and so on in schedules, such as
    ``kill("coordinator:group-0")`` or ``after="rebalance:group-0"``; on the brokers, the run is part of the name.
    Members are targets as ``member:group-0`` (one of that group), ``role:member`` and ``roles:member``: `kill_client`
    lets one crash, `pause_client` lets one stall until the group has replaced it.

    partitions, replication_factor, topic_config   of the topic
    assignment      where its replicas lie, such as {0: [1, 2, 3]}: for every partition the ids of
                    `replication_factor` brokers, the preferred leader first; None: Kafka decides
    producers       number of producers, with acks="all" and idempotence
    rate            records per second and producer; None for no limit; or by phase, see `Rate`
    groups, members   number of groups, and of members of each
    assignor        "range", "roundrobin", "sticky" or "cooperative-sticky"; the brokers choose with
                    protocol="consumer"
    protocol        of the group: "classic", or "consumer" (KIP-848), which not every library has
    static          whether members have a group.instance.id, so that a new process takes over from a killed one
    commit          "after-poll": before it polls again, a member commits what it has polled. "periodic": it commits
                    once a second. In both cases it does not commit when it gives up a partition in a rebalance; the
                    next owner polls those records again, which is allowed. "during-rebalance": as "periodic", and
                    when a rebalance takes partitions away, before it gives them up. "auto": the library's automatic
                    commits (enable.auto.commit), once a second. The last two need library="confluent-kafka"
    session_timeout   seconds without a heartbeat after which the group replaces a member
    auto_offset_reset  "earliest" or "latest": where a member starts without a committed offset, and goes on when the
                    committed one is not in the log any more. With "latest" a group leaves out the records before
                    that point, which is a group-skip where it had committed before
    rejoin          seconds for which a member is out of its group; the members of a group leave it in turn and join
                    it again. None: they stay
    library         name of the client library
    client_version  of library="java": the release of kafka-clients, such as "3.7.2"
    """

    # It does not allow group-skip with auto_offset_reset="latest", which Kafka documents: records that a group leaves
    # out are what such an experiment is about. Records that are polled again after a rebalance are no anomaly.
    declaration = Declaration(
        name="groups",
        does="members of consumer groups share a topic's partitions, commit, leave and join again",
        page="#groups",
        judged_by=("groups", "log", "order"),
        uses=(
            *uses("producer", "idempotence", "consumer"),
            *uses("group-classic", applies=lambda workload: workload.protocol == "classic"),
            *uses("group-consumer", applies=lambda workload: workload.protocol == "consumer"),
            *uses("static-members", applies=lambda workload: workload.static),
            *assignor_uses(),
        ),
        needs=(
            Need(
                what="Kafka 4.0 or later",
                release=(4, 0),
                when='`protocol="consumer"`',
                why="brokers have the protocol of KIP-848 in production since then",
                applies=lambda workload: workload.protocol == "consumer",
            ),
        ),
    )

    partitions: int = 6
    replication_factor: int = 3
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    producers: int = 1
    rate: Rate = 500
    groups: int = 1
    members: int = 3
    assignor: Assignor = "range"
    protocol: Protocol = "classic"
    static: bool = False
    commit: Commit = "after-poll"
    session_timeout: float = 6.0
    auto_offset_reset: ResetPolicy = "earliest"
    rejoin: float | None = None
    assignment: Mapping[int, Sequence[int]] | None = None
    library: str = DEFAULT_LIBRARY
    client_version: str | None = None

    def __post_init__(self) -> None:
        check_common_fields(self)
        check_counts(self, producers=(1, 100), groups=(1, 100), members=(1, 100))
        for name, choices in (
            ("assignor", Assignor),
            ("protocol", Protocol),
            ("commit", Commit),
            ("auto_offset_reset", ResetPolicy),
        ):
            check_choice(f"Groups.{name}", getattr(self, name), *get_args(choices))
        if not isinstance(self.static, bool):
            raise ValueError(f"Groups.static={self.static!r}: expected True or False")
        # Brokers refuse more than 30 minutes (group.max.session.timeout.ms), and those that kafkacheck starts less
        # than one second.
        check_seconds("Groups.session_timeout", self.session_timeout, 1, 1800)
        if self.rejoin is not None:
            check_seconds("Groups.rejoin", self.rejoin, 0.1, 3600)
        # Only where it is needed, because it loads the library; see `workloads.workload`.
        if self.protocol != "classic" or self.library != DEFAULT_LIBRARY or self.commit in IN_POLL:
            try:
                library(self.library).check_member(self._member_settings(None))
            except ValueError as error:
                raise ValueError(f"Groups with library={self.library!r}: {error}") from None

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (make_topic(self, f"shared-{run}"),)

    def workers(self) -> tuple[WorkerSpec, ...]:
        send = {"acks": "all", "idempotence": True, "record_size": 0, "client": {}, "rate": self.rate}
        shapes: list[tuple[WorkerRole, dict[str, Any]]] = [
            *((PRODUCER, send) for _ in range(self.producers)),
            *(
                (MEMBER, self._member_options(group, number))
                for group in self.group_names
                for number in range(self.members)
            ),
            (PROBE, {}),
        ]
        return self._numbered(shapes)

    @property
    def group_names(self) -> tuple[str, ...]:
        """As schedules have them."""
        return tuple(f"group-{number}" for number in range(self.groups))

    def aliases(self, run: str) -> Mapping[str, str]:
        return {name: f"{name}-{run}" for name in self.group_names}

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((PRODUCER.name,), (MEMBER.name,))

    @property
    def has_groups(self) -> bool:
        return True

    @property
    def requires(self) -> frozenset[str]:
        return frozenset({"acks-after-faults", "group-commits"})

    def smaller(self) -> Iterator[tuple[str, Self]]:
        fewer: dict[str, Any] = {
            name: 1 for name in ("producers", "groups", "members") if getattr(self, name) > 1
        }
        if len(fewer) > 1:
            yield "one producer and one member", replace(self, **fewer)
        yield from self._with_fewer(**fewer)
        if self.rejoin is not None:
            yield "members that stay", replace(self, rejoin=None)

    def _member_options(self, group: str, number: int) -> dict[str, Any]:
        return {
            "group": group,
            "number": number,
            "members": self.members,
            "rejoin": self.rejoin,
            "commit_interval": 0 if self.commit == "after-poll" else PERIOD,
            "member": self._member_settings(f"{group}-{number}" if self.static else None),
        }

    def _member_settings(self, instance: str | None) -> dict[str, Any]:
        """As `Library.member` has them."""
        return {
            "session_timeout": self.session_timeout,
            "heartbeat_interval": self.session_timeout / HEARTBEATS,
            "max_poll_interval": max(self.session_timeout, SLOWEST_POLL),
            "assignor": self.assignor,
            "protocol": self.protocol,
            "instance": instance,
            "auto_offset_reset": self.auto_offset_reset,
            "committed": False,
            "commits_in_poll": IN_POLL.get(self.commit),
            "commit_interval": PERIOD,
        }
