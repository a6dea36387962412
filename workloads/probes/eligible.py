"""Eligible leader replicas (KIP-966) of the workload's partitions, where they are not what they were before.

One row per partition, at first and after each change, with the leader, its epoch, the ISR and the replicas of the
same answer. The value is ``{"eligible": [nodes], "last_known": [nodes]}``. Brokers without the request, which came
with Kafka 3.9, give no rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka.protocol.admin import DescribeTopicPartitionsRequest

from workloads.clients.coordination import highest_version
from workloads.clients.protocol import Log
from workloads.probes.probe import Ask, Row, Source


class EligibleProbe:
    kind = "eligible"
    interval = 0.2
    asks: Source = "any broker"

    def __init__(self, topics: Mapping[str, int], run: str) -> None:  # noqa: ARG002
        self._topics = topics
        self._last: dict[Log, Row] = {}
        self._is_known: bool | None = None

    def sample(self, ask: Ask) -> Iterator[Row]:
        if self._is_known is None:
            self._is_known = highest_version(ask, DescribeTopicPartitionsRequest.API_KEY) >= 0
        if not self._is_known:
            return
        Request = DescribeTopicPartitionsRequest
        wanted = [Request.TopicRequest(name=name) for name in sorted(self._topics)]
        answer = ask(Request(version=0, topics=wanted, response_partition_limit=2000, cursor=None))
        for topic in answer.topics:
            for each in topic.partitions:
                row = {
                    "topic": topic.name,
                    "partition": each.partition_index,
                    "leader": each.leader_id,
                    "leader_epoch": each.leader_epoch,
                    "isr": sorted(each.isr_nodes),
                    "replicas": list(each.replica_nodes),
                    "value": {
                        "eligible": sorted(each.eligible_leader_replicas or ()),
                        "last_known": sorted(each.last_known_elr or ()),
                    },
                }
                log = topic.name, each.partition_index
                if not each.error_code and self._last.get(log) != row:
                    self._last[log] = row
                    yield row


PROBE = EligibleProbe
