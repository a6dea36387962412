"""Members come and go while the coordinator is asked for the group's state as often as possible.

Exercised: the group was seen empty, preparing a rebalance, stable and dead.
"""

from __future__ import annotations

import threading
from itertools import pairwise

from kafka.errors import KafkaError

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.cluster.kafka.admin import admin_client
from workloads.clients import coordination

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = (
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
)
NEXT = {
    DEAD: {EMPTY, PREPARING},
    EMPTY: {PREPARING, DEAD},
    PREPARING: {COMPLETING, EMPTY, DEAD},
    COMPLETING: {STABLE, PREPARING, DEAD},
    STABLE: {PREPARING, DEAD},
}

SHORT = {EMPTY, PREPARING, COMPLETING}
"""States that may be over between two questions."""

MEMBERS = 3


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(context.brokers, context.brokers, context.brokers)
    group = f"{topic}-group"
    states: list[str] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.002):
            try:
                coordinator = context.cluster.coordinator("group", group)
                while coordinator is not None and not ended.wait(0.002):
                    found = coordination.state(context.ask(coordinator), "group", group)
                    if found is not None and states[-1:] != [found]:
                        states.append(found)
            except OSError:
                continue

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        members = []
        for number in range(MEMBERS):
            members.append(context.member(group, topic))
            context.require(
                lambda number=number: sum(bool(each.partitions) for each in members) == number + 1,  # type: ignore[misc]
                20,
                "every member has a partition",
            )
        for member in members:
            member.leave()
        context.require(lambda: states[-1:] == [EMPTY], 20, "the group is empty")
        with admin_client(context.cluster.brokers) as admin:
            context.require(lambda: _deleted(admin, group), 10, "the group is deleted")
        context.require(lambda: states[-1:] == [DEAD], 10, "the group is dead")
    finally:
        ended.set()
        thread.join()
    exercised({PREPARING, STABLE, EMPTY, DEAD} <= set(states), f"states seen: {', '.join(states)}")
    wrong = [(one, other) for one, other in pairwise(states) if not _may_follow(one, other)]
    return Answer(
        holds=not wrong,
        seen=f"{len(states)} states one after another, {len(wrong)} against the rule {wrong or ''}".rstrip(),
        figures={"states": len(states), "against the rule": len(wrong), "kinds seen": len(set(states))},
    )


def _deleted(admin: object, group: str) -> bool:
    try:
        admin.delete_groups([group])  # type: ignore[attr-defined]
    except KafkaError:
        return False
    return True


def _may_follow(state: str, later: str) -> bool:
    """Directly, or by states that were too short to be seen, none of which is Stable or Dead."""
    reached, ahead = set(), set(NEXT[state])
    while ahead:
        reached |= ahead
        ahead = set().union(*(NEXT[each] for each in ahead & SHORT)) - reached
    return later in reached


CLAIM = Claim(
    id="F3",
    title="states of a group",
    text="A group is Empty, then prepares and completes a rebalance, then is Stable; each rebalance goes through the "
    "same states, and a deleted group is Dead.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Client-side+Assignment+Proposal",
    cases=CURRENT,
    show=show,
)
