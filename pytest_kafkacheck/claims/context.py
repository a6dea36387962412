"""What a claim's program works with: topics, clients and requests that end with it."""

from __future__ import annotations

import logging
import secrets
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Self

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from nemesis.tasks import wait_until
from pytest_kafkacheck.claims import members
from pytest_kafkacheck.claims.exercising import NotExercised
from pytest_kafkacheck.claims.produce import append
from pytest_kafkacheck.claims.reader import Reader
from pytest_kafkacheck.claims.writer import Writer
from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.clients import requests
from workloads.clients.kafka_python import access
from workloads.clients.kafka_python.producer import close_producer
from workloads.clients.requests import LATEST, REPLICA, Leadership, Watermarks

if TYPE_CHECKING:
    from pytest_kafkacheck.claims.java_client import JavaClient

log = logging.getLogger(__name__)

CLOSE_LIMIT = 10.0
"""Seconds for a producer to send what it still has."""

CLIENT: dict[str, Any] = {
    "metadata_max_age_ms": 1000,
    "request_timeout_ms": 3000,
    "bootstrap_timeout_ms": 5000,
}
"""Settings of clients, which have to learn of a new leader within seconds."""


class ScenarioContext:
    """A context manager: leaving it closes the clients, deletes the topics and waits for the cluster to settle.

    An error of this clean-up is only logged where the program has raised one.
    """

    def __init__(self, cluster: AnyCluster, *, run: Callable[[Experiment], Run], client: str = "") -> None:
        self.cluster = cluster
        self.run = run
        """Runs an experiment on this cluster, and judges it."""
        self._client = client
        self._stack = ExitStack()
        self._topics: list[str] = []

    def __enter__(self) -> Self:
        # The library reports each connection that a fault breaks.
        library = logging.getLogger("kafka")
        self._stack.callback(library.setLevel, library.level)
        library.setLevel(logging.CRITICAL)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        try:
            self._stack.close()
            if not isinstance(error, KeyboardInterrupt):  # after that the cluster is removed
                self._settle()
        except Exception as problem:
            if error is None:
                raise
            log.warning("cleaning up after %r: %r", error, problem)

    def _settle(self) -> None:
        for name in self._topics:
            topics.delete(self.cluster.brokers, name)
        self.cluster.wait_settled()

    @property
    def brokers(self) -> tuple[int, ...]:
        """Ids of the brokers. The first one leads new topics.

        In KRaft mode the active controller is the last one: the failure of a leader that is not it takes less time.
        In ZooKeeper mode it is the first one: replication and the controller share a port, and a leader that is cut
        off from the others must still reach the controller to change the ISR.
        """
        controller, kraft = self.cluster.controller(), self.cluster.spec.kraft
        return tuple(sorted(self.cluster.brokers, key=lambda node: ((node == controller) == kraft, node)))

    def topic(
        self,
        *assignments: Sequence[int],
        config: Mapping[str, object] | None = None,
    ) -> str:
        """Create a topic, and return its name when every broker knows its leaders.

        assignments  the replicas of each partition, the leader first; none: one partition on all of `brokers`.
        """
        name = f"scenario-{secrets.token_hex(4)}"
        layout = dict(enumerate(assignments or [self.brokers]))
        settings = {key: str(value).lower() for key, value in (config or {}).items()}
        self._topics.append(name)
        topics.create(self.cluster.brokers, name, assignment=layout, config=settings)
        wanted = {(name, number): tuple(replicas) for number, replicas in layout.items()}

        def is_known() -> bool:
            views = metadata_views.views(self.cluster.brokers, [name])
            return len(views) == len(self.cluster.brokers) and all(
                log in view and view[log].leader == replicas[0] and set(view[log].isr) == set(replicas)
                for view in views.values()
                for log, replicas in wanted.items()
            )

        self.require(is_known, 15, f"all brokers know topic {name}")
        return name

    def producer(self, **settings: Any) -> Any:
        """A KafkaProducer, with acks="all" unless stated otherwise."""
        made = KafkaProducer(
            **{**access(self.cluster.brokers.values()), **CLIENT, "acks": "all", "linger_ms": 0, **settings}
        )
        self._stack.callback(close_producer, made, CLOSE_LIMIT)
        return made

    def consumer(self, topic: str | None = None, *, at: int | None = 0, **settings: Any) -> Any:
        """A KafkaConsumer without a group unless stated otherwise. topic: it reads partition 0 from `at`."""
        given = {"group_id": None, "auto_offset_reset": "none", "enable_auto_commit": False, **settings}
        made = KafkaConsumer(
            **{**access(self.cluster.brokers.values()), **CLIENT, "fetch_max_wait_ms": 50, **given}
        )
        self._stack.callback(made.close)
        if topic is not None:
            log = TopicPartition(topic, 0)
            made.assign([log])
            if at is not None:
                made.seek(log, at)
        return made

    def group_settings(self, group: str, **settings: Any) -> dict[str, Any]:
        """Of a member of a group, which has a short session."""
        return {
            **access(self.cluster.brokers.values()),
            **CLIENT,
            "group_id": group,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "session_timeout_ms": int(members.SESSION * 1000),
            "heartbeat_interval_ms": int(members.HEARTBEAT * 1000),
            **settings,
        }

    def member(self, group: str, topic: str, **settings: Any) -> members.Member:
        """Starts a member of a group in a thread; it leaves with this context, or at `leave`."""
        consumer = KafkaConsumer(**self.group_settings(group, **settings))
        return self._stack.enter_context(members.Member(consumer, [topic]))

    def java_client(self) -> JavaClient:
        """Starts a process of our Java client, with the release of kafka-clients that the case names.

        Raises NotExercised where that release is not on this machine and no broker image has it.
        """
        from pytest_kafkacheck.claims.java_client import JavaClient

        return self._stack.enter_context(JavaClient(self._client, self.cluster.brokers.values()))

    def next_generation_member(self, group: str, topic: str) -> members.Member:
        """As `member`, of a group with the protocol of KIP-848. It needs confluent-kafka."""
        from pytest_kafkacheck.claims.next_generation import NextGenerationMember

        return self._stack.enter_context(NextGenerationMember(self.cluster.brokers.values(), group, topic))

    def member_process(self, group: str, topic: str) -> subprocess.Popen[bytes]:
        """Starts a member of a group in a process; it is killed with this context."""
        process = members.start_process(self.group_settings(group), topic)

        def end() -> None:
            process.kill()
            process.wait()

        self._stack.callback(end)
        return process

    def writer(self, topic: str, *, prefix: str = "v", partitions: int = 1, **settings: Any) -> Writer:
        """Starts writing in a thread, to partition 0 or to the first `partitions`; see `Writer`. It ends with this
        context, or at `stop`."""
        # After a batch that expired, an idempotent producer of kafka-python sends nothing any more.
        settings = {
            "enable_idempotence": False,
            "delivery_timeout_ms": 10_000,
            "max_block_ms": 10_000,
            **settings,
        }
        writer = Writer(self.producer(**settings), topic, prefix=prefix, partitions=partitions)
        return self._stack.enter_context(writer)

    def reader(self, topic: str) -> Reader:
        """Starts reading partition 0 from its beginning in a thread. It ends with this context, or at `stop`."""
        reader = Reader(self.consumer(topic))
        self._stack.callback(reader.stop)
        reader.start()
        return reader

    def committed(self, group: str, topic: str) -> int:
        """The committed position of a group in partition 0."""
        found = self.consumer(group_id=group).committed(TopicPartition(topic, 0))
        return int(found.offset if isinstance(found, OffsetAndMetadata) else found)

    def produce(
        self, topic: str, node: int, value: str, *, acks: int = -1, limit: float = 1.0
    ) -> tuple[int, float]:
        """Send one record to partition 0 on this broker, by one request. Returns (error code, seconds to the
        answer).

        limit  seconds for which the broker may wait for replicas.
        """
        began = time.monotonic()
        code = append(self.cluster.brokers[node], topic, value, acks=acks, limit=limit)
        return code, time.monotonic() - began

    def write(self, topic: str, values: Iterable[str], **settings: Any) -> list[int]:
        """Write to partition 0, one after another. Returns the offsets. Raises KafkaError where one is refused."""
        producer = self.producer(**settings)
        return [producer.send(topic, value.encode(), partition=0).get(timeout=30).offset for value in values]

    def read(self, topic: str, *, partition: int = 0, **settings: Any) -> dict[int, str]:
        """All records of a partition by offset, up to its end now, from a fresh consumer."""
        log = TopicPartition(topic, partition)
        consumer = self.consumer(**settings)
        consumer.assign([log])
        found: dict[int, str] = {}
        limits: dict[str, int] = {}

        def bounds() -> bool:
            limits["first"] = consumer.beginning_offsets([log])[log]
            limits["end"] = consumer.end_offsets([log])[log]
            return True

        def is_read() -> bool:
            for record in consumer.poll(timeout_ms=200).get(log, ()):
                found[record.offset] = record.value.decode()
            return bool(consumer.position(log) >= limits["end"])

        self.require(bounds, 20, f"the ends of {topic}-{partition} are known")
        consumer.seek(log, limits["first"])
        self.require(is_read, 30, f"{topic}-{partition} is read")
        return found

    def ask(self, node: int) -> requests.Ask:
        """Sends requests to that broker."""
        return metadata_views.asking(self.cluster.brokers[node])

    def view(self, topic: str, partition: int = 0, *, at: int | None = None) -> Leadership:
        """A partition as broker `at` sees it; None: as the broker with the highest leader epoch does."""
        log = (topic, partition)
        if at is not None:
            return requests.metadata(self.ask(at), [topic])[log]
        found = metadata_views.newest(metadata_views.views(self.cluster.brokers, [topic]), log)
        if found is None:
            raise ConnectionError(f"no broker knows {topic}-{partition}")
        return found

    def marks(self, topic: str, node: int, partition: int = 0, *, near: int = 0) -> Watermarks:
        """High watermark, log start and last stable offset of the replica on a broker."""
        log = (topic, partition)
        return requests.watermarks(self.ask(node), {log: near})[log]

    def end(self, topic: str, node: int, partition: int = 0) -> int:
        """The log end offset of the replica on a broker."""
        log = (topic, partition)
        code, offset = requests.offsets(self.ask(node), {log: -1}, at=LATEST, asker=REPLICA)[log]
        if code:
            raise ConnectionError(f"broker {node} refuses the end of {topic}-{partition}: error {code}")
        return offset

    def wait(self, condition: Callable[[], bool], limit: float, *, pause: float = 0.02) -> float | None:
        """Seconds until the condition held, which broker errors only delay; None if it did not within `limit`."""
        began = time.monotonic()

        def holds() -> bool:
            with suppress(OSError, KafkaError, KeyError):
                return condition()
            return False

        return time.monotonic() - began if wait_until(holds, limit=limit, interval=pause) else None

    def require(self, condition: Callable[[], bool], limit: float, what: str) -> float:
        """As `wait`. Raises NotExercised where it did not hold."""
        waited = self.wait(condition, limit)
        if waited is None:
            raise NotExercised(f"not seen within {limit:g} s: {what}")
        return waited


def offsets(consumer: Any, *, count: int, limit: float) -> list[int]:
    """The offsets of the next records of a consumer with one partition: `count`, or fewer after `limit` seconds."""
    found: list[int] = []
    deadline = time.monotonic() + limit
    while len(found) < count and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=200, max_records=count - len(found)).values():
            found.extend(record.offset for record in records)
    return found
