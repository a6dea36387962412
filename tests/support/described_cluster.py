"""A cluster that answers the requests of an audit from a description, as brokers do, rights included."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace as Answer
from typing import Any

TOPIC_DENIED, GROUP_DENIED, CLUSTER_DENIED = 29, 30, 31
QUORUM = 55
DEFAULTS = {
    "min.insync.replicas": ("1", 5),
    "unclean.leader.election.enable": ("false", 5),
    "flush.messages": (str(2**63 - 1), 5),
    "flush.ms": (str(2**63 - 1), 5),
    "log.flush.interval.messages": (str(2**63 - 1), 5),
    "default.replication.factor": ("1", 5),
}


@dataclass
class DescribedCluster:
    """topics: replicas by partition. settings: of topics, (value, source) by name. committed: by group, partitions by
    topic. denied: names of requests, and of topics, that are refused. silent: requests without an answer."""

    topics: Mapping[str, Mapping[int, list[int]]] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, tuple[str, int]]] = field(default_factory=dict)
    internal: Collection[str] = ("__consumer_offsets", "__transaction_state")
    in_sync: Mapping[str, Mapping[int, list[int]]] = field(default_factory=dict)
    """Of partitions of which not all replicas are."""
    racks: Mapping[int, str] = field(default_factory=dict)
    committed: Mapping[str, Mapping[str, list[int]]] = field(default_factory=dict)
    voters: Collection[int] = (1, 2, 3)
    elr: int = 1
    protocol: tuple[str, int] | None = None
    """In ZooKeeper mode."""
    denied: Collection[str] = ()
    silent: Collection[str] = ()
    asked: list[str] = field(default_factory=list)

    def send(self, node: int, request: Any) -> Any:
        name = type(request).__name__.removesuffix("Request")
        self.asked.append(name)
        if name in self.silent:
            raise TimeoutError(f"{name} to node {node}: no answer within 10 s")
        return getattr(self, f"_{name}")(request)

    def _ApiVersions(self, _: Any) -> Answer:
        if self.protocol is not None:
            return Answer(api_keys=[Answer(api_key=3)], supported_features=(), finalized_features=())
        feature = Answer(name="eligible.leader.replicas.version", max_version_level=self.elr)
        return Answer(
            api_keys=[Answer(api_key=QUORUM)],
            supported_features=[Answer(name="metadata.version", max_version=27)],
            finalized_features=[feature],
        )

    def _Metadata(self, _: Any) -> Answer:
        brokers = [Answer(node_id=node, rack=rack) for node, rack in self.racks.items()]
        topics = [
            Answer(
                name=name,
                error_code=0,
                is_internal=name in self.internal,
                partitions=[
                    Answer(
                        partition_index=number,
                        replica_nodes=replicas,
                        isr_nodes=self.in_sync.get(name, {}).get(number, replicas),
                        leader_id=(self.in_sync.get(name, {}).get(number, replicas) or [-1])[0],
                    )
                    for number, replicas in partitions.items()
                ],
            )
            for name, partitions in self.topics.items()
        ]
        return Answer(brokers=brokers, topics=topics)

    def _DescribeQuorum(self, _: Any) -> Answer:
        if "DescribeQuorum" in self.denied:
            return Answer(error_code=CLUSTER_DENIED, topics=[])
        voters = [Answer(replica_id=node, log_end_offset=1) for node in self.voters]
        partition = Answer(error_code=0, leader_id=1, leader_epoch=1, high_watermark=1, current_voters=voters)
        return Answer(error_code=0, topics=[Answer(partitions=[partition])])

    def _DescribeConfigs(self, request: Any) -> Answer:
        results = []
        for each in request.resources:
            if each.resource_name in self.denied:
                results.append(Answer(error_code=TOPIC_DENIED, resource_name=each.resource_name, configs=[]))
                continue
            settings = {**DEFAULTS, **self.settings.get(each.resource_name, {})}
            if self.protocol is not None:
                settings["inter.broker.protocol.version"] = self.protocol
            configs = [
                Answer(name=name, value=settings[name][0], config_source=settings[name][1])
                for name in each.configuration_keys
                if name in settings
            ]
            results.append(Answer(error_code=0, resource_name=each.resource_name, configs=configs))
        return Answer(results=results)

    def _ListGroups(self, _: Any) -> Answer:
        groups = [Answer(group_id=name, protocol_type="consumer") for name in self.committed]
        return Answer(error_code=0, groups=groups if self.asked.count("ListGroups") == 1 else [])

    def _OffsetFetch(self, request: Any) -> Answer:
        if request.group_id in self.denied:
            return Answer(error_code=GROUP_DENIED, topics=[])
        return Answer(
            error_code=0,
            topics=[
                Answer(
                    name=topic,
                    partitions=[Answer(partition_index=each, committed_offset=7) for each in partitions],
                )
                for topic, partitions in self.committed[request.group_id].items()
            ],
        )
