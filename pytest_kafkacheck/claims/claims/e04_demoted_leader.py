"""Leadership moves twice a second while an idempotent producer writes; after the last move the former leader is
asked.

Exercised: there were eight leader epochs, and records were acknowledged.
"""

from __future__ import annotations

import time

from nemesis.faults.leader_storm import leader_storm
from pytest_kafkacheck.claims import timeline
from pytest_kafkacheck.claims.claim import Answer, Claim, Picture
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.produce import NOT_LEADER
from pytest_kafkacheck.report.lane import Group

EPOCHS = 8
LENGTH = 10.0
"""Seconds of the picture, two of which are before the first change."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    first = context.view(topic).leader_epoch
    writer = context.writer(topic, enable_idempotence=True)
    with timeline.sampled(context, topic) as samples:
        context.require(lambda: len(writer.acks) > 50, 15, "50 acks")
        began = time.monotonic()
        with context.cluster.fault(leader_storm(f"partition:{topic}-0", every=0.5)):
            context.require(
                lambda: context.view(topic).leader_epoch >= first + EPOCHS, 20, f"{EPOCHS} leader epochs"
            )
        context.wait(lambda: time.monotonic() > began + LENGTH, LENGTH)
    acked = writer.stop()
    context.cluster.wait_settled()
    now = context.view(topic)
    exercised(len(acked) > 50, f"{len(acked)} acks")
    former = next(node for node in now.replicas if node != now.leader)
    code, seconds = context.produce(topic, former, "to a former leader")
    found = [*context.read(topic).values()]
    lost = len({ack.value for ack in acked} - set(found))
    twice = len(found) - len(set(found))
    window = timeline.Window(began - 2, began + LENGTH - 2)
    return Answer(
        holds=code == NOT_LEADER and seconds < 0.5 and not lost and not twice,
        seen=f"a former leader answered with error {code} after {seconds * 1000:.0f} ms; of {len(acked)} records in "
        f"{now.leader_epoch - first} leader epochs {lost} are lost and {twice} are there twice",
        figures={"refused after (ms)": round(seconds * 1000), "lost": lost, "twice": twice},
        picture=Picture(
            groups=(
                Group(
                    title="Leadership moves twice a second from 2 s on",
                    lanes=(
                        timeline.replicas(samples, context.brokers, window),
                        timeline.rate("acknowledged", [ack.at for ack in acked], window),
                    ),
                ),
            ),
            span=window.span,
        ),
    )


CLAIM = Claim(
    id="E4",
    title="a former leader refuses at once",
    text="A broker that is not the leader any more refuses at once with NOT_LEADER_OR_FOLLOWER. An idempotent "
    "producer goes on at the new leader, and no record is lost or written twice.",
    source="https://kafka.apache.org/documentation/#producerconfigs_enable.idempotence",
    cases=CURRENT,
    show=show,
)
