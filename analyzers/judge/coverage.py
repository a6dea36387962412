"""What a run exercised, and the reasons why it cannot be called valid: from its tally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from analyzers.history.fault_events import FaultEvent
from analyzers.history.surroundings import seconds
from analyzers.judge.around_faults import NOTHING_AROUND
from analyzers.judge.readers import readers
from analyzers.judge.tally import Tally
from analyzers.judge.work_at_faults import described
from analyzers.verdict.exercised import Exercised, FaultExercised, GroupExercised
from analyzers.verdict.wording import client_names


def exercised(run: Tally, events: Sequence[FaultEvent]) -> Exercised:
    """The tally of a run in the form in which its verdict reports it."""
    clients = client_names(run.progress.roles, run.progress.instances)
    of_brokers = [
        (each.began, each.ended) for each in events if not each.processes and each.began is not None
    ]
    faults = []
    for event in events:
        around = run.around.get(event.event, NOTHING_AROUND)
        faults.append(
            FaultExercised(
                event=event.event,
                fault=event.fault,
                target=event.target,
                nodes=event.nodes,
                processes=event.processes,
                clients=event.clients,
                work=described(
                    run.at_faults.get(event.event, ()),
                    clients,
                    run.began,
                    aimed_at=event.aimed_at,
                    of_brokers=of_brokers,
                ),
                effective=event.took_effect,
                healed=event.heal is not None and event.heal.effective,
                began=seconds(event.began, run.began),
                ended=seconds(event.ended, run.began),
                whole=seconds(_whole(run, event), run.began),
                acks_before=around.before,
                acks_during=around.during,
                acks_after=around.after,
                silent=_silent(run, event),
                copies_after=around.copies,
                acknowledgements_after=around.acknowledgements,
                reads_after=around.reads,
                transactions_after=around.transactions,
                idle_groups=tuple(name for name in _group_names(run) if name not in around.groups),
            )
        )
    return Exercised(
        sends=dict(run.count("send")),
        polls=run.count("poll").total(),
        transactions=dict(run.count("txn")),
        committed=run.committed,
        copies=dict(run.copies),
        transfers=dict(run.transfers),
        snapshots=run.snapshots.taken,
        whole_snapshots=run.snapshots.whole,
        snapshots_of_transfers=run.snapshots.of_transfers,
        commits=dict(run.count("commit")),
        final_reads=dict(run.count("final-read")),
        session_reads=dict(run.count("read")),
        rereads=dict(run.count("rewind")),
        searches=dict(run.count("search")),
        inspections=dict(run.count("inspect")),
        comparisons=dict(run.count("comparison")),
        outputs=run.count("output").total() + run.count("aggregate").total(),
        pipelines=dict(run.count("pipeline")),
        deliveries=run.count("delivery").total(),
        acknowledgements=run.count("acknowledgement")["ok"],
        queues=dict(run.count("queue")),
        unqueued=tuple(
            f"{topic}-{partition}"
            for topic, partition in sorted(run.acknowledged.keys() - run.queued)
            if any(topic == of for of, _ in run.queued)
        ),
        faults=tuple(faults),
        leader_changes=run.leader_changes,
        isr_changes=run.isr_changes,
        smallest_isr=run.smallest_isr,
        phase=run.progress.phase,
        failed_steps=tuple(step for step, _ in run.progress.failed),
        readers=readers(
            run.polled,
            following=run.progress.following,
            acknowledged=run.acknowledged,
            excluded=run.session_readers | run.progress.killed,
            since=max((each.ended for each in events if each.ended is not None), default=run.middle),
            began=run.began,
        ),
        groups=tuple(_groups(run)),
        brokers=tuple(sorted(run.brokers)),
        sampled=tuple(sorted(run.sampled)),
        leader_samples=run.leader_samples,
        unmeasured=tuple(f"{topic}-{partition}" for topic, partition in sorted(run.written - run.measured)),
        controller_samples=run.controller_samples,
        group_samples=run.group_samples,
        transaction_samples=run.transaction_samples,
        eligible_samples=run.eligible_samples,
        compacted=run.compacted,
    )


def _group_names(run: Tally) -> list[str]:
    return sorted({*run.positions, *(group for group, _ in run.subscribed)})


def _groups(run: Tally) -> Iterator[GroupExercised]:
    for name in _group_names(run):
        positions = run.positions.get(name, Counter())
        silent = sorted(
            log for log in run.acknowledged if (name, log[0]) in run.subscribed and not positions[log]
        )
        yield GroupExercised(
            group=name,
            commits=positions.total(),
            silent=tuple(f"{topic}-{partition}" for topic, partition in silent),
        )


def _whole(run: Tally, event: FaultEvent) -> int | None:
    if event.ended is None or run.replication is None:
        return None
    return run.replication.whole_since(event.ended)


def _silent(run: Tally, event: FaultEvent) -> tuple[str, ...]:
    if event.ended is None:
        return ()
    silent = (
        log
        for log, tried in run.tried.items()
        if tried >= event.ended and run.answered.get(log, event.ended) <= event.ended
    )
    return tuple(f"{topic}-{partition}" for topic, partition in sorted(silent))


def unknowns(run: Tally, events: Sequence[FaultEvent]) -> tuple[str, ...]:
    """A sentence for each reason why this run cannot be called valid, independent of the findings of checks."""
    sends, polls = run.count("send"), run.count("poll")
    # What went wrong with the run comes first: other reasons often follow from it.
    sentences = [*run.progress.doubts()]
    if not sends and not polls:
        return ("The history holds no records: nothing was sent and nothing was read.", *sentences)
    if not sends["ok"]:
        sentences.append(f"No send was acknowledged (of {sends.total():,}): no promise was put to the test.")
    if run.unlinked:
        sentences.append(
            f"{run.unlinked:,} records lack the offset of the record before them (columns previous and within, which "
            f"compaction fills in): the order of polls and of sends cannot be checked."
        )
    sentences += [sentence for event in events for sentence in event.doubts()]
    for topic, partition in sorted(run.written - run.finished):
        if (topic, partition) in run.progress.unread:
            reason = f"its final read could not begin ({run.progress.unread[topic, partition]})"
        elif (topic, partition) in run.attempted:
            reason = "no final read of it completed"
        else:
            reason = "there was no final read of it"
        sentences.append(
            f"Partition {topic}-{partition} was written, but {reason}: its content at the end is unknown."
        )
    return tuple(sentences)


# Leader changes are ordered by epoch, over the samples of all brokers. ISR changes are ordered by the time at which
# one broker saw them, because brokers lag behind each other; the broker that saw the most changes counts. Samples
# are few, so all samples of a run go into one partition, which avoids a second shuffle.
