"""One record goes to the leader with acks=all before, and one while followers get nothing; the request says how
long the leader may wait.

Exercised: the leader had appended the second record, and the ISR was still full.
"""

from __future__ import annotations

from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Claim, Picture
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.produce import TIMED_OUT
from pytest_kafkacheck.report.lane import Group, Row, Span, Strip

WAIT = 0.8
"""Seconds that the leader may wait: less than the ISR needs to shrink, which ends the wait as well."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    leader, *_, follower = context.view(topic).replicas
    exercised(
        context.produce(topic, leader, "before", limit=10)[0] == 0, "acks=all was refused with all followers"
    )
    _, with_all = context.produce(topic, leader, "before", limit=WAIT)
    with context.cluster.fault(pause(follower)):
        code, seconds = context.produce(topic, leader, "waits", limit=WAIT)
        exercised(context.end(topic, leader) == 3, "the leader had not appended the record")
        exercised(len(context.view(topic, at=leader).isr) == 3, "the ISR shrank meanwhile")
    spans = {"all followers": (with_all, "in-sync", ""), "one stands still": (seconds, "out", "waits")}
    rows = tuple(
        Row(name=name, spans=(Span(begin=0, end=round(each * 1000), look=look, text=text),))
        for name, (each, look, text) in spans.items()
    )
    kept = "waits" in context.read(topic).values()
    return Answer(
        holds=code == TIMED_OUT and seconds >= WAIT and kept,
        seen=f"with one follower of two standing still the answer was error {code} after {seconds:.2f} s; the "
        f"record {'is' if kept else 'is not'} in the log",
        figures={
            "with all followers (ms)": round(with_all * 1000),
            "without one (ms)": round(seconds * 1000),
        },
        picture=Picture(
            groups=(
                Group(
                    title=f"From an acks=all request to its answer; the leader may wait for {WAIT:g} s",
                    lanes=(Strip(title="", about="", rows=rows),),
                ),
            ),
            span=1000,
        ),
    )


CLAIM = Claim(
    id="E1",
    title="acks=all waits for the ISR",
    text="An acks=all request waits until the whole ISR has the record, or its time is over. Then the client gets "
    "an error, although the record is in the log.",
    source="https://kafka.apache.org/documentation/#producerconfigs_acks",
    cases=CURRENT,
    show=show,
)
