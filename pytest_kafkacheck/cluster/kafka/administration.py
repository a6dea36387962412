"""Requests to Kafka itself: elections, reassignments, settings, topics, groups, transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import kafka.errors
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, RequestTimedOutError
from kafka.protocol.producer import InitProducerIdRequest
from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from nemesis.cluster import Registration
from nemesis.triggers import REBALANCING
from pytest_kafkacheck.cluster.kafka import metadata_views, topics, zookeeper
from pytest_kafkacheck.cluster.kafka.admin import admin_client
from pytest_kafkacheck.cluster.kafka.former_values import FormerValues, Key, as_value, written_down
from pytest_kafkacheck.cluster.kafka.metadata_views import registration
from pytest_kafkacheck.cluster.kafka.topics import Report, reported, topic_id
from pytest_kafkacheck.cluster.kafka.waiting import RunningCluster
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.connection import Address, ask
from workloads.clients.coordination import NotClassic, require_classic
from workloads.clients.kafka_python import access
from workloads.clients.kafka_python.member import ASSIGNORS
from workloads.clients.requests import EARLIEST

REQUEST_LIMIT = 10.0
"""Seconds for one request of the library's admin client."""

LIMIT = 20.0
"""Seconds for which a request is repeated while brokers come and go."""

FENCED_LIMIT_MS = 60_000
"""Milliseconds: transaction time-out of the producer that fences another one."""


class Membership(Protocol):
    """What needs control over the cluster's nodes, not only requests: adds, removes and changes them."""

    def add_broker(self) -> int:
        """Start one more broker. Returns its node id when the cluster has settled."""
        ...

    def remove_broker(self, node: int) -> None:
        """Move the broker's replicas away, stop and unregister it. Returns when the cluster has settled."""
        ...

    def change_release(self, node: int, version: str) -> None:
        """Give a stopped node the files of another release. It keeps its data, and is not started."""
        ...


class Administration:
    """Implements ``nemesis.cluster.Kafka``.

    former  where the values before a change of a topic are written down; None: nowhere.
    """

    def __init__(
        self, cluster: RunningCluster, membership: Membership, *, former: FormerValues | None = None
    ) -> None:
        self._cluster = cluster
        self._membership = membership
        self._former = former
        self.report: Report | None = None
        """Takes each deletion and creation of a topic. A run sets it, because a fault may recreate a topic."""

    def elect(self, topic: str, partition: int, *, unclean: bool) -> None:
        def elected(client: Any) -> None:
            answer = client.elect_leaders(int(unclean), {topic: [partition]}, raise_errors=False)
            code = answer.error_code or next(
                (
                    each.error_code
                    for found in answer.replica_election_results
                    for each in found.partition_result
                ),
                0,
            )
            error = kafka.errors.for_code(code)
            if code and error.__name__ != "ElectionNotNeededError":
                raise error(f"election of {topic}-{partition}")

        self._ask_admin(elected)

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        def moved(client: Any) -> None:
            log = TopicPartition(topic, partition)
            for error in client.alter_partition_reassignments({log: list(replicas)}).values():
                if error:
                    raise ValueError(
                        f"Kafka refused to move {topic}-{partition} to {list(replicas)}: {error}"
                    )

        key = Key("replicas", topic, str(partition))

        def before() -> dict[Key, str | None]:
            view = self._view(topic).get((topic, partition))
            return {key: as_value(view.replicas)} if view else {}

        with written_down(self._former, {key: as_value(replicas)}, before):
            self._ask_admin(moved)

    def epoch(self, topic: str, partition: int) -> int:
        view = metadata_views.newest(metadata_views.views(self._cluster.brokers, [topic]), (topic, partition))
        return view.leader_epoch if view else -1

    def ends(self, topic: str, partition: int) -> tuple[int, int]:
        leader = self._cluster.leader(topic, partition)
        if leader is None:
            raise ConnectionError(f"{topic}-{partition} has no leader that could report its ends")
        address, log = self._cluster.brokers[leader], (topic, partition)
        found = [metadata_views.offset(address, log, at=EARLIEST), metadata_views.offset(address, log)]
        for code, _ in found:
            if code:
                raise ConnectionError(f"{topic}-{partition}: ListOffsets answered error {code}")
        return found[0][1], found[1][1]

    def partitions(self, topic: str) -> int:
        found = metadata_views.views(self._cluster.brokers, [topic]).values()
        return min((sum(name == topic for name, _ in view) for view in found), default=0)

    def add_partitions(self, topic: str, total: int) -> None:
        self._ask_admin(lambda client: client.create_partitions({topic: total}))

    def recreate(self, topic: str) -> None:
        layout = {
            partition: view.replicas for (name, partition), view in self._view(topic).items() if name == topic
        }
        config = self.topic_config(topic)
        brokers = self._cluster.brokers
        with reported(brokers, topic, "deleted", self.report):
            topics.delete(brokers, topic)

        def created() -> None:
            # CreateTopics reports that the topic exists until all brokers have deleted it.
            topics.create(brokers, topic, assignment=layout, config=config)
            if not self.topic_id(topic):
                raise ConnectionError(f"topic {topic} is still being deleted")

        with reported(brokers, topic, "recreated", self.report):
            self._retry(created)

    def topic_id(self, topic: str) -> str:
        ids = set()
        for address in self._cluster.brokers.values():
            try:
                ids.add(topic_id(address, topic) or "")
            except OSError:
                continue
        return ids.pop() if len(ids) == 1 else ""

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        self._ask_admin(lambda client: client.delete_records({TopicPartition(topic, partition): before}))

    def topic_config(self, topic: str) -> Mapping[str, str]:
        return self._config(ConfigResourceType.TOPIC, topic)

    def configure_topic(self, topic: str, settings: Mapping[str, str | None]) -> None:
        keys = {name: Key("setting", topic, name) for name in settings}

        def before() -> dict[Key, str | None]:
            return {keys[name]: value for name, value in self.topic_config(topic).items() if name in keys}

        with written_down(self._former, {keys[name]: settings[name] for name in settings}, before):
            self._configure(ConfigResourceType.TOPIC, topic, settings)

    def broker_config(self, node: int) -> Mapping[str, str]:
        return self._config(ConfigResourceType.BROKER, str(node))

    def configure_broker(self, node: int, settings: Mapping[str, str | None]) -> None:
        self._configure(ConfigResourceType.BROKER, str(node), settings)

    def group(self, group: str) -> tuple[str, int]:
        described = self._describe_group(group)
        return described["group_state"], len(described["members"])

    def rebalance(self, group: str) -> int:
        topics, assignor = self._retry(lambda: self._subscribed(group))
        # Brokers refuse a member that has not the assignor of the others.
        own = {"partition_assignment_strategy": [ASSIGNORS[assignor]]} if assignor in ASSIGNORS else {}
        consumer = KafkaConsumer(
            *topics,
            group_id=group,
            client_id="kafkacheck-rebalance",
            enable_auto_commit=False,
            **own,
            **access(self._cluster.brokers.values()),
        )
        try:

            def joined() -> int:
                consumer.poll(timeout_ms=200, max_records=1)
                # A member may get no partition, but it always has a generation, which kafka-python does not publish.
                generation = consumer._coordinator.generation_if_stable()
                if generation is None or generation.generation_id < 1:
                    raise ConnectionError(f"not yet a member of {group}")
                return int(generation.generation_id)

            return int(self._retry(joined))
        finally:
            consumer.close(autocommit=False)

    def transaction(self, name: str) -> tuple[str, int]:
        try:
            found = self._ask_admin(lambda client: client.describe_transactions([name]))[name]
        except ValueError:
            return "unknown", -1
        return str(getattr(found.state, "value", found.state)), int(found.producer_epoch)

    def fence(self, name: str) -> int:
        def taken() -> int:
            request = InitProducerIdRequest(
                version=1, transactional_id=name, transaction_timeout_ms=FENCED_LIMIT_MS
            )
            answer = ask(self._coordinator_address(name), request, timeout=REQUEST_LIMIT)
            if answer.error_code:
                # The coordinator aborts an open transaction first, which takes a moment.
                raise ConnectionError(f"InitProducerId of {name} answered error {answer.error_code}")
            return int(answer.producer_epoch)

        return int(self._retry(taken))

    def delete_controller(self) -> None:
        zookeeper.delete_controller(self._cluster.ensemble)

    def controller_epoch(self) -> int:
        if not self._cluster.spec.kraft:
            return zookeeper.controller_epoch(self._cluster.ensemble)
        found = metadata_views.quorum(self._cluster.brokers)
        return found.epoch if found else -1

    def add_broker(self) -> int:
        return self._membership.add_broker()

    def remove_broker(self, node: int) -> None:
        self._membership.remove_broker(node)

    def change_release(self, node: int, version: str) -> None:
        self._membership.change_release(node, version)

    def registration(self, node: int) -> Registration:
        if self._cluster.spec.kraft:
            return registration(self._cluster.brokers, node)
        # In ZooKeeper mode a broker is registered as long as its session lasts.
        is_registered = node in zookeeper.registered(self._cluster.ensemble)
        return "active" if is_registered else "unregistered"

    def coordinator(self, kind: Literal["group", "transaction"], name: str) -> int | None:
        """Node id of the coordinator of a group or a transactional id."""
        return metadata_views.coordinator(self._cluster.brokers, kind, name)

    def _coordinator_address(self, name: str) -> Address:
        node = self.coordinator("transaction", name)
        if node is None:
            raise ConnectionError(f"no broker knows the transaction coordinator of {name}")
        return self._cluster.brokers[node]

    def _view(self, topic: str) -> metadata_views.View:
        return max(metadata_views.views(self._cluster.brokers, [topic]).values(), key=len, default={})

    def _subscribed(self, group: str) -> tuple[list[str], str]:
        """Topics to which the group's members subscribe, and their assignor; reported of stable groups only.

        Raises ConnectionError while the group rebalances, ValueError when it has no members.
        """
        described = self._describe_group(group)
        if described["group_state"] in REBALANCING:
            raise ConnectionError(f"group {group} is rebalancing")
        found = {
            topic
            for member in described["members"]
            for topic in (member.get("member_metadata") or {}).get("topics", ())
        }
        if not found:
            raise ValueError(f"group {group} has no members whose topics are known")
        return sorted(found), str(described["protocol_data"])

    def _describe_group(self, group: str) -> Any:
        described = self._ask_admin(lambda client: client.describe_groups([group]))[group]
        try:
            require_classic(group, described["error"])
        except NotClassic as problem:
            raise ValueError(str(problem)) from problem
        return described

    def _config(self, kind: Any, name: str) -> Mapping[str, str]:
        wanted = [ConfigResource(kind, name)]

        def described(client: Any) -> Any:
            # The library drops the error of an answer, such as that of a broker that does not know a new topic yet.
            # Without an error there are defaults.
            resources = client.describe_configs(wanted, config_filter="all")
            found = {key: data for each in resources.values() for key, data in each.get(name, {}).items()}
            if not found:
                raise ConnectionError(f"a broker does not know the settings of {name}")
            return found

        return {
            key: str(data["value"])
            for key, data in self._ask_admin(described).items()
            if data["config_source"] in DYNAMIC
        }

    def _configure(self, kind: Any, name: str, settings: Mapping[str, str | None]) -> None:
        wanted = {
            key: ("DELETE", None) if value is None else ("SET", value) for key, value in settings.items()
        }
        self._ask_admin(lambda client: client.alter_configs([ConfigResource(kind, name, configs=wanted)]))

    def _ask_admin(self, request: Callable[[Any], Any]) -> Any:
        """Call `request` with an admin client, and again while no broker answers.

        Raises ConnectionError when none answers in time, ValueError when Kafka refuses the request.
        """
        # In KRaft mode the library is told that some broker is the controller, and that broker forwards the request.
        # One that is cut off from the controllers answers nothing. When this is noticed it has been fenced, so the
        # others do not name it again.
        silent: set[int | None] = set()

        def once() -> Any:
            known = self._cluster.brokers
            left = {node: address for node, address in known.items() if node not in silent}
            with admin_client(left or known, request_limit=REQUEST_LIMIT) as client:
                try:
                    return request(client)
                except RequestTimedOutError:
                    silent.add(client._controller_id)  # kafka-python does not publish it
                    raise

        return self._retry(once)

    def _retry(self, once: Callable[[], Any]) -> Any:
        retrying = Retrying(
            stop=stop_after_delay(LIMIT),
            wait=wait_fixed(0.2),
            retry=retry_if_exception_type((OSError, _Again, InfrastructureError)),
        )

        def attempt() -> Any:
            try:
                return once()
            except KafkaError as error:
                if getattr(error, "retriable", False) or isinstance(error, kafka.errors.KafkaConnectionError):
                    raise _Again(repr(error)) from error
                raise ValueError(f"Kafka refused: {error!r}") from error

        try:
            return retrying(attempt)
        except RetryError as error:
            raise ConnectionError(
                f"no answer within {LIMIT:.0f} s: {error.last_attempt.exception()!r}"
            ) from error


class _Again(Exception):
    """A retriable error: the cluster is changing, and the same request may succeed later."""


DYNAMIC = {"DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG"}
"""Sources of settings that were set on the resource itself."""
