"""Retries without idempotence: values lie twice in a log that was not cut, or in another order than was sent."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.causes.evidence import Explanation, RunEvidence, merged
from analyzers.causes.explainer import Explainer
from analyzers.causes.kind import CauseKind, first_kind
from analyzers.causes.words import extent_steps, first_steps, spread

EXPLAINS = frozenset({"duplicate"})
REORDERED = frozenset({"nonmonotonic-send"})
SETTINGS = ("acks", "enable.idempotence")
KIP = "KIP-98: idempotent producer"

KINDS = (
    CauseKind(
        name="enable.idempotence=false",
        happened="duplicate delivery",
        changes="setting",
        explains=EXPLAINS | REORDERED,
        established="A value lies twice in a log that was not cut, or writes lie in another order than their client "
        "sent them, and producers have this setting.",
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


def by_retries(run: RunEvidence) -> Iterator[Explanation]:
    """Writes in another order have this cause only where the setting is recorded: what else reorders them is not
    known."""
    kind = first_kind(KINDS, (), run.settings)
    twice = [each for each in run.extents if each.anomaly in EXPLAINS]
    reordered = [each for each in run.extents if each.anomaly in REORDERED & kind.explains]
    if twice:
        (whole,) = merged(twice).values()
        text = spread(whole, "write", run, "the log will have more than once", " is sent")
        events, steps = extent_steps(twice, run, text)
    elif reordered:
        events, steps = first_steps(reordered, run)
    else:
        return
    yield Explanation(kind=kind, extents=[*twice, *reordered], steps=steps, faults=events)


DUPLICATE_DELIVERY = Explainer(rank=40, kinds=KINDS, examines=(), explain=by_retries)
