"""Evidence of causes, in few words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from analyzers.causes.derive import cause_of
from analyzers.causes.evidence import Change, Extent, LogEvidence, RunEvidence, Sample
from analyzers.causes.explainer import Explanation
from analyzers.causes.explainers.stale_reads import two_leaders
from analyzers.causes.explainers.truncation import truncations
from analyzers.history.fault_events import FaultEvent, Stage
from analyzers.verdict.finding import Cause

S = 10**9
LOG = "t-0"


def extent(
    anomaly: str, *, low: int | None = 10, high: int | None = 19, first: int = 5, last: int = 7
) -> Extent:
    return Extent(
        anomaly=anomaly, topic="t", partition=0, count=10, first=first * S, last=last * S, low=low, high=high
    )


def sample(
    at: int,
    node: int,
    leader: int,
    epoch: int,
    end: int | None,
    *,
    isr: Sequence[int] = (1, 2),
    mark: int = 10,
) -> Sample:
    return Sample(
        time=at * S, node=node, leader=leader, epoch=epoch, isr=tuple(isr), high_watermark=mark, log_end=end
    )


def changes(*samples: Sample) -> dict[str, list[Change]]:
    """Of one log: each sample follows the last one of its node."""
    last: dict[int, Sample] = {}
    found = []
    for each in sorted(samples, key=lambda one: one.time):
        found.append(Change(before=last.get(each.node), after=each))
        last[each.node] = each
    return {LOG: found}


def fault(
    name: str, began: int, ended: int, *, nodes: tuple[int, ...] = (), processes: tuple[int, ...] = ()
) -> FaultEvent:
    inject = Stage(
        invoked=began * S,
        completed=began * S,
        effective=True,
        target="leader",
        nodes=nodes,
        processes=processes,
    )
    heal = replace(inject, invoked=ended * S, completed=ended * S)
    return FaultEvent(event=f"{name}-0", fault=name, inject=inject, heal=heal)


ISOLATED = changes(
    sample(1, 1, 1, 0, 5), sample(1, 2, 1, 0, 5), sample(6, 2, 2, 1, 10), sample(8, 1, 1, 0, 20),
    sample(9, 1, 2, 1, 10),
)  # fmt: skip
"""Broker 1 goes on with its log up to 20, while broker 2 leads from offset 10 on."""


LOST = extent("lost-write")


def evidence(*extents: Extent, of: dict[str, list[Change]] | None = None, events: Sequence[FaultEvent] = (),
             began: int | None = 0) -> RunEvidence:  # fmt: skip
    return RunEvidence(began=began, extents=extents, changes=of or {}, events=events)


def of_log(run: RunEvidence) -> LogEvidence:
    return LogEvidence(log=LOG, extents=run.extents, changes=run.changes.get(LOG, []))


def first_cause(events: Iterable[Explanation], run: RunEvidence) -> Cause | None:
    """That of the first event alone."""
    return next((cause_of([each], run) for each in events), None)


def cause_in(
    explain: Callable[[RunEvidence], Iterable[Explanation]], extents: Sequence[Extent], run: RunEvidence
) -> Cause | None:
    """The cause that an explainer finds first for these findings of a run."""
    return first_cause(explain(replace(run, extents=extents)), run)


def cut(*extents: Extent, of: dict[str, list[Change]], events: Sequence[FaultEvent] = ()) -> Cause | None:
    run = evidence(*extents, of=of, events=events)
    return first_cause(truncations(of_log(run), run), run)


def stale(*extents: Extent, of: dict[str, list[Change]], events: Sequence[FaultEvent] = ()) -> Cause | None:
    run = evidence(*extents, of=of, events=events)
    return first_cause(two_leaders(of_log(run), run), run)


def texts(cause: Cause | None) -> list[str]:
    assert cause is not None
    return [step.text for step in cause.steps]


OLD = sample(8, 1, 1, 0, 20, mark=10)
NEW = sample(6, 2, 2, 1, 10)
FOLLOWS = sample(12, 1, 2, 1, 90)
"""Broker 1 as leader, broker 2 as its successor, and broker 1 when it has fetched more than it had cut off."""
