"""The tally of a run: what was done, counted by Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pyspark.sql import Row

from analyzers.facts.fact import (
    COMPACTED_TOPICS,
    COPIES,
    ELIGIBLE_REPLICAS,
    FAULTS,
    GENERATIONS,
    GROUP_STATES,
    IDLE_READERS,
    ISOLATION,
    REMOVALS,
    SAMPLES,
    SENDS_AND_POLLS,
    SESSION,
    TIME,
    TRANSACTION_STATES,
    TRANSFERS,
)
from analyzers.facts.steps import DONE
from analyzers.history.load import History
from analyzers.history.run_progress import RunProgress
from analyzers.judge.around_faults import COMMITTED, AroundFault, Replication, around_faults, replication
from analyzers.judge.compaction import compacted_topics, may_compact, removed_by_compaction
from analyzers.judge.readers import has_idle_reader
from analyzers.judge.snapshots import NO_SNAPSHOTS, Snapshots, snapshots
from analyzers.judge.work_at_faults import ClientAtFault, acts_on_clients, work_at_faults
from workloads.history.schema import HARNESS, NEMESIS

NOTHING: Counter[str] = Counter()
"""Of a kind of operation that a run has none of."""


@dataclass(kw_only=True)
class Tally:
    """The counts of one run, as Spark returns them."""

    began: int | None = None
    """ns, of the first operation after the creation of the topics."""
    types: dict[str, Counter[str]] = field(default_factory=dict)
    """Count by kind of operation (f) and completion type."""
    written: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions with a send that did not fail."""
    acknowledged: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Numbers of acknowledged sends, by topic-partition."""
    tried: dict[tuple[str, int], int] = field(default_factory=dict)
    """ns: when the last send began that ended in whatever way, by topic-partition."""
    answered: dict[tuple[str, int], int] = field(default_factory=dict)
    """ns: when the last one that a broker acknowledged completed."""
    finished: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions with a completed final read."""
    queued: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions of which it is recorded how far a share group had got, known or not."""
    recorded: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions with a record."""
    until: int | None = None
    """ns, of the last record: when it completed, or when it was invoked if it never did."""
    final_start: int = 0
    """The highest log start that a completed final read found."""
    attempted: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions with a final read, completed or not."""
    senders: set[int] = field(default_factory=set)
    """Sessions with an acknowledged send. A process without a session counts as one, with a negative number."""
    pollers: set[int] = field(default_factory=set)
    """Sessions that polled."""
    reading: set[int] = field(default_factory=set)
    """Sessions that completed a read."""
    has_recreation: bool = False
    """Whether a topic was deleted and created again, which `tally` does not see."""
    session_readers: set[int] = field(default_factory=set)
    """Processes that read partitions as sessions (operation ``read``)."""
    nemesis: list[Row] = field(default_factory=list)
    """Its operations, in order of time."""
    harness: list[Row] = field(default_factory=list)
    """Its operations, in order of time."""
    altered: list[Row] = field(default_factory=list)
    """Changes of topics that administrators requested, unless they were refused, in order of time."""
    compaction_samples: int = 0
    """Samples of settings that allow compaction."""
    copies: Counter[str] = field(default_factory=Counter)
    """Sends with a source, by completion type."""
    around: dict[str, AroundFault] = field(default_factory=dict)
    """What clients did before, during and after each fault event."""
    at_faults: dict[str, list[ClientAtFault]] = field(default_factory=dict)
    """What clients had to do as each fault of clients began, by fault event."""
    transfers: Counter[str] = field(default_factory=Counter)
    """Sends with an amount, by completion type."""
    snapshots: Snapshots = NO_SNAPSHOTS
    """Looked for only if there are transfers."""
    leader_changes: int = 0
    isr_changes: int = 0
    smallest_isr: int | None = None
    brokers: set[int] = field(default_factory=set)
    """In sync with some partition, according to any sample."""
    sampled: set[int] = field(default_factory=set)
    """Brokers that answered with the state of a partition."""
    measured: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions of which a leader answered with its high watermark and the end of its log."""
    leader_samples: int = 0
    """The number of such answers."""
    controller_samples: int = 0
    """Answers that named an active controller."""
    group_samples: int = 0
    """Answers of coordinators with the state of a group."""
    transaction_samples: int = 0
    """Answers of coordinators with the state of a transaction."""
    eligible_samples: int = 0
    """Answers that named eligible leader replicas, or no replica in sync."""
    subscribed: set[tuple[str, str]] = field(default_factory=set)
    """Groups, each with a topic to which a client subscribed as its member."""
    positions: dict[str, Counter[tuple[str, int]]] = field(default_factory=dict)
    """By group that a client committed for: the number of acknowledged commits by topic-partition."""
    committed: int = 0
    """Transactions whose commit was acknowledged."""
    unlinked: int = 0
    """Records without `previous` or `within`, although a record of the same client comes before them."""
    last_send: int | None = None
    """ns, of the last invocation of a send."""
    first_send: int | None = None
    """ns, of the first one."""
    polled: list[Row] = field(default_factory=list)
    """Per client and log: process, topic, partition, n (records polled), top (the highest offset), last (ns, the last
    completion), final (by final reads), grouped (as a member of a group), got (ns, the last record with an offset
    that it polled outside of groups), committed (records that it polled with read_committed)."""
    progress: RunProgress = field(default_factory=RunProgress)
    replication: Replication | None = None
    """None without faults, and without samples."""

    @property
    def has_faults_of_clients(self) -> bool:
        """Whether a fault acted on clients whose roles are recorded."""
        return bool(self.progress.roles) and any(acts_on_clients(row) for row in self.nemesis)

    @property
    def middle(self) -> int:
        """ns, of the load; 0 without any."""
        return ((self.first_send or 0) + (self.last_send or 0)) // 2

    @property
    def has_removals(self) -> bool:
        """Whether records may have been removed from the beginning of some log; False: final reads found them all."""
        return self.has_recreation or self.final_start > 0 or not self.recorded <= self.finished

    @property
    def users(self) -> set[int]:
        """Sessions whose sends and polls may have an order between them."""
        return {session for session in self.senders if session >= 0 or session in self.pollers}

    @property
    def half(self) -> int | None:
        """ns, of the duration of the load; None without any."""
        if self.first_send is None or self.last_send is None:
            return None
        return (self.last_send - self.first_send) // 2

    def count(self, f: str) -> Counter[str]:
        return self.types.get(f, NOTHING)

    @property
    def compacted(self) -> int | None:
        """See `removed_by_compaction`."""
        logs = {log: count for log, count in self.acknowledged.items() if log in self.finished}
        return removed_by_compaction(self.harness, logs, self.polled, altered=self.altered)

    @property
    def has_compaction(self) -> bool:
        """Whether any settings of a topic allow compaction at any time."""
        changes = [*self.altered, *self.nemesis]
        return self.compaction_samples > 0 or bool(compacted_topics(self.harness)) or may_compact(changes)

    def kinds(self) -> frozenset[str]:
        """The kinds of operations (f) in the run, and those of `analyzers.facts.fact` that apply."""
        others = {
            SENDS_AND_POLLS: bool(self.users),
            SAMPLES: bool(self.sampled),
            GROUP_STATES: bool(self.group_samples),
            TRANSACTION_STATES: bool(self.transaction_samples),
            ELIGIBLE_REPLICAS: bool(self.eligible_samples),
            COPIES: bool(self.copies),
            FAULTS: bool(self.nemesis),
            TRANSFERS: bool(self.transfers),
            COMPACTED_TOPICS: self.has_compaction,
            REMOVALS: self.has_removals,
            GENERATIONS: any(client.grouped for client in self.polled),
            ISOLATION: any(client.committed for client in self.polled),
            # A recreation cuts a log into several, of which the counts say nothing.
            IDLE_READERS: self.has_recreation or has_idle_reader(self.polled, self.harness, half=self.half),
        }
        return frozenset([*self.types, *(kind for kind, applies in others.items() if applies)])


def tally(history: History) -> dict[str, Tally]:
    """By run id, for every run with a row in any table. Takes one Spark job, two more if there were faults,
    and one more each if there were groups, and if there were transfers."""
    rows = history.rows(_TALLY)
    tallies = {run: Tally() for run in dict.fromkeys(row.run for row in rows)}
    for run, counted in ((tallies[row.run], row.counted) for row in rows if row.counted is not None):
        # Topics are created before the load, with which the time of a run begins.
        if counted.f != "topic":
            run.began = _least(run.began, counted.began)
        run.types.setdefault(counted.f, Counter())[counted.type] += counted.n
        logs = {(log.topic, log.partition) for log in counted.logs}
        if counted.f in ("send", "poll"):
            run.recorded |= logs
            for at in (counted.last_begun, *(client.last for client in counted.clients)):
                run.until = most(run.until, at)
        if counted.f == "send" and counted.type != "fail":
            run.written |= logs
        if counted.f == "final-read":
            run.attempted |= logs
            if counted.type == "ok":
                run.finished |= logs
                run.final_start = counted.start or 0
        if counted.f == "send" and counted.type == "ok":
            run.senders |= set(counted.sessions)
            for client in counted.clients:
                run.acknowledged[client.topic, client.partition] += client.n
        if counted.f == "send":
            for client in counted.clients:
                log = client.topic, client.partition
                _advance(run.tried, log, client.tried)
                if counted.type == "ok" or client.top is not None:
                    _advance(run.answered, log, client.last)
        if counted.f == "poll":
            run.pollers |= set(counted.sessions)
            run.polled += counted.clients
        if counted.f == "send":
            run.first_send = _least(run.first_send, counted.began)
            run.last_send = most(run.last_send, counted.last_begun)
        if counted.f == "queue":
            run.queued |= logs
        if counted.f == "read":
            run.session_readers |= {client.process for client in counted.clients}
            run.reading |= set(counted.sessions)
        if counted.f == "txn":
            run.committed += counted.committed
        if counted.copies:
            run.copies[counted.type] += counted.copies
        if counted.transfers:
            run.transfers[counted.type] += counted.transfers
        run.unlinked += counted.unlinked
    controlling = [(row.run, row.operation) for row in rows if row.operation is not None]
    for name, operation in sorted(controlling, key=lambda each: (each[0], each[1].invoked, each[1].op)):
        if operation.process == NEMESIS:
            tallies[name].nemesis.append(operation)
        elif operation.f == "alter":
            tallies[name].altered.append(operation)
        else:
            log = operation.topic, operation.partition
            tallies[name].harness.append(operation)
            tallies[name].progress.note(operation.f, operation.value, log)
    for row in rows:
        if row.changed is not None:
            run = tallies[row.run]
            changed = row.changed
            run.leader_changes, run.isr_changes = changed.leaders, changed.isrs
            run.smallest_isr = changed.smallest
            run.sampled, run.brokers = set(changed.nodes), set(changed.members)
            run.measured = {(log.topic, log.partition) for log in changed.measured}
            run.leader_samples, run.controller_samples = changed.marks, changed.quorums
            run.group_samples, run.transaction_samples = changed.groups, changed.transactions
            run.eligible_samples = changed.eligibles
            run.compaction_samples = changed.compactions
    # An event has two stages.
    if stages := max((len(run.nemesis) for run in tallies.values()), default=0):
        for name, by_event in around_faults(history, events=stages // 2).items():
            tallies[name].around = by_event
        for name, observed in replication(history).items():
            tallies[name].replication = observed
        struck = [run for run in tallies.values() if run.has_faults_of_clients]
        if struck:
            instances = any(run.progress.instances for run in struck)
            others = any(run.progress.roles.keys() - run.progress.instances.keys() for run in struck)
            for name, clients in work_at_faults(history, instances=instances, others=others).items():
                tallies[name].at_faults = clients
    if any(run.count("subscribe") or run.count("commit") for run in tallies.values()):
        for row in history.rows(_GROUPS):
            run = tallies[row.run]
            if row.f == "subscribe":
                run.subscribed.add((row.group, row.topic))
            else:
                run.positions.setdefault(row.group, Counter())[row.topic, row.partition] += row.acknowledged
    if any(run.transfers for run in tallies.values()):
        for name, taken in snapshots(history).items():
            tallies[name].snapshots = taken
    return tallies


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None or (other is not None and other < one) else one


def _advance(times: dict[tuple[str, int], int], log: tuple[str, int], at: int | None) -> None:
    if at is not None:
        times[log] = max(at, times.get(log, at))


def most(one: int | None, other: int | None) -> int | None:
    return other if one is None or (other is not None and other > one) else one


_TALLY = f"""
    with done as (
        select run, topic, partition, f = 'send' as is_send,
            case type when 'ok' then 1 when 'fail' then 2 else 3 end as outcome, session, process, assignment,
            generation, invoked, completed, offset,
            coalesce(final, false) as final, coalesce(f = 'poll' and committed, false) as committed,
            f = 'send' and source is not null as copy, f = 'send' and amount is not null as transfer,
            if(f = 'poll' and offset is not null and generation is null, {TIME}, null) as got,
            previous is not null and within is null as loose,
            {DONE} and offset is not null and previous is null as first
        from {{records}}
    ), lines as (
        select run, topic, partition, if(is_send, 'send', 'poll') as f, elt(outcome, 'ok', 'fail', 'info') as type,
            session, process, final, generation, count(*) as n, min(invoked) as began, max(invoked) as last_begun,
            max(completed) as last, max(offset) as top, max(got) as got, null as start,
            max(if(completed is null, null, invoked)) as tried,
            count_if(committed) as committed, count_if(copy) as copies, count_if(transfer) as transfers,
            greatest(count_if(first) - 1, 0) + count_if(loose) as unlinked
        from done
        group by run, topic, partition, is_send, outcome, session, process, final, generation, assignment
        union all
        select run, topic, partition, f, type, session, process, false, null, count(*), min(invoked), max(invoked),
            max(completed), null, null, max(start_offset), null,
            count_if(f = 'txn' and type = 'ok' and {COMMITTED}), 0, 0, 0
        from {{operations}} group by run, topic, partition, f, type, session, process
    ), each as (
        select run, topic, partition, f, type, {SESSION} as session, process, final, sum(n) as n,
            bool_or(generation is not null) as grouped, min(began) as began, max(last_begun) as last_begun,
            max(last) as last, max(top) as top, max(got) as got, max(start) as start,
            max(tried) as tried, sum(committed) as committed, sum(copies) as copies,
            sum(transfers) as transfers, sum(unlinked) as unlinked
        from lines group by run, topic, partition, f, type, {SESSION}, process, final
    ), counted as (
        select run, f, type, sum(n) as n, min(began) as began, collect_set(struct(topic, partition)) as logs,
            collect_set(session) as sessions, max(last_begun) as last_begun, sum(committed) as committed,
            sum(copies) as copies, sum(transfers) as transfers, sum(unlinked) as unlinked, max(start) as start,
            collect_list(struct(process, topic, partition, n, top, last, final, grouped, got, committed, tried))
                filter (where f in ('send', 'poll', 'read')) as clients
        from each group by run, f, type
    ), named as (
        select distinct run, topic, partition, leader_epoch, leader from {{observations}}
        where kind = 'partition' and leader <> -1
    ), led as (
        select run, leader <> lag(leader) over (
            partition by run, topic, partition order by leader_epoch, leader
        ) as is_changed
        from named
    ), in_sync as (
        select run, topic, partition, isr <> lag(isr) over (
            partition by node, partition, topic, run order by time
        ) as is_changed, node
        from (
            select run, topic, partition, node, time, sort_array(isr) as isr from {{observations}}
            where kind = 'partition' and isr is not null
        )
    ), by_node as (
        select run, topic, partition, count_if(is_changed) as changes from in_sync
        group by run, topic, partition, node
    ), answered as (
        select run, topic, partition, if(kind = 'partition', node, null) as sampled,
            count_if(kind = 'partition' and leader = node and high_watermark is not null and log_end is not null)
                as marks,
            count_if(kind in ('quorum', 'controller') and leader >= 0) as quorums,
            count_if(kind = 'group_state') as groups, count_if(kind = 'transaction') as transactions,
            count_if(kind = 'eligible' and (size(isr) = 0 or get_json_object(value, '$.eligible') <> '[]'))
                as eligibles,
            count_if(kind = 'settings' and get_json_object(value, "$['cleanup.policy']") like '%compact%')
                as compactions
        from {{observations}} group by run, topic, partition, if(kind = 'partition', node, null)
    ), parts as (
        select run, sum(marks) as marks, sum(quorums) as quorums, sum(groups) as groups,
            sum(transactions) as transactions, sum(eligibles) as eligibles, sum(compactions) as compactions,
            collect_set(sampled) as nodes,
            collect_set(struct(topic, partition)) filter (where marks > 0) as measured,
            0 as leaders, 0 as isrs, null as members
        from answered group by run
        union all
        select run, 0, 0, 0, 0, 0, 0, array(), array(), count_if(is_changed), 0, null from led group by run
        union all
        select run, 0, 0, 0, 0, 0, 0, array(), array(), 0, max(changes), null from by_node
        group by run, topic, partition
        union all
        select run, 0, 0, 0, 0, 0, 0, array(), array(), 0, 0, isr from {{observations}}
        where kind = 'partition' and isr is not null group by run, isr
    ), changed as (
        select run, sum(leaders) as leaders, sum(isrs) as isrs, min(size(members)) as smallest,
            flatten(collect_list(nodes)) as nodes, array_distinct(flatten(collect_list(members))) as members,
            sum(marks) as marks, sum(quorums) as quorums, sum(groups) as groups, sum(transactions) as transactions,
            sum(eligibles) as eligibles, sum(compactions) as compactions, flatten(collect_list(measured)) as measured
        from parts group by run
    )
    select run, struct(f, type, n, began, last_begun, logs, sessions, committed, copies, transfers, unlinked,
            start, clients) as counted,
        null as operation, null as changed
    from counted
    union all
    select run, null, struct(f, op, process, invoked, completed, value, topic, partition), null
    from {{operations}} where process in ({NEMESIS}, {HARNESS}) or f = 'alter' and type <> 'fail'
    union all
    select run, null, null, struct(
        leaders, isrs, smallest, nodes, members, marks, quorums, groups, transactions, eligibles, compactions,
        measured
    ) from changed
"""
"""Rows of three kinds. `counted`: per run, f and type the number, the first and the last invocation (ns), the logs,
the sessions, and of sends, polls and reads the clients. `operation`: an operation of the nemesis or the harness.
`changed`: per run the numbers of leader and ISR changes, the brokers that answered, those that were in sync, and the
answers of leaders and of controllers."""

_GROUPS = """
    select run, `group`, f, topic, partition, count_if(type = 'ok') as acknowledged
    from {operations} where f in ('subscribe', 'commit') group by run, `group`, f, topic, partition
"""
"""Per run and group: the topics to which its members subscribed, and the logs with the number of commits that were
acknowledged."""
