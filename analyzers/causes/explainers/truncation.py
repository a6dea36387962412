"""Truncation: a replica dropped the end of its log, and what was there is gone or was replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from analyzers.causes.cuts import PROOF, LogCut, Trace, election_after, find_cuts, isr_before, trace
from analyzers.causes.evidence import Extent, LogEvidence, RunEvidence, Sample, merged, span_of
from analyzers.causes.explainer import (
    ABOVE_HIGH_WATERMARK,
    BROKER_LOGS,
    ELIGIBLE_REPLICA,
    EPOCHS,
    LAST_REPLICA,
    SAMPLES,
    UNCLEAN_ELECTION,
    UNFLUSHED,
    CauseKind,
    Explainer,
    Explanation,
    by_log,
    first_kind,
)
from analyzers.causes.words import MOST_FAULTS, braces, election_text, fault_steps, spread
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.finding import Cut, Election, Step

LOSSES = {
    "lost-write": ("acknowledged write", "will be lost"),
    "lost-read": ("value", "readers get and the log loses"),
}
"""What a log no longer has: in words, for the steps. The worst first."""

MINIMUM = "min.insync.replicas"

ELECTS = "elect"
"""The fault that may elect a broker outside the ISR by hand."""

POWER_LOSS = "power-loss"

CONSEQUENCES = frozenset(
    {
        *PROOF, "inconsistent-offsets", "read-your-writes", "monotonic-reads", "monotonic-writes",
        "writes-follow-reads", "nonmonotonic-poll", "int-nonmonotonic-poll", "poll-skip", "int-poll-skip",
        "nonmonotonic-send", "int-nonmonotonic-send", "realtime-order", "overtaken-write", "torn-transaction",
        "wrong-total",
    }
)  # fmt: skip
"""What a truncation can show as, at offsets from the cut on."""

SETTINGS = ("acks", MINIMUM, "unclean.leader.election.enable")
ACKS = "Kafka documentation, producer configs: acks; topic configs: min.insync.replicas"
SAFE = "acks=all with min.insync.replicas=2"
ESTABLISHED = (
    "A broker's log became shorter, or it followed another leader, and what had been acknowledged or read from there "
    "on is gone or was replaced"
)


def _of_setting(name: str, *, established: str, **more: Any) -> CauseKind:
    return CauseKind(
        name=name,
        happened="truncation",
        changes="setting",
        explains=CONSEQUENCES,
        established=f"{ESTABLISHED}; {established}.",
        settings=SETTINGS,
        **more,
    )


KINDS = (
    _of_setting(
        "unclean.leader.election.enable=true",
        established="the new leader was not in the ISR, and the topic has this setting",
        circumstance=UNCLEAN_ELECTION,
        setting=("unclean.leader.election.enable", "true"),
        why="unclean.leader.election.enable=true lets a replica lead that left the ISR and lacks the last records",
        change="unclean.leader.election.enable=false, the default, with min.insync.replicas=2",
        source="Kafka documentation, topic configs: unclean.leader.election.enable",
    ),
    _of_setting(
        "acks=1 below min.insync.replicas",
        established="the new leader had left the ISR, which was below min.insync.replicas, and producers use acks=1",
        circumstance=ELIGIBLE_REPLICA,
        setting=("acks", "1"),
        why="acks=1 is answered also below min.insync.replicas, while replicas that left the ISR may become leader",
        change="acks=all: below min.insync.replicas the leader then refuses to acknowledge",
        source="KIP-966: eligible leader replicas",
    ),
    _of_setting(
        "records that no disk had",
        established="all replicas in sync had the writes, or producers use acks=all, and the leader lost its power",
        circumstance=UNFLUSHED,
        why="brokers acknowledge what is in memory; replicas that lose power together lose what none has flushed",
        change="replicas whose power does not fail together, or flush.messages=1, which costs throughput",
        source="Kafka documentation, topic configs: flush.messages",
    ),
    _of_setting(
        "acks=1",
        established="producers use acks=1",
        setting=("acks", "1"),
        why="acks=1 is answered before any follower has the record, so the next leader may lack it",
        change=SAFE,
        source=ACKS,
    ),
    _of_setting(
        "acks=0",
        established="producers use acks=0",
        setting=("acks", "0"),
        why="acks=0 counts as acknowledged when the client has sent it; no broker confirms it",
        change=SAFE,
        source=ACKS,
    ),
    _of_setting(
        "min.insync.replicas=1",
        established="the replica that was cut or lost was alone in the ISR, and the topic has this setting",
        circumstance=LAST_REPLICA,
        setting=(MINIMUM, "1"),
        why="with min.insync.replicas=1, acks=all is answered while the leader is the only in-sync replica",
        change="min.insync.replicas=2 with three replicas",
        source="Kafka documentation, topic configs: min.insync.replicas; KIP-966 describes the last replica standing",
    ),
    _of_setting(
        "unclean election",
        established="the new leader was not in the ISR, and the topic's setting is false or not recorded",
        circumstance=UNCLEAN_ELECTION,
        why="the elected broker was not in the ISR, so it lacked what only the ISR had",
        change="unclean.leader.election.enable=false, and no unclean election by hand",
        source="KIP-460 (election types) and topic configs: unclean.leader.election.enable",
    ),
    _of_setting(
        "acks other than all",
        established="the old leader's high watermark was sampled below writes that it had acknowledged before, and "
        "the setting of the producers is not recorded",
        circumstance=ABOVE_HIGH_WATERMARK,
        why="the old leader acknowledged above its high watermark, so before its in-sync replicas had the records",
        change=SAFE,
        source=ACKS,
    ),
    CauseKind(
        name="truncation",
        happened="truncation",
        changes="unknown",
        explains=CONSEQUENCES,
        established=f"{ESTABLISHED}; which setting allowed it is not established.",
        why="a new leader's log decides: followers truncate theirs to where it agrees with that of the leader",
        source="KIP-101, KIP-279: truncation by leader epoch",
        settings=SETTINGS,
    ),
)
"""In order of precedence."""


def truncations(evidence: LogEvidence, run: RunEvidence) -> Iterator[Explanation]:
    """The truncations that the samples of a log show and its findings confirm.

    Cuts in different periods of the run are different events. Each explains the findings since the cut before it, and
    the last one also those that come later.
    """
    proof = [each for each in evidence.extents if each.anomaly in PROOF]
    lines = [] if run.logs is None else run.logs.about(evidence.log)
    cuts = sorted(
        (cut for cut in find_cuts(evidence, proof, run, lines) if cut.covered(proof)),
        key=lambda cut: (not cut.before.leads, -cut.covered(proof), cut.after.time),
    )
    rest = [each for each in evidence.extents if each.anomaly in CONSEQUENCES]
    # A follower copies its leader's log again, whatever it loses itself: only the log of a leader counts.
    periods = sorted({run.period(cut.after.time) for cut in cuts if cut.before.leads})
    for period in periods:
        largest, *others = (cut for cut in cuts if run.period(cut.after.time) == period)
        is_in_time = [each for each in rest if period == periods[-1] or each.period <= period]
        explained = [each for each in is_in_time if each.high is None or each.high >= largest.offset]
        if explained:
            yield _explanation(evidence, run, [largest, *others], explained)
            rest = [each for each in rest if each not in explained]
    if (found := trace(evidence, rest, run, lines)) is not None:
        explained = [each for each in rest if each.high is None or each.high >= found.offset]
        yield _traced(evidence, run, found, explained)


def _traced(evidence: LogEvidence, run: RunEvidence, found: Trace, extents: Sequence[Extent]) -> Explanation:
    """Of a cut that no sample shows."""
    explained, settings = merged(extents), run.settings_of(_losers(extents))
    events = run.active(*span_of(extents))
    circumstances = (UNCLEAN_ELECTION,) if found.is_unclean else ()
    return Explanation(
        kind=first_kind(KINDS, circumstances, settings),
        extents=extents,
        settings=settings,
        circumstances=circumstances,
        faults=events,
        steps=(*_losses(explained, run), *found.steps, *fault_steps(events[:MOST_FAULTS], run, evidence)),
    )


def _losers(extents: Sequence[Extent]) -> list[Extent]:
    """The findings that name the clients whose writes are lost."""
    return [each for each in extents if each.anomaly == "lost-write"]


def _explanation(
    evidence: LogEvidence, run: RunEvidence, cuts: Sequence[LogCut], extents: Sequence[Extent]
) -> Explanation:
    """cuts: the one of which the story tells first."""
    explained = merged(extents)
    largest = _with_what_is_lost(cuts[0], explained)
    election = election_after(evidence.changes, largest.before)
    settings = run.settings_of(_losers(extents))
    first, _ = span_of(extents)
    events = run.active(first, largest.after.time)
    circumstances = tuple(
        _circumstances(evidence, largest, election, run, explained.get("lost-write"), events)
    )
    seen = election and _seen_at(election, run)
    return Explanation(
        kind=first_kind(KINDS, circumstances, settings),
        extents=extents,
        settings=settings,
        circumstances=circumstances,
        faults=events,
        cuts=tuple(_public(cut, evidence.log, run) for cut in (largest, *cuts[1:])),
        election=seen,
        steps=(
            *_losses(explained, run),
            *_steps(circumstances, seen, evidence, largest, run),
            *fault_steps(_nearest(events, largest), run, evidence),
        ),
    )


def _with_what_is_lost(cut: LogCut, explained: Mapping[str, Extent]) -> LogCut:
    """The leader had all that it acknowledged or gave to readers, so its log reached beyond what is lost of that,
    even where the last sample before the cut is older."""
    ends = [each.high + 1 for name, each in explained.items() if name in LOSSES and each.high is not None]
    return (
        replace(cut, before=replace(cut.before, log_end=max(cut.before.log_end or 0, *ends))) if ends else cut
    )


def _seen_at(election: tuple[Sample, Sample], run: RunEvidence) -> Election:
    first, own = election
    return Election(leader=first.leader, epoch=first.epoch, time=run.at(first.time), isr=own.isr)


def _circumstances(
    evidence: LogEvidence,
    cut: LogCut,
    election: tuple[Sample, Sample] | None,
    run: RunEvidence,
    lost: Extent | None,
    events: Sequence[FaultEvent],
) -> Iterator[str]:
    isr = isr_before(evidence, cut, election)
    if election is not None and isr and election[0].leader not in isr:
        yield ELIGIBLE_REPLICA if _is_eligible(isr, election[0], evidence, run) else UNCLEAN_ELECTION
    if isr == (cut.before.node,):
        yield LAST_REPLICA
    if "acks" not in run.settings and _is_above_watermark(cut.before, lost):
        yield ABOVE_HIGH_WATERMARK
    is_without_power = any(event.fault == POWER_LOSS and cut.before.node in event.nodes for event in events)
    if is_without_power and (run.settings.get("acks") == "all" or _is_replicated(cut.before, lost)):
        yield UNFLUSHED


def _is_above_watermark(sample: Sample, lost: Extent | None) -> bool:
    """Whether a leader's high watermark was at or below a write that is lost and had been acknowledged before."""
    if lost is None or lost.low is None or lost.first is None or sample.high_watermark is None:
        return False
    return lost.first < sample.time and sample.high_watermark <= lost.low


def _is_replicated(sample: Sample, lost: Extent | None) -> bool:
    """Whether all replicas in sync had the writes that are lost, by a leader's high watermark."""
    mark = sample.high_watermark
    return mark is not None and lost is not None and lost.high is not None and lost.high < mark


def _is_eligible(isr: Sequence[int], elected: Sample, evidence: LogEvidence, run: RunEvidence) -> bool:
    """Whether a broker outside the ISR was elected although neither the settings nor a fault allowed that."""
    minimum = run.settings.get(MINIMUM, "")
    # The election lies between the sample that shows it and the one before, and a request for it is soon answered.
    (shown,) = (change for change in evidence.changes if change.after is elected)
    since = elected.time if shown.before is None else shown.before.time
    by_hand = any(event.fault == ELECTS for event in run.active(since, elected.time))
    is_refused = run.settings.get("unclean.leader.election.enable") == "false" and not by_hand
    return is_refused and minimum.isdigit() and len(isr) < int(minimum)


def _nearest(events: Sequence[FaultEvent], cut: LogCut) -> list[FaultEvent]:
    """The faults that the steps name: those on the replica that was cut; if there are none, the first ones."""
    own = [event for event in events if cut.before.node in event.nodes]
    return (own or list(events))[:MOST_FAULTS]


def _losses(explained: Mapping[str, Extent], run: RunEvidence) -> Iterator[Step]:
    """Of the worst kind only: most values that are lost for readers had been acknowledged, too."""
    for name, (what, fate) in LOSSES.items():
        if (lost := explained.get(name)) is not None:
            text = f"{spread(lost, what, run, fate, _offsets(lost))}"
            yield Step(time=run.at(lost.first), text=text)
            return


def _steps(
    circumstances: Sequence[str],
    election: Election | None,
    evidence: LogEvidence,
    cut: LogCut,
    run: RunEvidence,
) -> Iterator[Step]:
    if LAST_REPLICA in circumstances:
        for change in evidence.changes:
            if change.after.isr == (cut.before.node,) and change.after.time < cut.after.time:
                text = f"ISR {braces(change.after.isr)}: broker {cut.before.node} is the only one left"
                yield Step(time=run.at(change.after.time), text=text)
                break
    if election is not None:
        remark, reason = "", ""
        if UNCLEAN_ELECTION in circumstances:
            remark = " (unclean: it was not in the ISR before)"
        elif ELIGIBLE_REPLICA in circumstances:
            minimum = run.settings[MINIMUM]
            reason = (
                f"; it had left the ISR, and may lead while the ISR is below min.insync.replicas={minimum}"
            )
        text = election_text(election, evidence.log, offset=cut.offset, remark=remark, reason=reason)
        yield Step(time=election.time, text=text)
    follows = cut.after.leader >= 0 and not cut.after.leads
    how = (
        f"follows broker {cut.after.leader} and has truncated its log"
        if follows
        else "has lost the end of its log:"
    )
    text = f"broker {cut.before.node} {how} from {cut.before.log_end:,} to {cut.offset:,}"
    yield Step(time=run.at(cut.after.time), text=text)


def _offsets(lost: Extent) -> str:
    """Where markers of transactions lie between the writes, there are more offsets than writes."""
    if lost.low is None or lost.high is None:
        return ""
    if lost.count == 1:
        return f", offset {lost.low:,}"
    if lost.high - lost.low + 1 == lost.count:
        return f", offsets {lost.low:,} to {lost.high:,}"
    return f", between offsets {lost.low:,} and {lost.high:,}"


def _public(cut: LogCut, log: str, run: RunEvidence) -> Cut:
    return Cut(
        node=cut.before.node,
        log_end=cut.before.log_end or 0,
        offset=cut.offset,
        epoch=cut.before.epoch,
        time=run.at(cut.after.time),
        log=log,
    )


TRUNCATION = Explainer(
    rank=10, kinds=KINDS, examines=(SAMPLES, BROKER_LOGS, EPOCHS), explain=by_log(truncations)
)
