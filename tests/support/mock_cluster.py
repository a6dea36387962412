"""librdkafka's mock cluster: brokers inside this process that answer with the errors that a test asks for.

It belongs to a producer of confluent-kafka, whose C handle is needed to control it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import confluent_kafka

from workloads.clients.connection import Address

PRODUCE, FETCH, END_TXN = 0, 1, 26
"""Numbers of requests in Kafka's protocol."""

API_VERSION = (2, 3)
"""Setting ``api_version`` of kafka-python, which cannot negotiate with this cluster."""

HANDLE_OFFSET = 16
"""Of the C handle in the Python object: behind the reference count and the type."""


class MockCluster:
    """Three brokers, by default."""

    def __init__(self, library: Any, handle: Any) -> None:
        self._library, self._handle = library, handle

    @property
    def bootstrap(self) -> tuple[Address, ...]:
        text = self._library.rd_kafka_mock_cluster_bootstraps(self._handle).decode()
        pairs = (each.rpartition(":") for each in text.split(","))
        return tuple(Address(host, int(port)) for host, _, port in pairs)

    def create(self, topic: str, partitions: int = 1, copies: int = 3) -> None:
        self._check(
            self._library.rd_kafka_mock_topic_create(self._handle, topic.encode(), partitions, copies)
        )

    def answer_with(self, request: int, *codes: int) -> None:
        """The next answers to requests of this kind."""
        array = (ctypes.c_int * len(codes))(*codes)
        self._library.rd_kafka_mock_push_request_errors_array(self._handle, request, len(codes), array)

    def delay(self, broker: int, milliseconds: int) -> None:
        """Of every answer of a broker."""
        self._check(self._library.rd_kafka_mock_broker_set_rtt(self._handle, broker, milliseconds))

    def lead(self, topic: str, partition: int, broker: int) -> None:
        """Make a broker the leader, in a new epoch."""
        self._check(
            self._library.rd_kafka_mock_partition_set_leader(self._handle, topic.encode(), partition, broker)
        )

    def coordinate(self, name: str, broker: int, kind: Literal["group", "transaction"] = "group") -> None:
        """Make a broker the coordinator of a consumer group or a transactional id."""
        self._check(
            self._library.rd_kafka_mock_coordinator_set(self._handle, kind.encode(), name.encode(), broker)
        )

    def stop(self, broker: int) -> None:
        self._check(self._library.rd_kafka_mock_broker_set_down(self._handle, broker))

    def start(self, broker: int) -> None:
        self._check(self._library.rd_kafka_mock_broker_set_up(self._handle, broker))

    def _check(self, code: int) -> None:
        assert code == 0, f"librdkafka's mock cluster answered {code}"


@contextmanager
def mock_cluster(brokers: int = 3) -> Iterator[MockCluster]:
    owner = confluent_kafka.Producer(
        {"test.mock.num.brokers": brokers, "bootstrap.servers": "mock", "log_level": 2}
    )
    library = _library()
    client = ctypes.c_void_p.from_address(id(owner) + HANDLE_OFFSET)
    handle = ctypes.c_void_p(library.rd_kafka_handle_mock_cluster(client))
    # As real brokers do, these wait 3 s for more members of a new group.
    library.rd_kafka_mock_group_initial_rebalance_delay_ms(handle, 100)
    yield MockCluster(library, handle)
    del owner


def _library() -> Any:
    """The shared library that confluent-kafka has loaded."""
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    library = ctypes.CDLL(str(next(folder.glob("librdkafka*.so*"))))
    library.rd_kafka_handle_mock_cluster.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    # Its number of codes is a size_t, and they are the last argument.
    library.rd_kafka_mock_push_request_errors_array.argtypes = (
        ctypes.c_void_p, ctypes.c_int16, ctypes.c_size_t, ctypes.c_void_p,
    )  # fmt: skip
    return library
