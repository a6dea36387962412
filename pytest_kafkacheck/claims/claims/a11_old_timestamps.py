"""Records with a timestamp of 1970 are written to a topic that keeps records for a week, then others of now.

Exercised: all of them were acknowledged, and the log start moved.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import RETENTION
from pytest_kafkacheck.claims.context import ScenarioContext

OLD, NEW = 20, 20
TIMESTAMP = 1000
"""ms since 1970, as a client with a wrong clock gives it."""

WEEK = 7 * 24 * 3600 * 1000


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"retention.ms": WEEK})
    leader, producer = context.view(topic).leader, context.producer()
    for number in range(OLD):
        producer.send(topic, f"old{number}".encode(), partition=0, timestamp_ms=TIMESTAMP).get(timeout=10)
    context.write(topic, (f"new{number}" for number in range(NEW)))
    waited = context.require(
        lambda: context.marks(topic, leader, near=OLD).log_start > 0, 20, "the log start moves"
    )
    kept = list(context.read(topic).values())
    return Answer(
        holds=kept == [f"new{number}" for number in range(NEW)],
        seen=f"of {OLD + NEW} acknowledged records, written within seconds, {OLD + NEW - len(kept)} were deleted",
        figures={"deleted": OLD + NEW - len(kept), "kept": len(kept), "deleted after (s)": round(waited, 1)},
    )


CLAIM = Claim(
    id="A11",
    title="retention believes timestamps",
    text="Retention by time goes by the timestamps that clients give: a record with an old one is deleted, however "
    "short a time ago it was written and acknowledged.",
    source="https://kafka.apache.org/documentation/#topicconfigs_retention.ms",
    cases=(Case(name="4.1.1", cluster=RETENTION),),
    show=show,
)
