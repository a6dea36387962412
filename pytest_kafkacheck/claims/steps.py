"""Steps that several claims take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafka.protocol.admin import ElectLeadersRequest

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.writer import Writer

SHRINK_LIMIT = 15.0
"""Seconds for the ISR to shrink; it takes up to 1.5 times replica.lag.time.max.ms, which is 2 s."""

ELECTION_LIMIT = 20.0
"""Seconds for another leader."""

LONG_MS = 300_000
"""Age of metadata, the default of clients, with which they stay on a leader that was replaced."""


def more_acks(context: ScenarioContext, writer: Writer, count: int, limit: float, what: str) -> None:
    """Wait until more than `count` values were acknowledged from now on. Raises NotExercised, with `what`."""
    acks = len(writer.acks)
    context.require(lambda: len(writer.acks) > acks + count, limit, what)


def another_leader(context: ScenarioContext, topic: str, than: int, *, at: int) -> float:
    """Seconds until broker `at` names another leader of partition 0. Raises NotExercised."""
    return context.require(
        lambda: context.view(topic, at=at).leader not in (-1, than),
        ELECTION_LIMIT,
        f"another leader than {than}",
    )


def elect_preferred(context: ScenarioContext, *topics: str, at: int) -> None:
    """Ask that broker, and no other one, for an election of the preferred leaders of partitions 0.

    Raises NotExercised where it refuses.
    """
    Topic = ElectLeadersRequest.TopicPartitions
    request = ElectLeadersRequest(
        version=1,
        election_type=0,
        topic_partitions=[Topic(topic=topic, partitions=[0]) for topic in topics],
        timeout_ms=5000,
    )
    code = context.ask(at)(request).error_code
    exercised(not code, f"the election was refused with error {code}")


def elect_uncleanly(context: ScenarioContext, topic: str, than: int, *, at: int) -> None:
    """An administrator asks for an unclean election of partition 0, whose leader `than` is down.

    Raises NotExercised where the partition still has a leader, or gets no other one.
    """
    context.require(lambda: context.view(topic, at=at).leader < 0, 20, "the partition has no leader")
    context.cluster.kafka.elect(topic, 0, unclean=True)
    another_leader(context, topic, than, at=at)


@contextmanager
def killed(context: ScenarioContext, *nodes: int) -> Iterator[None]:
    """These nodes are killed, and started again at the end."""
    for node in nodes:
        context.cluster.nodes[node].kill()
    states = {node: context.cluster.nodes[node].state() for node in nodes}
    exercised(set(states.values()) == {"stopped"}, f"after SIGKILL nodes are {states}")
    try:
        yield
    finally:
        for node in nodes:
            context.cluster.nodes[node].start()


@contextmanager
def stopped(context: ScenarioContext, node: int) -> Iterator[None]:
    """This node is shut down in a controlled way, and started again at the end."""
    context.cluster.nodes[node].stop()
    state = context.cluster.nodes[node].state()
    exercised(state == "stopped", f"after SIGTERM node {node} is {state}")
    try:
        yield
    finally:
        context.cluster.nodes[node].start()


@contextmanager
def leader_alone_in_sync(context: ScenarioContext, topic: str, writer: Writer) -> Iterator[float]:
    """Followers get no records from the leader, and the ISR has shrunk to it. Controllers reach all of them.

    writer  writes to the topic: the ISR of an idle partition does not shrink.
    Yields the seconds that it took. Raises NotExercised where the ISR does not shrink.
    """
    context.require(lambda: len(writer.acks) > 10, 15, "writes are acknowledged")
    leader, *followers = context.view(topic).replicas
    with context.cluster.fault(partition([[leader], followers], plane="replication")):
        yield context.require(
            lambda: context.view(topic, at=leader).isr == (leader,),
            SHRINK_LIMIT,
            "the ISR shrinks to the leader",
        )
