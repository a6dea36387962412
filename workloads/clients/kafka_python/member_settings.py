"""Settings of a member of a consumer group, as kafka-python spells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from workloads.clients.kafka_python.consumer import CONSUMER

ASSIGNORS: Mapping[str, type] = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}

NO_COMMITS_IN_POLL: Mapping[str, str] = {
    "revoked": "a commit during a rebalance: kafka-python gives partitions up in a thread of its own, also between "
    "two polls, when what they returned may not be on disk yet",
    "auto": "automatic commits: in a rebalance, kafka-python makes them in a thread of its own, without a report, "
    "when what polls returned may not be on disk yet",
}
"""Why kafka-python cannot do a value of `commits_in_poll`."""


def member_settings(group: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of KafkaConsumer; `settings` as `Library.member` has them. Raises ValueError for what it cannot do."""
    if (protocol := settings["protocol"]) != "classic":
        raise ValueError(
            f"protocol={protocol!r}: kafka-python has the group protocol 'classic' only; use "
            f"library='confluent-kafka' for 'consumer' (KIP-848)"
        )
    if (commits := settings.get("commits_in_poll")) is not None:
        raise ValueError(f"{NO_COMMITS_IN_POLL[commits]}; use library='confluent-kafka'")
    if settings["assignor"] not in ASSIGNORS:
        raise ValueError(f"assignor={settings['assignor']!r}: expected one of {', '.join(ASSIGNORS)}")
    return {
        **CONSUMER,
        "group_id": group,
        "group_instance_id": settings["instance"],
        "auto_offset_reset": settings["auto_offset_reset"],
        "isolation_level": "read_committed" if settings["committed"] else "read_uncommitted",
        "partition_assignment_strategy": [ASSIGNORS[settings["assignor"]]],
        "session_timeout_ms": round(settings["session_timeout"] * 1000),
        "heartbeat_interval_ms": round(settings["heartbeat_interval"] * 1000),
        "max_poll_interval_ms": round(settings["max_poll_interval"] * 1000),
    }
