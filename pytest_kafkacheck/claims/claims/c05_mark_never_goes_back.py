"""Leadership moves twice a second under load. Leaders are asked for the end of the log, as consumers ask, and for the
high watermark itself, which their answers to fetches contain. Then another topic loses its only replica in sync, and
an unclean election follows.

Of the mark itself the rule is not true. A new leader begins with the mark that it had as a follower, which trails
(C4): across clean elections it may be lower for a moment. No consumer sees that: until the new leader has caught up,
it refuses to report an end (KIP-207), and consumers are never set back.

Exercised: there were several leader epochs with samples of both, and an unclean election.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from nemesis.faults.leader_storm import leader_storm
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import another_leader, killed, leader_alone_in_sync, more_acks
from workloads.clients import requests

EPOCHS, LIMIT = 6, 20.0
"""It goes on until so many leader epochs were seen, for so many seconds at most."""

ALONE = 50
"""Writes that the leader acknowledges alone."""


class Sample(NamedTuple):
    epoch: int
    offset: int


def show(context: ScenarioContext) -> Answer:
    ends, marks, refused = _sampled_in_a_storm(context)
    before, after = _ends_around_an_unclean_election(context)
    by_epoch = sorted(marks, key=lambda sample: sample.epoch)  # stable: within an epoch in the order of time
    within = sum(later.epoch == earlier.epoch for earlier, later in falls(by_epoch))
    across = len(list(falls(by_epoch))) - within
    back = len(list(falls(sorted(ends, key=lambda sample: sample.epoch))))
    return Answer(
        holds=not within and not back and after < before,
        seen=f"in {len({sample.epoch for sample in ends})} leader epochs of clean elections the reported end went "
        f"back {back} times of {len(ends)}, the mark itself {within} times within an epoch and {across} times from "
        f"one to the next; {refused} times no end was reported; at the unclean election the end went from {before} "
        f"to {after}",
        figures={
            "reported end went back": back,
            "mark itself went back, in an epoch": within,
            "mark itself went back, across epochs": across,
            "back at an unclean election by": before - after,
        },
    )


def falls(samples: Iterable[Sample]) -> Iterable[tuple[Sample, Sample]]:
    """Samples after which a lower one follows, with that one."""
    return ((earlier, later) for earlier, later in pairwise(samples) if later.offset < earlier.offset)


def _sampled_in_a_storm(context: ScenarioContext) -> tuple[list[Sample], list[Sample], int]:
    """Ends, marks, and how often a leader did not report an end."""
    topic = context.topic(config={"min.insync.replicas": 2})
    writer = context.writer(topic)
    ends: list[Sample] = []
    marks: list[Sample] = []
    refused: Counter[int] = Counter()
    with context.cluster.fault(leader_storm(f"partition:{topic}-0", every=0.5)):
        until = time.monotonic() + LIMIT
        while time.monotonic() < until and len({sample.epoch for sample in ends}) < EPOCHS:
            for node in context.cluster.brokers:
                before = context.view(topic, at=node)
                if before.leader != node:
                    continue
                mark = context.marks(topic, node).high_watermark
                code, end = requests.offsets(context.ask(node), {(topic, 0): before.leader_epoch})[topic, 0]
                if context.view(topic, at=node).leader_epoch != before.leader_epoch:
                    continue
                marks.append(Sample(before.leader_epoch, mark))
                if code:  # it was replaced, or it waits until its mark is that of the leader before it
                    refused[code] += 1
                else:
                    ends.append(Sample(before.leader_epoch, end))
    acked = writer.stop()
    epochs = {sample.epoch for sample in ends}
    exercised(len(epochs) > 3 and len(acked) > 50, f"{len(epochs)} leader epochs, errors {dict(refused)}")
    return ends, marks, refused.total()


def _ends_around_an_unclean_election(context: ScenarioContext) -> tuple[int, int]:
    topic = context.topic(config={"unclean.leader.election.enable": True, "min.insync.replicas": 1})
    leader, other, _ = context.view(topic).replicas
    writer = context.writer(topic)

    def end(node: int) -> int:
        code, found = requests.offsets(
            context.ask(node), {(topic, 0): context.view(topic, at=node).leader_epoch}
        )[topic, 0]
        return -1 if code else found

    with leader_alone_in_sync(context, topic, writer):
        more_acks(context, writer, ALONE, 15, "the leader alone acknowledges")
        writer.stop()
        before = end(leader)
        with killed(context, leader):
            another_leader(context, topic, leader, at=other)
            elected = context.view(topic, at=other).leader
            context.require(lambda: end(elected) >= 0, 10, "the new leader reports an end")
            after = end(elected)
    return before, after


CLAIM = Claim(
    id="C5",
    title="the reported end never goes back",
    text="The end of the log that leaders report, which is the high watermark, never goes back, not across clean "
    "elections either: a new leader reports none until its own has caught up. It goes back at an unclean election.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-207%3A+Offsets+returned+by+ListOffsetsResponse+"
    "should+be+monotonically+increasing+even+during+a+partition+leader+change",
    cases=CURRENT,
    show=show,
)
