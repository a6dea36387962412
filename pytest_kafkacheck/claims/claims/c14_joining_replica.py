"""A follower that has left the ISR has caught up, and the controller cannot confirm that it is in the ISR again. Then
it stands still, and the leader appends records with acks=1.

Exercised: alone in the ISR the leader had moved its mark to its log end; the follower had all records, and the leader
still saw itself alone in the ISR when it appended others and for a second after that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from nemesis.faults.partition import partition
from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import CONTROLLERS_APART, ZOOKEEPER
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import SHRINK_LIMIT, killed

MORE = 10
"""Records that the follower lacks when it stands still."""

AWAIT = 1.0
"""Seconds in which the mark must not move; alone in the ISR the leader moves it at once."""


def show(context: ScenarioContext) -> Answer:
    controller = context.cluster.controller()
    leader, follower = [node for node in context.brokers if node != controller][:2]
    topic = context.topic((leader, follower))
    writer = context.writer(topic)
    context.require(lambda: len(writer.acks) > 10, 15, "writes are acknowledged")
    with ExitStack() as away, ExitStack() as cut:
        cut.enter_context(context.cluster.fault(partition([[leader], [follower]], plane="replication")))
        context.require(
            lambda: context.view(topic, at=leader).isr == (leader,),
            SHRINK_LIMIT,
            "the ISR shrinks to the leader",
        )
        writer.stop()
        total = context.end(topic, leader)
        exercised(
            context.marks(topic, leader).high_watermark == total, "alone, the leader did not move its mark"
        )
        away.enter_context(_no_answer_of_the_controller(context, leader))
        cut.close()
        context.require(lambda: context.end(topic, follower) == total, 15, "the follower has caught up")
        with context.cluster.fault(pause(follower)):
            for number in range(MORE):
                context.produce(topic, leader, f"more{number}", acks=1)
            moved = context.wait(lambda: context.marks(topic, leader).high_watermark > total, AWAIT)
            end, isr = context.end(topic, leader), context.view(topic, at=leader).isr
    exercised(end == total + MORE and isr == (leader,), f"log end {end} of {total + MORE}, ISR {list(isr)}")
    final = context.wait(lambda: context.marks(topic, leader).high_watermark == end, 20)
    return Answer(
        holds=moved is None and final is not None,
        seen=f"with an ISR of {list(isr)} and a log end of {end} the high watermark "
        f"{'stayed at' if moved is None else 'moved beyond'} {total}, which the follower had; when the controller "
        f"answered and the follower went on, it {'reached' if final is not None else 'did not reach'} the log end",
        figures={
            "above the mark": end - total,
            "mark moved by": 0 if moved is None else MORE,
            "ISR": len(isr),
        },
    )


@contextmanager
def _no_answer_of_the_controller(context: ScenarioContext, leader: int) -> Iterator[None]:
    """The leader gets no answer of a controller, and stays leader: there is no quorum that could elect another one,
    or it keeps its session in ZooKeeper."""
    if context.cluster.spec.kraft:
        with killed(context, *context.cluster.controllers[:2]):
            yield
    else:
        controller = context.cluster.controller()
        assert controller is not None
        with context.cluster.fault(partition([[leader], [controller]])):
            yield


CLAIM = Claim(
    id="C14",
    title="a joining replica holds the mark back",
    text="A follower counts for the high watermark as soon as the leader has asked for its return to the ISR: until "
    "the controller has answered, the mark waits for the follower, although the ISR does not contain it.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-497%3A+Add+inter-broker+API+to+alter+ISR",
    cases=(
        Case(name="4.1.1 controllers apart", cluster=CONTROLLERS_APART),
        Case(name="3.9.2 ZooKeeper", cluster=ZOOKEEPER),
    ),
    show=show,
)
