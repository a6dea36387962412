"""The fields of a configuration in Kafka's own terms."""

from __future__ import annotations

from pytest_kafkacheck.audit.configuration import Configuration

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
    "protocol": "inter.broker.protocol.version",
    "controllers": "controllers",
    "replicas_in_rack": "replicas in one rack, at most",
    "client_version": "clients",
    "commit": "commit",
    "auto_offset_reset": "auto.offset.reset",
}
"""In the order of a listing."""

LEFT_OUT_WHEN_NONE = (
    "flush_messages",
    "flush_ms",
    "protocol",
    "client_version",
    "commit",
    "auto_offset_reset",
)


def value_text(field: str, value: object) -> str:
    if field == "elr":
        return str(int(bool(value)))
    if isinstance(value, bool):
        return str(value).lower()
    return "not known" if value is None else str(value)


def setting_texts(configuration: Configuration) -> dict[str, str]:
    """Such as {"replication": "replication factor 3"}, without settings that have no say."""
    return {
        field: f"{name}{'=' if '.' in name or name == 'acks' else ' '}{value_text(field, value)}"
        for field, name in NAMES.items()
        if not ((value := getattr(configuration, field)) is None and field in LEFT_OUT_WHEN_NONE)
    }
