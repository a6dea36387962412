"""Compares the replicas of a partition as they lie on the nodes' disks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from pytest_kafkacheck.cluster.kafka.replica_comparison import Comparison, batches_of, compare
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster


def compared(cluster: AnyCluster, topic: str, nodes: Iterable[int], *, end: int) -> Comparison:
    """Of partition 0, from its beginning to offset `end` (exclusive)."""
    log = (topic, 0)
    with tempfile.TemporaryDirectory(prefix="kafkacheck-replicas-") as folder:
        copies = {}
        for node in nodes:
            home = Path(folder, str(node))
            home.mkdir()
            found = cluster.nodes[node].segments([log], home)[log]
            if isinstance(found, OSError):
                raise found
            copies[node] = batches_of(found)
        return compare(copies, begin=0, end=end, is_compacted=False)
