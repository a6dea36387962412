"""What has to happen in a run before a promise can be called kept, and whether it happened.

A check that finds nothing shows something only if clients did what it is about: no lost write can be found in a run
that acknowledged nothing. An experiment names what it is about (`Experiment.requires`), and without it the run is
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from analyzers.verdict.exercised import Exercised, FaultExercised
from analyzers.verdict.wording import count


@dataclass(frozen=True, kw_only=True)
class Promise:
    name: str
    """Stable: experiments and stored verdicts refer to it."""
    exercised_by: str
    """What has to happen, for the documents."""
    concerns: Callable[[Exercised], bool]
    """Whether the run did anything that it is about. If not, it is missing only where it is required."""
    missing: Callable[[Exercised], str | None]
    """A sentence with figures that says what did not happen; None where it was exercised."""
    by_default: bool = True
    """Whether a history of another program, whose operations alone say what it is about, has to exercise it."""


ALWAYS_REQUIRED = frozenset({"work-at-faults"})
"""By experiments that do not say what they require, whatever their workload."""


def of_default(names: Collection[str]) -> frozenset[str]:
    """Those of the names that a history of another program has to exercise."""
    return frozenset(name for name in names if PROMISES[name].by_default)


def not_exercised(exercised: Exercised) -> tuple[str, ...]:
    """The names of the promises that the run is about and did not exercise."""
    return tuple(
        name
        for name, promise in PROMISES.items()
        if promise.concerns(exercised) and promise.missing(exercised) is not None
    )


def unmet(exercised: Exercised, requires: Collection[str]) -> tuple[str, ...]:
    """A sentence for each required promise that the run did not exercise. Raises KeyError for an unknown name."""
    sentences = ((name, PROMISES[name].missing(exercised)) for name in _in_order(requires))
    return tuple(f"Not exercised, but required ({name}): {why}" for name, why in sentences if why is not None)


def require_promises(names: object) -> frozenset[str]:
    """The names as a set. Raises ValueError for one that is no promise."""
    if isinstance(names, str) or not isinstance(names, Collection):
        raise ValueError(f"expected a collection of names of promises, got {names!r}")
    if unknown := sorted(str(name) for name in names if not isinstance(name, str) or name not in PROMISES):
        raise ValueError(f"no promise named {', '.join(unknown)}; there are {', '.join(PROMISES)}")
    return frozenset(names)


def _in_order(names: Collection[str]) -> list[str]:
    return sorted(names, key=list(PROMISES).index)


def _acks_during_faults(exercised: Exercised) -> str | None:
    silent = [fault for fault in exercised.faults if not fault.acks_during]
    if not silent:
        return None
    each = ", ".join(f"{fault.name} ({fault.event})" for fault in silent)
    return (
        f"no send was invoked and acknowledged during {each}; "
        f"{exercised.acks:,} of {sum(exercised.sends.values()):,} sends were acknowledged in the whole run."
    )


def _acks_after_faults(exercised: Exercised) -> str | None:
    silent = [fault for fault in exercised.faults if not fault.acks_after]
    if silent:
        each = ", ".join(
            f"{fault.name} ({fault.event}; {fault.acks_before:,} before it, {fault.acks_during:,} during)"
            for fault in silent
        )
        return f"no send was acknowledged after the end of {each}."
    partly = [fault for fault in exercised.faults if fault.silent]
    if not partly:
        return None
    each = ", ".join(f"{fault.name} ({fault.event}: {', '.join(fault.silent)})" for fault in partly)
    return f"some partitions acknowledged none of their sends after the end of {each}."


def _not_after(what: str, exercised: Exercised, is_missing: Callable[[FaultExercised], bool]) -> str | None:
    """What clients did before a fault shows nothing about it."""
    each = ", ".join(f"{fault.name} ({fault.event})" for fault in exercised.faults if is_missing(fault))
    return f"no {what} after the end of {each}." if each else None


def _unless_ok(counts: Mapping[str, int], sentence: str) -> str | None:
    """The sentence, with the number of attempts, where none of them succeeded. counts: by completion type."""
    return None if counts.get("ok", 0) else sentence.format(f"{sum(counts.values()):,}")


def _work_at_faults(exercised: Exercised) -> str | None:
    without = [fault for fault in exercised.faults if not fault.met_work]
    if not without:
        return None
    each = "; ".join(
        f"{fault.name} ({fault.event}): {' and '.join(work.reason for work in fault.work)}"
        for fault in without
    )
    return f"{count(len(without), 'fault')} met no work: {each}."


def _session_reads(exercised: Exercised) -> str | None:
    return _unless_ok(exercised.session_reads, "no session read was completed, of {}.") or _not_after(
        "session read was completed", exercised, lambda fault: not fault.reads_after
    )


def _polls_to_the_end(exercised: Exercised) -> str | None:
    behind = [reader for reader in exercised.readers if reader.behind]
    if not behind:
        return None if any(reader.polls for reader in exercised.readers) else "no reader polled a record."
    each = "; ".join(
        f"process {reader.process} got {reader.polls:,} records, the last at "
        f"{'an unknown time' if reader.last is None else f'{reader.last:.1f} s'}, and had not reached the end of "
        f"{', '.join(reader.behind)}"
        if reader.polls
        else f"process {reader.process} got no record, and there are some in {', '.join(reader.behind)}"
        for reader in behind
    )
    until = "after the last heal" if exercised.faults else "in the second half of the load"
    few = f"{len(behind):,} of {len(exercised.readers):,} readers"
    return f"{few} got nothing more {until}, or stopped long before others: {each}."


def _transactions(exercised: Exercised) -> str | None:
    if exercised.committed:
        return _not_after("commit was acknowledged", exercised, lambda fault: not fault.transactions_after)
    return f"no commit was acknowledged, of {sum(exercised.transactions.values()):,} transactions."


def _group_commits(exercised: Exercised) -> str | None:
    if not exercised.commits.get("ok", 0):
        return f"no commit of a group's offsets succeeded, of {sum(exercised.commits.values()):,}."
    idle = [group for group in exercised.groups if group.silent or not group.commits]
    if not idle:
        stopped = [fault for fault in exercised.faults if fault.idle_groups]
        each = ", ".join(
            f"{fault.name} ({fault.event}: groups {', '.join(fault.idle_groups)})" for fault in stopped
        )
        return f"no commit was acknowledged after the end of {each}." if stopped else None
    each = "; ".join(
        f"{group.group} (acknowledged commits: {group.commits:,}) has none of {', '.join(group.silent) or 'any'}"
        for group in idle
    )
    return (
        f"{len(idle):,} of {len(exercised.groups):,} groups committed no position of some partitions: {each}."
    )


def _copies(exercised: Exercised) -> str | None:
    return _unless_ok(exercised.copies, "no copy of a record was acknowledged, of {}.") or _not_after(
        "copy of a record was acknowledged", exercised, lambda fault: not fault.copies_after
    )


def _deliveries(exercised: Exercised) -> str | None:
    if not exercised.acknowledgements:
        return f"no delivery of a share group was acknowledged and confirmed, of {exercised.deliveries:,}."
    if unknown := sum(exercised.queues.values()) - exercised.queues.get("ok", 0):
        return f"how far a share group had got at the end is unknown of {unknown:,} partition(s)."
    if not exercised.queues:
        return "how far a share group had got at the end is not recorded."
    if exercised.unqueued:
        names = ", ".join(exercised.unqueued)
        return (
            f"how far a share group had got at the end is not recorded of {names}, which may have been added."
        )
    return _not_after(
        "delivery was acknowledged and confirmed", exercised, lambda fault: not fault.acknowledgements_after
    )


def _snapshots(exercised: Exercised) -> str | None:
    if exercised.snapshots_of_transfers:
        return None
    return (
        "no snapshot of all accounts was completed that began after a commit had been acknowledged, of "
        f"{exercised.snapshots:,}."
    )


def _compaction(exercised: Exercised) -> str | None:
    if exercised.compacted is None:
        return "no topic of the run allows compaction."
    if exercised.compacted == 0:
        return f"compaction removed none of {exercised.acks:,} acknowledged records."
    return None


def _samples_of_every_broker(exercised: Exercised) -> str | None:
    if not exercised.sampled:
        return "no broker answered with the state of a partition."
    silent = sorted({*exercised.brokers} - {*exercised.sampled})
    if not silent:
        return None
    every = len({*exercised.brokers, *exercised.sampled})
    names = ", ".join(map(str, silent))
    return f"{len(silent)} of {every} brokers never answered with the state of a partition: {names}."


def _samples_of_leaders(exercised: Exercised) -> str | None:
    if exercised.unmeasured:
        names = ", ".join(exercised.unmeasured)
        return f"no leader reported a high watermark and the end of its log of {names}."
    return None if exercised.leader_samples else "no leader reported a high watermark and the end of its log."


def _outputs(exercised: Exercised) -> str | None:
    if not exercised.pipelines.get("ok", 0):
        return "what the application wrote is not known as a whole."
    return None if exercised.outputs else "the application wrote nothing."


PROMISES: Mapping[str, Promise] = {
    promise.name: promise
    for promise in (
        Promise(
            name="acks-during-faults",
            exercised_by="a send was invoked and acknowledged during each fault, while it was certainly active",
            concerns=lambda exercised: bool(exercised.faults),
            missing=_acks_during_faults,
            by_default=False,
        ),
        Promise(
            name="acks-after-faults",
            exercised_by=(
                "a send was acknowledged after the end of each fault, by every partition to which clients sent then"
            ),
            concerns=lambda exercised: bool(exercised.faults),
            missing=_acks_after_faults,
        ),
        Promise(
            name="work-at-faults",
            exercised_by=(
                "as each fault of clients began, one of its clients was at work: an instance of an application owned "
                "partitions with inputs that it had not answered with an output and a committed position; a member "
                "of a group owned partitions with records whose position it had not committed, or had just polled; "
                "another client had an operation under way, or had just ended one"
            ),
            concerns=lambda exercised: any(fault.work for fault in exercised.faults),
            missing=_work_at_faults,
        ),
        Promise(
            name="session-reads",
            exercised_by=(
                "a session read a partition to the end that its leader, or its follower, reported, and did so again "
                "after the end of each fault"
            ),
            concerns=lambda exercised: bool(exercised.session_reads),
            missing=_session_reads,
        ),
        Promise(
            name="rereads",
            exercised_by=(
                "a process went back in a log, and polled offsets again that it had polled in an earlier assignment, "
                "up to where it had been"
            ),
            concerns=lambda exercised: bool(exercised.rereads),
            missing=lambda exercised: _unless_ok(
                exercised.rereads, "no client got again what it had polled before, in {} attempts."
            ),
        ),
        Promise(
            name="searches",
            exercised_by="a leader answered a search for the first offset that is not older than a record's time",
            concerns=lambda exercised: bool(exercised.searches),
            missing=lambda exercised: _unless_ok(
                exercised.searches, "no leader answered a search by time, of {}."
            ),
        ),
        Promise(
            name="polls-to-the-end",
            exercised_by=(
                "every reader got records of each partition after the last heal (without faults: in the second half "
                "of the load), and not only long before another reader did, or had read it to its end; readers that "
                "a fault killed do not count"
            ),
            concerns=lambda exercised: bool(exercised.readers),
            missing=_polls_to_the_end,
            by_default=False,
        ),
        Promise(
            name="transactions",
            exercised_by="the commit of a transaction was acknowledged, one after the end of each fault",
            concerns=lambda exercised: bool(exercised.transactions),
            missing=_transactions,
        ),
        Promise(
            name="group-commits",
            exercised_by=(
                "every group committed a position of each partition with acknowledged records to which its members "
                "subscribed, and some position after the end of each fault"
            ),
            concerns=lambda exercised: bool(exercised.commits or exercised.groups),
            missing=_group_commits,
        ),
        Promise(
            name="copies",
            exercised_by=(
                "a copy of a record was acknowledged (in a transaction: with its commit), one after the end of each "
                "fault"
            ),
            concerns=lambda exercised: bool(exercised.copies),
            missing=_copies,
        ),
        Promise(
            name="deliveries",
            exercised_by=(
                "a broker confirmed the acknowledgement of a record that a consumer of a share group got, and did so "
                "after the end of each fault, and it is known how far the group had got at the end"
            ),
            concerns=lambda exercised: bool(exercised.deliveries or exercised.queues),
            missing=_deliveries,
        ),
        Promise(
            name="outputs",
            exercised_by="an application wrote records, and all of them were read after it had ended",
            concerns=lambda exercised: bool(exercised.pipelines or exercised.outputs),
            missing=_outputs,
        ),
        Promise(
            name="snapshots",
            exercised_by=(
                "a snapshot of all accounts was completed that began after the commit of a transaction had been "
                "acknowledged"
            ),
            concerns=lambda exercised: bool(exercised.transfers),
            missing=_snapshots,
        ),
        Promise(
            name="compaction",
            exercised_by="final reads of a compacted topic found fewer records than were acknowledged",
            concerns=lambda exercised: exercised.compacted is not None,
            missing=_compaction,
            by_default=False,
        ),
        Promise(
            name="inspections",
            exercised_by="a broker described a topic after it knew all acknowledged changes of topics",
            concerns=lambda exercised: bool(exercised.inspections),
            missing=lambda exercised: _unless_ok(
                exercised.inspections,
                "no broker described a topic after it knew all changes, in {} attempts.",
            ),
        ),
        Promise(
            name="samples-of-every-broker",
            exercised_by="every broker that was ever in an ISR answered with the state of a partition",
            concerns=lambda exercised: bool(exercised.brokers or exercised.sampled),
            missing=_samples_of_every_broker,
            by_default=False,
        ),
        Promise(
            name="samples-of-leaders",
            exercised_by=(
                "of every partition that was written, a broker that called itself the leader reported its high "
                "watermark and the end of its log"
            ),
            concerns=lambda exercised: bool(exercised.leader_samples),
            missing=_samples_of_leaders,
            by_default=False,
        ),
        Promise(
            name="samples-of-controllers",
            exercised_by="a broker named the active controller of the quorum, or ZooKeeper had one",
            concerns=lambda exercised: bool(exercised.controller_samples),
            missing=lambda exercised: (
                None if exercised.controller_samples else "no answer named an active controller."
            ),
            by_default=False,
        ),
        Promise(
            name="identical-replicas",
            exercised_by="the in-sync replicas of a partition were compared after the load",
            concerns=lambda exercised: bool(exercised.comparisons),
            missing=lambda exercised: _unless_ok(
                exercised.comparisons, "the replicas of no partition could be compared, of {}."
            ),
            by_default=False,
        ),
        Promise(
            name="samples-of-groups",
            exercised_by="a coordinator reported the state of a group whose name contains the id of the run",
            concerns=lambda exercised: bool(exercised.group_samples),
            missing=lambda exercised: (
                None if exercised.group_samples else "no coordinator reported the state of a group."
            ),
            by_default=False,
        ),
        Promise(
            name="samples-of-eligible-replicas",
            exercised_by=(
                "a broker named eligible leader replicas, or no replica in sync: too few replicas were in sync with "
                "`eligible.leader.replicas.version=1`"
            ),
            concerns=lambda exercised: bool(exercised.eligible_samples),
            missing=lambda exercised: (
                None if exercised.eligible_samples else "no broker named eligible replicas, or an empty ISR."
            ),
            by_default=False,
        ),
        Promise(
            name="samples-of-transactions",
            exercised_by=(
                "a coordinator reported the state of a transactional id that contains the id of the run; "
                "since Kafka 3.0"
            ),
            concerns=lambda exercised: bool(exercised.transaction_samples),
            missing=lambda exercised: (
                None
                if exercised.transaction_samples
                else "no coordinator reported the state of a transaction."
            ),
            by_default=False,
        ),
    )
}
"""By name, in the order of documents and verdicts."""

BY_PROMISE: Mapping[str, tuple[str, ...]] = {
    # Every run reads its logs to their ends at last: what is acknowledged before that can be missing, or be twice.
    "acks-after-faults": (
        "lost-write", "duplicate", "offset-reuse", "monotonic-writes", "nonmonotonic-send", "int-nonmonotonic-send",
        "int-send-skip", "realtime-order", "overtaken-write", "unavailable", "slow-recovery", "silent-partition",
    ),
    "session-reads": ("read-your-writes", "monotonic-reads", "writes-follow-reads"),
    "rereads": ("inconsistent-offsets",),
    "searches": ("wrong-offset-for-time",),
    "polls-to-the-end": (
        "lost-read", "unseen", "expired", "phantom-read", "foreign-record", "corrupt-record", "poll-skip",
        "nonmonotonic-poll", "int-poll-skip", "int-nonmonotonic-poll", "stalled-reader",
    ),
    "transactions": (
        "G1a", "torn-transaction", "precommitted-read", "future-read", "zombie-write", "read-above-lso", "G0",
        "G0-realtime", "G1c-wr", "G1c", "G1c-realtime",
    ),
    "group-commits": (
        "double-ownership", "group-skip", "added-partition-skip", "commit-beyond-polls", "commit-beyond-end",
        "commit-regression", "unfenced-commit",
        "excess-duplicates", "orphaned-partition",
    ),
    "deliveries": (
        "queue-lost", "added-queue-skip", "queue-double-holder", "queue-redelivery", "queue-delivery-count",
        "queue-unfinished",
    ),
    "copies": ("lost-copy", "duplicate-copy"),
    "outputs": (
        "missing-output", "unprocessed-input", "duplicate-output", "reordered-output", "wrong-aggregate",
        "invented-output", "standstill",
    ),
    "snapshots": ("wrong-total",),
    "compaction": ("risen-key",),
    "inspections": ("forgotten-change",),
    "samples-of-every-broker": (
        "read-above-watermark", "two-leaders-in-epoch", "leader-outside-isr", "metadata-regression",
        "metadata-disagreement",
    ),
    "samples-of-leaders": (
        "watermark-above-end", "watermark-regression", "leader-below-watermark", "unclean-truncation",
        "replica-below-watermark", "unexplained-log-start", "log-start-regression", "acks-below-min-isr",
    ),
    "samples-of-controllers": ("controller-conflict", "controller-regression"),
    "identical-replicas": ("replica-divergence",),
    "samples-of-groups": (
        "group-state-conflict", "group-epoch-regression", "unexplained-rebalance", "position-regression",
    ),
    "samples-of-eligible-replicas": ("eligible-conflict", "ineligible-leader"),
    "samples-of-transactions": ("transaction-state-regression", "producer-epoch-regression"),
}  # fmt: skip
"""By promise: the anomalies that a run cannot show without it."""

EXERCISED_BY: Mapping[str, str] = {
    anomaly: promise for promise, anomalies in BY_PROMISE.items() for anomaly in anomalies
}
"""By anomaly."""
