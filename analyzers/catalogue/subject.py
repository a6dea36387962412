"""What a finding is about: a log, a node, a group, or another part of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analyzers.catalogue.evidence import Evidence, Number, Text


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A kind of subject. An example of a finding starts with the columns that say which one it is."""

    name: str
    columns: Mapping[str, Evidence] = field(default_factory=dict)
    """Columns that the fact has besides ``run``."""
    pattern: str
    """How one is printed, as a format string over its columns."""
    unknown: str = "unknown"
    """How it is printed where a column is null or missing."""

    def to_text(self, example: Mapping[str, Any]) -> str:
        """Which one an example of a finding is about."""
        if any(example.get(name) is None for name in self.columns):
            return self.unknown
        return self.pattern.format_map(
            {name: each.to_text(example[name]) for name, each in self.columns.items()}
        )


TOPIC, PARTITION, NODE_ID = Text("the topic"), Number("the partition"), Number("the node's id")

RUN = Subject(name="run", pattern="the run")
LOG = Subject(
    name="log",
    columns={"topic": TOPIC, "partition": PARTITION},
    pattern="{topic}-{partition}",
    unknown="no single partition",
)
TOPIC_NAME = Subject(
    name="topic", columns={"topic": TOPIC}, pattern="topic {topic}", unknown="an unknown topic"
)
REPLICA = Subject(
    name="replica",
    columns={"topic": TOPIC, "partition": PARTITION, "node": NODE_ID},
    pattern="{topic}-{partition} on node {node}",
    unknown="an unknown replica",
)
NODE = Subject(name="node", columns={"node": NODE_ID}, pattern="node {node}", unknown="an unknown node")
GROUP = Subject(
    name="group",
    columns={"group": Text("the consumer group")},
    pattern="group {group}",
    unknown="an unknown group",
)
TRANSACTIONAL_ID = Subject(
    name="transactional id",
    columns={"transactional_id": Text("the transactional id")},
    pattern="transactional id {transactional_id}",
    unknown="an unknown transactional id",
)
CONTROLLERS = Subject(name="controllers", pattern="the controllers")
"""A run has one cluster, and a cluster one active controller at a time."""
