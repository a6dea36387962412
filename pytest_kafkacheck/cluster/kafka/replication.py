"""Whether every broker follows every other one, shown by records that all of them have to store.

A new topic starts with every replica in its ISR, whether or not brokers reach each other, and Kafka removes a replica
that does not follow only after replica.lag.time.max.ms, 30 s by default. So the ISR alone proves nothing at first. A
leader acknowledges acks=all only once all members of the ISR have fetched the record.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.cluster.kafka.waiting import TIMEOUT, wait_until, write_record
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.connection import Address, Connection

PREFIX = "kafkacheck-replication-"


def wait_replicating(
    brokers: Mapping[int, Address],
    *,
    limit: float,
    made: Callable[[Sequence[str]], None],
    deleted: Callable[[Sequence[str]], None],
) -> None:
    """Wait until each broker has led a record that all others stored; on a topic that is deleted afterwards.

    limit           seconds.
    made, deleted   called before the topic is made and after it is deleted.
    Raises InfrastructureError, with the ISR, when the time is up, and UsageError where Kafka refuses the topic.
    """
    nodes = list(brokers)
    if len(nodes) < 2:
        return
    topic = f"{PREFIX}{secrets.token_hex(4)}"
    assignment = {number: [*nodes[number:], *nodes[:number]] for number in range(len(nodes))}
    made([topic])
    try:
        config = {"min.insync.replicas": str(len(nodes))}
        topics.create(brokers, topic, assignment=assignment, config=config)
        with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
            shown = [
                pool.submit(_wait_stored, brokers[node], topic, number, node, limit)
                for number, node in enumerate(nodes)
            ]
        for each in shown:
            each.result()
    finally:
        topics.delete(brokers, topic)
    deleted([topic])


def _wait_stored(address: Address, topic: str, partition: int, leader: int, limit: float) -> None:
    def missing() -> None:
        with Connection(address, timeout=2 * TIMEOUT) as connection:
            write_record(connection, topic, partition)

    try:
        wait_until(missing, f"a record that broker {leader} leads, stored by all brokers", limit=limit)
    except InfrastructureError as error:
        raise InfrastructureError(f"{error} {_isr(address, topic, partition)}") from error


def _isr(address: Address, topic: str, partition: int) -> str:
    try:
        view = metadata_views.metadata(address, [topic])[topic, partition]
    except (OSError, KeyError):
        return ""
    return (
        f"Its ISR is {list(view.isr)} of {list(view.replicas)}. See the brokers' logs for why replicas do not "
        f"follow, such as a listener between brokers that they do not reach."
    )
