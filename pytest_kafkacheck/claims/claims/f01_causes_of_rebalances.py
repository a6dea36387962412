"""A member is alone, then another one joins and leaves, the topic gets more partitions, and in between nothing
happens.

Exercised: each cause led to a new generation.
"""

from __future__ import annotations

from collections.abc import Callable

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext

QUIET = 3.0
"""Seconds without a cause."""


def show(context: ScenarioContext) -> Answer:
    topic, other = context.topic(*[context.brokers] * 2), context.topic(*[context.brokers] * 5)
    group = f"{topic}-group"
    member = context.member(group, topic)
    context.require(lambda: len(member.partitions) == 2, 20, "the first member has both partitions")
    without_cause = 0
    causes: list[str] = []

    def quiet() -> None:
        nonlocal without_cause
        before = member.generation
        without_cause += context.wait(lambda: member.generation != before, QUIET) is not None

    def after(cause: str, action: Callable[[], object], is_done: Callable[[], bool]) -> None:
        before = member.generation
        action()
        context.require(
            lambda: member.generation > before and is_done(), 20, f"a new generation after {cause}"
        )
        causes.append(cause)
        quiet()

    quiet()
    joined = []
    after("a join", lambda: joined.append(context.member(group, topic)), lambda: len(member.partitions) == 1)
    after("a leave", lambda: joined[0].leave(), lambda: len(member.partitions) == 2)
    after(
        "more partitions",
        lambda: context.cluster.kafka.add_partitions(topic, 3),
        lambda: len(member.partitions) == 3,
    )
    after(
        "another subscription",
        lambda: member.subscribe([topic, other]),
        lambda: len(member.partitions) == 5,
    )
    return Answer(
        holds=not without_cause,
        seen=f"a new generation after {', '.join(causes)}; none in "
        f"{5 - without_cause} of 5 times of {QUIET:g} s without a cause",
        figures={"causes with a rebalance": len(causes), "rebalances without a cause": without_cause},
    )


CLAIM = Claim(
    id="F1",
    title="causes of rebalances",
    text="A group rebalances when a member joins or leaves, when a subscription changes, and when a topic gets more "
    "partitions; otherwise it does not.",
    source="https://kafka.apache.org/documentation/#intro_consumers",
    cases=CURRENT,
    show=show,
)
