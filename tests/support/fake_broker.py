"""A broker on a TCP port that answers producers and transactions with the errors that a test asks for.

Unlike a real one it can return any error at any time, and it shows which requests a client sent. It is a cluster of
one broker, leads all partitions and coordinates all transactions. Requests are served one at a time.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from kafka.record import MemoryRecords

from workloads.clients.connection import Address
from workloads.clients.protocol import Log

DROP = "drop"
"""Instead of an error: the connection ends, and the request has no answer."""

SILENT = "silent"
"""Instead of an error: neither this request nor a later one on its connection has an answer."""

Answer = int | str

VERSIONS = {
    ProduceRequest: (3, 8),
    MetadataRequest: (0, 8),
    FindCoordinatorRequest: (0, 2),
    ApiVersionsRequest: (0, 3),
    InitProducerIdRequest: (0, 4),
    AddPartitionsToTxnRequest: (0, 3),
    AddOffsetsToTxnRequest: (0, 3),
    TxnOffsetCommitRequest: (0, 3),
    EndTxnRequest: (0, 3),
}
"""Which every client from 2.8 to 4.4 speaks."""

OF_TRANSACTIONS_2 = {ProduceRequest: (3, 12), TxnOffsetCommitRequest: (0, 5), EndTxnRequest: (0, 5)}
"""With `transaction.version` 2 (KIP-890)."""

UNSUPPORTED_VERSION = 35

NODE, PARTITIONS = 1, 2


class FakeBroker:
    """transactions: 2 for those of KIP-890, which clients from 4.0 on use."""

    def __init__(self, *, transactions: int = 1) -> None:
        self._transactions = transactions
        self._versions = VERSIONS | (OF_TRANSACTIONS_2 if transactions == 2 else {})
        self._server = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._answers: dict[str, deque[Answer]] = defaultdict(deque)
        self._lock = threading.Lock()
        self._epoch = -1
        self._end = 0
        self._refused: dict[str, int] = {}
        self.asked: list[tuple[str, Any]] = []
        """Name and content of each request, in order."""
        self.produced: Counter[bytes] = Counter()
        """Values of records, and in how many requests each was."""
        threading.Thread(target=self._accept, name="fake broker", daemon=True).start()

    @property
    def bootstrap(self) -> tuple[Address, ...]:
        return (Address("127.0.0.1", self._server.getsockname()[1]),)

    def answer(self, request: type, *answers: Answer) -> None:
        """The next requests of this kind get these error codes, `DROP` or `SILENT`; later ones succeed."""
        self._answers[request.__name__].extend(answers)

    def refuse_topic(self, topic: str, error: int) -> None:
        """Metadata has this error for the topic from now on."""
        self._refused[topic] = error

    def count(self, request: type) -> int:
        return sum(name == request.__name__ for name, _ in self.asked)

    def ends(self) -> list[bool]:
        """The requests that end a transaction: whether each asked for a commit."""
        return [bool(content.committed) for name, content in self.asked if name == "EndTxnRequest"]

    def close(self) -> None:
        for each in (self._server, *self._connections):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as input:
            while size := input.read(4):
                frame = input.read(struct.unpack(">i", size)[0])
                key, version, correlation = struct.unpack_from(">hhi", frame)
                (kind,) = (each for each in VERSIONS if key == each.API_KEY)
                with self._lock:
                    if kind is ApiVersionsRequest and version > VERSIONS[kind][1]:
                        # As a broker does with one of a later Kafka, whose form it does not know.
                        version = 0
                        response = self._ApiVersionsRequest(None, UNSUPPORTED_VERSION)
                    else:
                        response = self._response(kind, kind.decode(frame, version=version, header=True))
                if isinstance(response, str):
                    while response == SILENT and input.read(1):
                        pass
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                if response is not None:
                    response.API_VERSION = version
                    response.with_header(correlation_id=correlation)
                    connection.sendall(response.encode(header=True, framed=True))

    def _response(self, kind: Any, request: Any) -> Any:
        self.asked.append((kind.__name__, request))
        logs = _logs(request) if kind is ProduceRequest else []
        queue = self._answers[kind.__name__]
        answer = queue.popleft() if queue else 0
        for _, values in logs:
            self.produced.update(values)
        if isinstance(answer, str):
            return answer
        if kind is ProduceRequest:
            return self._produced(logs, answer) if request.acks else None
        return getattr(self, f"_{kind.__name__}")(request, answer)

    def _produced(self, logs: list[tuple[Log, list[bytes]]], error: int) -> Any:
        by_topic: dict[str, list[Any]] = defaultdict(list)
        for (topic, partition), values in logs:
            by_topic[topic].append(
                ProduceResponse.TopicProduceResponse.PartitionProduceResponse(
                    index=partition, error_code=error, base_offset=-1 if error else self._end,
                    log_append_time_ms=-1, log_start_offset=0, record_errors=[], error_message=None,
                )
            )  # fmt: skip
            self._end += 0 if error else len(values)
        topics = [
            ProduceResponse.TopicProduceResponse(name=name, partition_responses=each)
            for name, each in by_topic.items()
        ]
        return ProduceResponse(responses=topics, throttle_time_ms=0, node_endpoints=[])

    def _ApiVersionsRequest(self, _: Any, error: int) -> Any:
        Feature = ApiVersionsResponse.FinalizedFeatureKey
        keys = [
            ApiVersionsResponse.ApiVersion(api_key=kind.API_KEY, min_version=low, max_version=high)
            for kind, (low, high) in self._versions.items()
        ]
        features = [
            Feature(name="transaction.version", max_version_level=2, min_version_level=2)
        ] * (self._transactions == 2)  # fmt: skip
        return ApiVersionsResponse(
            error_code=error, api_keys=keys, throttle_time_ms=0, supported_features=[],
            finalized_features_epoch=1, finalized_features=features, zk_migration_ready=False,
        )  # fmt: skip

    def _MetadataRequest(self, request: Any, _: int) -> Any:
        Topic = MetadataResponse.MetadataResponseTopic
        (address,) = self.bootstrap
        broker = MetadataResponse.MetadataResponseBroker(
            node_id=NODE, host=address.host, port=address.port, rack=None
        )
        partitions = [
            Topic.MetadataResponsePartition(
                error_code=0, partition_index=number, leader_id=NODE, leader_epoch=0, replica_nodes=[NODE],
                isr_nodes=[NODE], offline_replicas=[],
            )
            for number in range(PARTITIONS)
        ]  # fmt: skip
        topics = [
            Topic(
                error_code=self._refused.get(each.name, 0), name=each.name, topic_id=UUID(int=1), is_internal=False,
                partitions=[] if each.name in self._refused else partitions,
            )
            for each in request.topics or ()
        ]  # fmt: skip
        return MetadataResponse(
            throttle_time_ms=0, brokers=[broker], cluster_id="fake", controller_id=NODE, topics=topics
        )

    def _FindCoordinatorRequest(self, _: Any, error: int) -> Any:
        (address,) = self.bootstrap
        return FindCoordinatorResponse(
            throttle_time_ms=0, error_code=error, error_message=None, node_id=NODE, host=address.host,
            port=address.port,
        )  # fmt: skip

    def _InitProducerIdRequest(self, _: Any, error: int) -> Any:
        self._epoch += 0 if error else 1
        known = (7000, self._epoch) if not error else (-1, -1)
        return InitProducerIdResponse(
            throttle_time_ms=0, error_code=error, producer_id=known[0], producer_epoch=known[1]
        )

    def _AddPartitionsToTxnRequest(self, request: Any, error: int) -> Any:
        Topic = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
        topics = [
            Topic(
                name=each.name,
                results_by_partition=[
                    Topic.AddPartitionsToTxnPartitionResult(
                        partition_index=number, partition_error_code=error
                    )
                    for number in each.partitions
                ],
            )
            for each in request.v3_and_below_topics
        ]
        return AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_topic_v3_and_below=topics)

    def _AddOffsetsToTxnRequest(self, _: Any, error: int) -> Any:
        return AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=error)

    def _TxnOffsetCommitRequest(self, request: Any, error: int) -> Any:
        Topic = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
        Partition = Topic.TxnOffsetCommitResponsePartition
        topics = [
            Topic(
                name=each.name,
                partitions=[
                    Partition(partition_index=part.partition_index, error_code=error)
                    for part in each.partitions
                ],
            )
            for each in request.topics
        ]
        return TxnOffsetCommitResponse(throttle_time_ms=0, topics=topics)

    def _EndTxnRequest(self, _: Any, error: int) -> Any:
        if self._transactions == 2 and not error:
            self._epoch += 1
        known = (7000, self._epoch) if self._transactions == 2 and not error else (-1, -1)
        return EndTxnResponse(
            throttle_time_ms=0, error_code=error, producer_id=known[0], producer_epoch=known[1]
        )


def _logs(request: Any) -> list[tuple[Log, list[bytes]]]:
    """The partitions of a request to produce, with the values of their records."""
    return [
        ((topic.name, part.index), [record.value for batch in _batches(part.records) for record in batch])
        for topic in request.topic_data
        for part in topic.partition_data
    ]


def _batches(records: bytes) -> Iterator[Any]:
    memory = MemoryRecords(bytes(records))
    while (batch := memory.next_batch()) is not None:
        yield batch


@contextmanager
def fake_broker(*, transactions: int = 1) -> Iterator[FakeBroker]:
    broker = FakeBroker(transactions=transactions)
    try:
        yield broker
    finally:
        broker.close()
