"""A member commits while the group waits for it to join again, and once more when the next generation has begun. In
another group, a member in a process is paused for longer than its session, and commits when it goes on.

Exercised: the group was rebalancing before and after the first commit, and in the other group the successor of the
paused member had all partitions and had committed.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable

from kafka.protocol.consumer import OffsetCommitRequest

from nemesis.tasks import in_thread
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from workloads.clients import coordination
from workloads.clients.kafka_python import go_on_joining

ILLEGAL_GENERATION, UNKNOWN_MEMBER = 22, 25
"""Error codes."""

PREPARING = "PreparingRebalance"
"""The group waits for its members to join again; those of the last generation may still commit."""

RECORDS, POSITION, GRACE, LOWER = 50, 20, 30, 10
"""Positions: of a first commit, of one in a rebalance, and of one that comes too late."""

PROGRAM = """
import json, sys
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata
from workloads.clients.kafka_python import access, go_on_joining
settings, topic, position = json.loads(sys.argv[1])
access(())
consumer = KafkaConsumer(**settings)
consumer.subscribe([topic])
while len(consumer.assignment()) < 2:
    go_on_joining(consumer)
    consumer.poll(timeout_ms=100)
group = consumer.group_metadata()
print(json.dumps([group.generation_id, group.member_id]), flush=True)
sys.stdin.readline()
try:
    consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(position, "", -1)})
    print(json.dumps("accepted"), flush=True)
except KafkaError as error:
    print(json.dumps(type(error).__name__), flush=True)
"""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(context.brokers, context.brokers)
    context.write(topic, (f"v{number}" for number in range(RECORDS)))
    in_time, late, committed = _rebalance(context, topic)
    refused, own, kept = _paused(context, topic)
    return Answer(
        holds=in_time == 0
        and late == ILLEGAL_GENERATION
        and committed == GRACE
        and refused == UNKNOWN_MEMBER
        and own != "accepted"
        and kept == POSITION,
        seen=f"in the rebalance a commit was answered with error {in_time}, and one of that generation after it "
        f"with {late}: the committed position is {committed}. A commit of a member whose session had ended was "
        f"answered with {refused}, and its own one ended with {own}: the position of its successor is {kept}",
        figures={"in the rebalance": in_time, "after it": late, "of a paused member": refused},
    )


def _rebalance(context: ScenarioContext, topic: str) -> tuple[int, int, int]:
    """Error codes of a commit in a rebalance, and of one that is a generation late; the position at the end."""
    group = f"{topic}-grace"
    # Its heartbeats go on in the background; it joins again at its next poll.
    member = context.consumer(None, **context.group_settings(group))
    member.subscribe([topic])

    def has_joined() -> bool:
        go_on_joining(member)
        member.poll(timeout_ms=100)
        return len(member.assignment()) == 2

    context.require(has_joined, 20, "the member has all partitions")
    old = member.group_metadata()
    coordinator = _coordinator(context, group)

    def is_preparing() -> bool:
        return coordination.state(context.ask(coordinator), "group", group) == PREPARING

    commit = _committing(context, coordinator, group, topic, old.generation_id, old.member_id)
    exercised(commit(POSITION) == 0, "a commit before the rebalance was refused")
    other = context.member(group, topic)
    context.require(is_preparing, 20, "the group rebalances")
    in_time = commit(GRACE)
    exercised(is_preparing(), "the rebalance has ended meanwhile")

    def is_next() -> bool:
        go_on_joining(member)
        member.poll(timeout_ms=100)
        now = member.group_metadata().generation_id
        return bool(now > old.generation_id and member.assignment() and other.partitions)

    context.require(is_next, 20, "the next generation")
    return in_time, commit(LOWER), context.committed(group, topic)


def _paused(context: ScenarioContext, topic: str) -> tuple[int, str, int]:
    """The error code of a commit in the name of a paused member, what its own commit ended with, and the position."""
    group = f"{topic}-paused"
    arguments = json.dumps([context.group_settings(group), topic, LOWER])
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            generation, identity = json.loads(_line(context, process, "the member has all partitions"))
            coordinator = _coordinator(context, group)
            process.send_signal(signal.SIGSTOP)
            successor = context.member(group, topic)
            context.require(lambda: len(successor.partitions) == 2, 30, "its successor has all partitions")
            commit = _committing(context, coordinator, group, topic, successor.generation, successor.identity)
            exercised(commit(POSITION) == 0, "the commit of the successor was refused")
            refused = _committing(context, coordinator, group, topic, generation, identity)(LOWER)
            assert process.stdin is not None
            process.stdin.write("commit\n")
            process.stdin.flush()
            process.send_signal(signal.SIGCONT)
            own = json.loads(_line(context, process, "the member has committed"))
        finally:
            process.kill()
    return refused, own, context.committed(group, topic)


def _line(context: ScenarioContext, process: subprocess.Popen[str], what: str) -> str:
    assert process.stdout is not None
    line = in_thread(process.stdout.readline, "kafkacheck-member")
    context.require(line.done, 30, what)
    return line.result() or "null"


def _coordinator(context: ScenarioContext, group: str) -> int:
    found = context.cluster.coordinator("group", group)
    assert found is not None
    return found


def _committing(
    context: ScenarioContext, coordinator: int, group: str, topic: str, generation: int, identity: str
) -> Callable[[int], int]:
    """Commits a position of partition 0 in the name of a member, and returns the error code."""

    def commit(offset: int) -> int:
        Topic = OffsetCommitRequest.OffsetCommitRequestTopic
        partition = Topic.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        request = OffsetCommitRequest(
            version=5,
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=identity,
            topics=[Topic(name=topic, partitions=[partition])],
        )
        return int(context.ask(coordinator)(request).topics[0].partitions[0].error_code)

    return commit


CLAIM = Claim(
    id="F5",
    title="the commit of a zombie is refused",
    text="While a group rebalances, its members may still commit. One of an older generation may not, nor one that "
    "was paused for longer than its session: its commit is refused, and the committed position stays.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Client-side+Assignment+Proposal",
    cases=CURRENT,
    show=show,
)
