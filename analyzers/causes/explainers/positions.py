"""Positions that an application committed although the log does not have them."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.causes.evidence import Explanation, RunEvidence, merged
from analyzers.causes.explainer import Explainer
from analyzers.causes.kind import CauseKind
from analyzers.causes.words import extent_steps, spread

BEYOND_END = CauseKind(
    name="committed positions that the log does not have",
    happened="application",
    changes="application",
    explains=frozenset({"commit-beyond-end"}),
    established="A commit of a position above the end of the log was acknowledged.",
    why="the coordinator stores every position that a client commits, and does not compare it with the log",
    change="commit the offset of the last processed record of the same partition plus one, and no position that "
    "was kept from before a topic was created again",
    source="Kafka documentation: KafkaConsumer, offsets and consumer position",
)


def positions(run: RunEvidence) -> Iterator[Explanation]:
    found = [each for each in run.extents if each.anomaly in BEYOND_END.explains]
    if found:
        (whole,) = merged(found).values()
        text = spread(whole, "commit", run, "goes beyond the end of its log", " begins")
        events, steps = extent_steps(found, run, text)
        yield Explanation(kind=BEYOND_END, extents=found, steps=steps, faults=events)


POSITIONS = Explainer(rank=60, kinds=(BEYOND_END,), examines=(), explain=positions)
