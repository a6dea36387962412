"""What a history put to the test, and what keeps it from being judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import Row

from analyzers.facts import USER
from analyzers.facts.columns import ACKED, SESSION
from analyzers.history.fault_events import FaultEvent
from analyzers.history.load import History
from analyzers.history.run_progress import RunProgress
from analyzers.verdict.verdict import Exercised, FaultExercised
from workloads.history.schema import HARNESS, NEMESIS


@dataclass(kw_only=True)
class Tally:
    """The counts of one run, as they come out of Spark."""

    began: int | None = None
    """ns, of the first operation."""
    types: dict[str, Counter[str]] = field(default_factory=dict)
    """f to completion type to number."""
    written: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions with a send that may have happened."""
    finished: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions with a completed final read."""
    attempted: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions with a final read of any kind."""
    senders: set[int] = field(default_factory=set)
    """Sessions with an acknowledged send; a process without a session stands for itself, as a negative number."""
    pollers: set[int] = field(default_factory=set)
    """Sessions that polled."""
    nemesis: list[Row] = field(default_factory=list)
    acks: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Fault event to acknowledgements before, during and after it."""
    leader_changes: int = 0
    isr_changes: int = 0
    smallest_isr: int | None = None
    course: RunProgress = field(default_factory=RunProgress)

    def count(self, f: str) -> Counter[str]:
        return self.types.get(f, Counter())

    def kinds(self) -> set[str]:
        """What was done: operations by f, and `USER` where one session both sends and polls, or may in two
        clients."""
        ordered = any(session >= 0 or session in self.pollers for session in self.senders)
        return {*self.types, *([USER] if ordered else [])}


def tally(history: History) -> dict[str, Tally]:
    """By run id, for every run with a record or an operation; in one Spark job, or two where there were faults."""
    rows = history.sql(_TALLY).collect()
    tallies = {row.run: Tally() for row in rows if row.counted is not None}
    for run, counted in ((tallies[row.run], row.counted) for row in rows if row.counted is not None):
        run.began = min((at for at in (run.began, counted.began) if at is not None), default=None)
        run.types.setdefault(counted.f, Counter())[counted.type] += counted.n
        logs = {(log.topic, log.partition) for log in counted.logs}
        if counted.f == "send" and counted.type != "fail":
            run.written |= logs
        if counted.f == "final-read":
            run.attempted |= logs
            if counted.type == "ok":
                run.finished |= logs
        if counted.f == "send" and counted.type == "ok":
            run.senders |= set(counted.sessions)
        if counted.f == "poll":
            run.pollers |= set(counted.sessions)
    told = [(row.run, row.told) for row in rows if row.told is not None]
    for name, operation in sorted(told, key=lambda one: (one[0], one[1].invoked, one[1].op)):
        if operation.process == NEMESIS:
            tallies[name].nemesis.append(operation)
        else:
            tallies[name].course.note(operation.f, operation.value)
    for row in rows:
        if row.changed is not None and row.run in tallies:
            run = tallies[row.run]
            run.leader_changes, run.isr_changes, run.smallest_isr = row.changed
    if any(run.nemesis for run in tallies.values()):
        for row in history.sql(_ACKS).collect():
            tallies[row.run].acks[row.event] = (row.before, row.during, row.after)
    return tallies


def exercised(run: Tally, events: Sequence[FaultEvent]) -> Exercised:
    """The tally of a run as its verdict tells it."""
    faults = []
    for event in events:
        before, during, after = run.acks.get(event.event, (0, 0, 0))
        faults.append(
            FaultExercised(
                event=event.event,
                fault=event.fault,
                target=event.target,
                nodes=event.nodes,
                processes=event.processes,
                effective=event.inject is not None and event.inject.effective,
                healed=event.heal is not None and event.heal.effective,
                began=seconds(event.began, run.began),
                ended=seconds(event.ended, run.began),
                acks_before=before,
                acks_during=during,
                acks_after=after,
            )
        )
    return Exercised(
        sends=dict(run.count("send")),
        polls=run.count("poll").total(),
        transactions=dict(run.count("txn")),
        commits=dict(run.count("commit")),
        final_reads=dict(run.count("final-read")),
        session_reads=dict(run.count("read")),
        faults=tuple(faults),
        leader_changes=run.leader_changes,
        isr_changes=run.isr_changes,
        smallest_isr=run.smallest_isr,
    )


def unknowns(run: Tally, events: Sequence[FaultEvent]) -> tuple[str, ...]:
    """A sentence for each reason why this run cannot be called valid, whatever the checks find."""
    sends, polls = run.count("send"), run.count("poll")
    if not sends and not polls:
        return ("The history holds no records: nothing was sent and nothing read.",)
    sentences = []
    if not sends["ok"]:
        sentences.append(
            f"Nothing was acknowledged (of {sends.total():,} sends): no promise was put to the test."
        )
    sentences += [sentence for event in events for sentence in event.doubts()]
    sentences += run.course.doubts()
    for topic, partition in sorted(run.written - run.finished):
        tried = (
            "no final read completed" if (topic, partition) in run.attempted else "there was no final read"
        )
        sentences.append(
            f"{topic}-{partition} was written, but {tried}: what it holds at the end is not known."
        )
    return tuple(sentences)


def seconds(time: int | None, began: int | None) -> float | None:
    """s since the run's first operation, from ns; None while unknown."""
    return None if time is None or began is None else (time - began) / 1e9


# Leader changes go by epoch, over what all brokers said. ISRs in the order in which one broker saw them, for two
# brokers lag behind one another; of the brokers the one that saw the most. All of a run in one place: samples are
# few, and then nothing is shuffled a second time.
_TALLY = f"""
    with each as (
        select run, topic, partition, f, type, {SESSION} as session, count(*) as n, min(invoked) as began
        from (
            select run, topic, partition, f, type, session, process, invoked from {{records}} union all
            select run, topic, partition, f, type, session, process, invoked from {{operations}}
        ) group by run, topic, partition, f, type, {SESSION}
    ), counted as (
        select run, f, type, sum(n) as n, min(began) as began, collect_set(struct(topic, partition)) as logs,
            collect_set(session) as sessions
        from each group by run, f, type
    ), seen as (
        select /*+ REPARTITION(run) */ run, topic, partition, node, time, leader_epoch,
            nullif(leader, -1) as leader, array_sort(isr) as isr
        from {{observations}} where kind = 'partition'
    ), beside as (
        select *, last(leader, true) over (
            partition by run, topic, partition order by leader_epoch, leader
            rows between unbounded preceding and 1 preceding
        ) as last_leader, last(isr, true) over (
            partition by run, topic, partition, node order by time rows between unbounded preceding and 1 preceding
        ) as last_isr
        from seen
    ), by_node as (
        select run, topic, partition, node, count_if(leader <> last_leader) as leaders,
            count_if(isr <> last_isr) as isrs, min(size(isr)) as smallest
        from beside group by run, topic, partition, node
    ), by_log as (
        select run, topic, partition, sum(leaders) as leaders, max(isrs) as isrs, min(smallest) as smallest
        from by_node group by run, topic, partition
    ), changed as (
        select run, sum(leaders) as leaders, sum(isrs) as isrs, min(smallest) as smallest
        from by_log group by run
    )
    select run, struct(f, type, n, began, logs, sessions) as counted, null as told, null as changed from counted
    union all
    select run, null, struct(f, op, process, invoked, completed, value), null
    from {{operations}} where process in ({NEMESIS}, {HARNESS})
    union all
    select run, null, null, struct(leaders, isrs, smallest) from changed
"""
"""Per run and f and type: how many, since when (ns), of which logs and sessions; the operations of nemesis and
harness; and per run, how often a partition's leader and its ISR changed."""

_ACKS = f"""
    with stages as (
        select run, get_json_object(value, '$.event') as event, get_json_object(value, '$.stage') as stage,
            invoked, completed
        from {{operations}} where process = {NEMESIS}
    ), windows as (
        select run, event, min(invoked) filter (where stage = 'inject') as opening,
            min(completed) filter (where stage = 'inject') as opened,
            min(invoked) filter (where stage = 'heal') as closing,
            min(completed) filter (where stage = 'heal') as closed
        from stages group by run, event
    )
    select /*+ BROADCAST(windows) */ run, event, count_if(completed < opening) as before,
        count_if(invoked >= opened and completed <= coalesce(closing, completed)) as during,
        count_if(completed > closed) as after
    from (select run, invoked, completed from {{records}} where {ACKED}) join windows using (run)
    group by run, event
"""
"""Per run and fault event: acknowledgements before, during and after it."""
