"""Duplicate delivery: values that lie twice in a log that was not cut. They were appended twice."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.causes.evidence import Explanation, RunEvidence, merged
from analyzers.causes.explainer import Explainer
from analyzers.causes.kind import CauseKind, first_kind
from analyzers.causes.words import extent_steps, spread

EXPLAINS = frozenset({"duplicate"})
SETTINGS = ("acks", "enable.idempotence")
KIP = "KIP-98: idempotent producer"

KINDS = (
    CauseKind(
        name="enable.idempotence=false",
        happened="duplicate delivery",
        changes="setting",
        explains=EXPLAINS,
        established="A value lies twice in a log that was not cut, and producers have this setting.",
        setting=("enable.idempotence", "false"),
        why="without an idempotent producer, a retry after a lost answer appends the record again",
        change="enable.idempotence=true, which requires acks=all",
        source=KIP,
        settings=SETTINGS,
    ),
    CauseKind(
        name="duplicate delivery",
        happened="duplicate delivery",
        changes="unknown",
        explains=EXPLAINS,
        established="A value lies twice in a log that was not cut; enable.idempotence is true or not recorded.",
        why="the log was not cut, so the records were appended twice; the settings recorded do not say why",
        source=KIP,
        settings=SETTINGS,
    ),
)


def duplicate_delivery(run: RunEvidence) -> Iterator[Explanation]:
    twice = [each for each in run.extents if each.anomaly in EXPLAINS]
    if not twice:
        return
    (whole,) = merged(twice).values()
    text = spread(whole, "write", run, "the log will have more than once", " is sent")
    events, steps = extent_steps(twice, run, text)
    yield Explanation(kind=first_kind(KINDS, (), run.settings), extents=twice, steps=steps, faults=events)


DUPLICATE_DELIVERY = Explainer(rank=40, kinds=KINDS, examines=(), explain=duplicate_delivery)
