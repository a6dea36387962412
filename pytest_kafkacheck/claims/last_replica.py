"""Two of three replicas are stopped one after the other, and the last one loses power; then they return, it as
the last."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.faults.power_loss import power_loss
from pytest_kafkacheck.claims.context import ScenarioContext

RECORDS = 100
AHEAD = 5.0
"""Seconds for which the other replicas are up before the last one returns: time for an election, where one is
allowed."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """acknowledged, lost: records. led: the broker that led before the last replica returned; None for none."""

    acknowledged: int
    lost: int
    led: int | None

    @property
    def seen(self) -> str:
        led = "there was no leader" if self.led is None else f"broker {self.led} led"
        lost = f"{self.lost} of {self.acknowledged} acknowledged records are lost"
        return f"{lost}; before the last replica returned, {led}"


def power_loss_of_the_last(context: ScenarioContext, *, min_insync: int) -> Outcome:
    """On a new topic with that min.insync.replicas. Raises NotExercised where the ISR did not shrink to one."""
    nodes = context.cluster.nodes
    topic = context.topic(config={"min.insync.replicas": min_insync})
    last, second, first = context.view(topic).replicas
    context.write(topic, (f"all{number}" for number in range(RECORDS)))
    nodes[first].stop()
    context.require(lambda: len(context.view(topic, at=last).isr) == 2, 20, "the ISR shrinks to two")
    address = context.cluster.brokers[last]
    reach = [f"{address.host}:{address.port}"]
    context.write(topic, (f"two{number}" for number in range(RECORDS)), bootstrap_servers=reach)
    nodes[second].stop()
    context.require(lambda: context.view(topic, at=last).isr == (last,), 20, "the ISR shrinks to one")
    with context.cluster.fault(power_loss(last)):
        nodes[second].start()
        nodes[first].start()
        context.wait(lambda: False, AHEAD)
        context.wait(lambda: context.cluster.serving(second), 30)
        ahead = context.view(topic, at=second).leader
    context.cluster.wait_settled()
    kept = set(context.read(topic).values())
    written = {f"{name}{number}" for name in ("all", "two") for number in range(RECORDS)}
    return Outcome(
        acknowledged=len(written),
        lost=len(written - kept),
        led=ahead if ahead in (first, second) else None,
    )
