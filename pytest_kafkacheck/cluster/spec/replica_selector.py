"""The setting with which brokers let clients read from followers (KIP-392)."""

from __future__ import annotations

SELECTOR = "replica.selector.class"
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
