"""Leadership moves twice a second under load, and leaders are asked for the end of the log, as consumers ask.

Exercised: there were several leader epochs with samples.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise

from nemesis.faults.leader_storm import leader_storm
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from workloads.clients import requests

EPOCHS, LIMIT = 6, 20.0
"""It goes on until so many leader epochs were seen, for so many seconds at most."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    writer = context.writer(topic)
    ends: list[tuple[int, int]] = []
    refused: Counter[int] = Counter()
    with context.cluster.fault(leader_storm(f"partition:{topic}-0", every=0.5)):
        until = time.monotonic() + LIMIT
        while time.monotonic() < until and len({epoch for epoch, _ in ends}) < EPOCHS:
            for node in context.cluster.brokers:
                before = context.view(topic, at=node)
                if before.leader != node:
                    continue
                code, end = requests.offsets(context.ask(node), {(topic, 0): before.leader_epoch})[topic, 0]
                if code:  # it was replaced, or it waits until its mark is that of the leader before it
                    refused[code] += 1
                    continue
                if context.view(topic, at=node).leader_epoch == before.leader_epoch:
                    ends.append((before.leader_epoch, end))
    acked = writer.stop()
    epochs = {epoch for epoch, _ in ends}
    exercised(len(epochs) > 3 and len(acked) > 50, f"{len(epochs)} leader epochs, errors {dict(refused)}")
    in_order = sorted(ends, key=lambda sample: sample[0])  # stable: within an epoch in the order of time
    back = sum(later[1] < earlier[1] for earlier, later in pairwise(in_order))
    return Answer(
        holds=not back,
        seen=f"{len(ends)} samples in {len(epochs)} leader epochs: the end went back {back} times",
        figures={"samples": len(ends), "refused": refused.total(), "went back": back},
    )


CLAIM = Claim(
    id="C5",
    title="the reported end never goes back",
    text="The end of the log that leaders report, which is the high watermark, never goes back, not across clean "
    "elections either: a new leader reports none until its own has caught up.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-207%3A+Offsets+returned+by+ListOffsetsResponse+"
    "should+be+monotonically+increasing+even+during+a+partition+leader+change",
    cases=CURRENT,
    show=show,
)
