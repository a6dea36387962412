"""What clients had to do as a fault of clients began: a fault that meets no work shows nothing.

An instance of an application that was killed owns nothing until the session of its former process has expired, 45 s
by default. Faults that hit it meanwhile take effect, and put nothing to the test.

Of an application, the owners of partitions are those of the samples of `workloads.roles.group_watch`, four a second,
and of the log of its group's coordinator (`workloads.roles.group_watch`), which says exactly when a partition was
given out, and not when a rebalance began. Committed positions are those of that log or, without it, of the samples.
What owns a partition is a member, and a member that a group knew before the process of the instance began is that of
a former one. Where its group is unknown, only its outputs count: an input without one was in flight, and if there is
none, nobody can say whether it was at work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Row

from analyzers.facts.fact import ACKED
from analyzers.facts.members import ENDLESS
from analyzers.facts.pipelines import COMMITTED
from analyzers.history.load import History
from analyzers.verdict.exercised import WorkAtFault
from workloads.history.schema import HARNESS, NEMESIS

SECOND = 1_000_000_000

HELD = SECOND
"""ns for which an instance still counts as the owner of a partition that nobody has while its group rebalances: it
learns of that with its next heartbeat."""

RECENT = 5 * SECOND
"""ns for which a client counts as at work after its last operation: an election of a leader takes about as long."""

RECENT_OF_NO_OWNER = SECOND
"""The same of a member of a group that owns no partition."""

LOCK = 30 * SECOND
"""ns after which a record that a share consumer did not acknowledge is delivered to another one, by default."""

MOST_GAP = 10_000
"""ms of a session timeout from which on a shorter one is recommended."""

SHORT_SESSION = 6_000
"""ms, the shortest session timeout that brokers accept by default."""


OF_ALL_CLIENTS = ("rebalance", "cut-clients")
"""Faults of clients whose rows name no client."""


def acts_on_clients(row: Row) -> bool:
    """Whether the fault of an operation of the nemesis acts on clients."""
    return row.f in OF_ALL_CLIENTS or '"processes": [' in (row.value or "")


@dataclass(frozen=True, kw_only=True)
class ClientAtFault:
    """A client as the fault began at `at`, ns."""

    process: int
    at: int
    owned: int | None = None
    """Partitions that it owned; None where nobody can say, or for one that is no member of a group."""
    in_flight: int = 0
    last: int | None = None
    """ns, of its last operation. None for an instance of an application, and without any."""
    gone: int | None = None
    back: int | None = None
    """ns, of an instance that owned nothing: from when on, and until when."""
    died: int | None = None
    """ns, when the process ended that the instance had before."""
    session_timeout: int | None = None
    """ms, of the application's members, as its group's coordinator wrote it down."""
    is_instance: bool = False


def work_at_faults(
    history: History, *, instances: bool, others: bool
) -> dict[str, dict[str, list[ClientAtFault]]]:
    """By run and fault event, for the clients whose role is recorded. instances, others: whether some of these are
    instances of an application, and whether some are not."""
    found: dict[str, dict[str, list[ClientAtFault]]] = {}
    for is_asked, statement, is_instance in ((instances, _INSTANCES, True), (others, _OTHERS, False)):
        for row in history.rows(statement) if is_asked else ():
            of_event = found.setdefault(row.run, {}).setdefault(row.event, [])
            of_event.append(_client(row, is_instance=is_instance))
    for events in found.values():
        for clients in events.values():
            clients.sort(key=lambda each: each.process)
    return found


def _client(row: Row, *, is_instance: bool) -> ClientAtFault:
    values = {name: value for name, value in row.asDict().items() if name not in ("run", "event")}
    return ClientAtFault(**values, is_instance=is_instance)


def described(
    clients: Sequence[ClientAtFault],
    names: Mapping[int, str],
    began: int | None,
    aimed_at: str | None = None,
    of_brokers: Sequence[tuple[int, int | None]] = (),
) -> tuple[WorkAtFault, ...]:
    """As verdicts have it.

    began       of the run's first operation, ns.
    aimed_at    the instance at whose moment the fault was injected: that was seen to be at work while it stood still.
    of_brokers  when faults of brokers began and ended, ns; None for never.
    """

    def seconds(time: int) -> float:
        return (time - (began or 0)) / SECOND

    return tuple(
        WorkAtFault(
            client=(name := names.get(each.process, f"client {each.process}")),
            met=(met := name == aimed_at or _met(each, of_brokers)),
            in_flight=each.in_flight,
            reason=f"{name} {_idle(each, seconds)}" if met is False else "",
        )
        for each in clients
    )


def _met(client: ClientAtFault, of_brokers: Sequence[tuple[int, int | None]]) -> bool | None:
    if client.in_flight:
        return True
    if client.is_instance:
        return None if client.owned is None else False
    recent = RECENT_OF_NO_OWNER if client.owned == 0 else RECENT
    return client.last is not None and held_up_since(client.at, of_brokers) - client.last <= recent


def held_up_since(at: int, of_brokers: Sequence[tuple[int, int | None]]) -> int:
    """ns, when the faults of brokers began that may keep clients from working at this time: those at work then or in
    the `RECENT` before, and those before them. The time itself without any."""
    since = at
    for began, ended in sorted(of_brokers, key=lambda each: each[0], reverse=True):
        if began <= since and (ended is None or ended >= since - RECENT):
            since = began
    return since


def _idle(client: ClientAtFault, seconds: Callable[[int], float]) -> str:
    if client.is_instance:
        if client.owned:
            return f"had answered and committed every input of its partitions at {seconds(client.at):.1f} s"
        return "".join(_not_owning(client, seconds))
    idle = (
        "had done nothing yet"
        if client.last is None
        else f"had done nothing for {(client.at - client.last) / SECOND:.1f} s"
    )
    at = f"at {seconds(client.at):.1f} s"
    if client.owned == 0:
        return f"owned no partition {at}, and {idle}"
    if client.owned is not None:
        return f"had committed every acknowledged record of its partitions {at}, and {idle}"
    return f"had no operation under way {at}, and {idle}"


def _not_owning(client: ClientAtFault, seconds: Callable[[int], float]) -> Iterator[str]:
    """Since when, until when, and what to change."""
    yield "owned no partition"
    if client.gone is not None:
        yield f" from {seconds(client.gone):.1f}"
        yield " s on" if client.back is None else f" to {seconds(client.back):.1f} s"
    else:
        yield " at all" if client.back is None else f" before {seconds(client.back):.1f} s"
    changes = []
    if client.gone is None and client.back is not None:
        changes.append(f"begin with the faults after {seconds(client.back):.0f} s")
    if client.gone is not None and client.gone == client.died:
        # The session of the process that ended had to expire.
        timeout = client.session_timeout
        if timeout is not None:
            yield f": session.timeout.ms={timeout}"
            if timeout > MOST_GAP:
                changes.append(f"set {SHORT_SESSION} in the application")
        waited = None if timeout is None else timeout * 1_000_000
        if (waited := waited if client.back is None else client.back - client.gone) is not None:
            changes.append(f"gap={_gap(waited)} in the schedule")
    if changes:
        yield f"; {', or '.join(changes)}"


def _gap(time: int) -> int:
    """s between two faults so that the second one meets work again; a quarter more, in steps of 5 s."""
    return -(-time * 5 // (4 * 5 * SECOND)) * 5


_STRUCK = f"""
    struck as (
        select run, said.event as event, max(f) as f, min(invoked) as at, max(said.processes) as processes,
            max(regexp_extract(said.target, '^group:(.+)$')) as of_group
        from (
            select run, f, invoked,
                from_json(value, 'event string, stage string, target string, processes array<int>') as said
            from {{operations}} where process = {NEMESIS}
        )
        where said.stage = 'inject' group by run, said.event
    ), lives as (
        select run, said.process as process, max(said.role) as role, max(said.instance) as instance,
            bool_or(coalesce(said.observes, false)) as observes,
            min(invoked) filter (where said.event = 'started') as started,
            min(invoked) filter (where said.event <> 'started') as ended
        from (
            select run, invoked, from_json(
                value, 'process int, role string, event string, instance int, observes boolean'
            ) as said
            from {{operations}} where process = {HARNESS} and f = 'worker'
        ) group by run, said.process
    ), known as (
        select *, max(ended) over (
            partition by run, role, instance order by started rows between unbounded preceding and 1 preceding
        ) as died
        from lives where started is not null and not observes
    ), acked as (
        select run, topic, partition, offset, value, completed from {{records}} where {ACKED}
    )
"""
"""Common table expressions: the faults; the lives of client processes that do not only watch the cluster, of which
`died` is when the process ended that an instance had before; and the acknowledged sends."""

_IN_WINDOW = "started <= at and coalesce(ended, at) >= at"
"""Of a life: whether it had begun, and had not ended, when the fault began."""

_OF_GROUP = "(`group` = of_group or startswith(`group`, concat(of_group, '-')))"
"""Of a group: whether the fault named it. The groups of a run have the number of the run behind their name."""

_INSTANCES = f"""
    with {_STRUCK}, {COMMITTED}, named as (
        select run, collect_set(`group`) as groups
        from (
            select run, `group` from {{operations}} where f = 'pipeline' union all
            select run, get_json_object(value, '$.group') from {{observations}} where kind in ('group', 'group_log')
        ) group by run
    ), targets as (
        select /*+ BROADCAST(struck), BROADCAST(named) */ run, event, process, at, started, died,
            concat(role, ':', instance) as owner
        from known join struck using (run) left join named using (run)
        where instance is not null and (
            array_contains(processes, process) or f = 'cut-clients' and {_IN_WINDOW}
            or f = 'rebalance' and {_IN_WINDOW} and exists(groups, `group` -> {_OF_GROUP})
        )
    ), samples as (
        select run, topic, partition, time, kind, said.owner, said.member, said.generation, said.session_timeout
        from (
            select run, topic, partition, time, kind,
                from_json(value, 'owner string, member string, generation int, session_timeout int') as said
            from {{observations}} where kind in ('group', 'group_log')
        ) where kind = 'group' or said.generation is not null
    ), turns as (
        select run, topic, partition, owner, member, time as since, lead(time) over log as until,
            lead(owner) over log as next_owner, lead(time, 2) over log as next_until
        from (
            select *, lag(struct(owner, member)) over (
                partition by run, topic, partition order by time, kind, generation
            ) as before
            from samples
        )
        where not struct(owner, member) <=> before
        window log as (partition by run, topic, partition order by time, kind, generation)
    ), members as (
        select run, member, min(since) as born from turns where member is not null group by run, member
    ), had as (
        select /*+ BROADCAST(targets), BROADCAST(members) */ run, event, process, at, topic, partition, since, until,
            next_owner, next_until, born > started as is_alive, if(born > started, until, least(until, died)) as lost
        from turns join targets using (run, owner) join members using (run, member)
    ), times as (
        select run, event, process, max(lost) filter (where since <= at and lost <= at) as gone,
            min(since) filter (where is_alive and since > at) as back
        from had group by run, event, process
    ), owned as (
        select distinct run, event, process, at, topic, partition from had
        where is_alive and since <= at and (
            coalesce(until, {ENDLESS}) > at
            or next_owner is null and until > at - {HELD} and coalesce(next_until, {ENDLESS}) > at
        )
    ), positions as (
        select /*+ BROADCAST(owned) */ run, event, process, at, topic, partition,
            coalesce(max_by(position, struct(time, position)) filter (where time <= at), 0) as position
        from owned left join committed_positions using (run, topic, partition)
        group by run, event, process, at, topic, partition
    ), watched as (
        select run, true as is_watched, max(session_timeout) as session_timeout from samples group by run
    ), unwatched as (
        select /*+ BROADCAST(targets), BROADCAST(watched) */ run, event, process, at, topic, partition,
            {ENDLESS} as position
        from (select distinct run, topic, partition from {{operations}} where f = 'pipeline')
            join targets using (run) left anti join watched using (run)
    ), made as (
        select run, cast(get_json_object(value, '$.source') as bigint) as value,
            min(cast(get_json_object(value, '$.written') as bigint)) as written, true as is_made
        from {{operations}} where f = 'output' group by run, get_json_object(value, '$.source')
    ), waiting as (
        select /*+ BROADCAST(p) */ run, event, process, at, position, offset, value
        from acked join (select * from positions union all select * from unwatched) as p using (run, topic, partition)
        where completed <= at
    ), flying as (
        select run, event, process, count(*) as in_flight
        from waiting left join made using (run, value)
        where offset >= position or written > at or position = {ENDLESS} and is_made is null
        group by run, event, process
    ), owning as (
        select run, event, process, count(*) as owned from owned group by run, event, process
    )
    select run, event, process, at, if(is_watched, coalesce(owned, 0), null) as owned,
        coalesce(in_flight, 0) as in_flight, cast(null as bigint) as last, gone, back, died, session_timeout
    from targets left join watched using (run) left join owning using (run, event, process)
        left join flying using (run, event, process) left join times using (run, event, process)
"""
"""One row per fault event and instance; the columns of `ClientAtFault`. Without samples of its group, inputs without
an output count, and those of which the output came later."""

_OTHERS = f"""
    with {_STRUCK}, marks as (
        select run, process, topic, partition, `group`, get_json_object(value, '$.event') as mark, start_offset, op,
            coalesce(completed, invoked) as time
        from {{operations}} where f = 'member' and type <> 'fail'
    ), joined as (
        select distinct run, process, `group` from marks
    ), targets as (
        select /*+ BROADCAST(struck) */ distinct run, event, process, at, `group` is not null as is_member
        from known join struck using (run) left join joined using (run, process)
        where instance is null and (
            array_contains(processes, process) or f = 'cut-clients' and {_IN_WINDOW}
            or f = 'rebalance' and {_IN_WINDOW} and {_OF_GROUP}
        )
    ), done as (
        select /*+ BROADCAST(targets) */ run, event, process,
            count_if(f = 'send' and (completed is null or completed > at)) as under_way,
            max(least(coalesce(completed, at), at)) as last
        from (
            select run, process, f, invoked, completed from {{records}} where not coalesce(final, false) union all
            select run, process, f, invoked, completed from {{operations}}
            where process >= 0 and f not in ('subscribe', 'member', 'position-lost', 'queue')
        ) join targets using (run, process)
        where invoked <= at group by run, event, process
    ), events as (
        select /*+ BROADCAST(targets) */ run, event, process, at, topic, partition, `group`,
            max_by(mark, struct(time, op)) as mark, max(time) as time,
            max_by(start_offset, struct(time, op)) as start_offset
        from marks join targets using (run, process)
        where time <= at group by run, event, process, at, topic, partition, `group`
    ), quit as (
        select /*+ BROADCAST(targets) */ run, event, process, max(time) as quit
        from marks join targets using (run, process)
        where mark in ('left', 'fenced') and time <= at group by run, event, process
    ), owned as (
        select run, event, process, at, topic, partition, `group`, start_offset
        from events left join quit using (run, event, process)
        where topic is not null and mark = 'assigned' and time > coalesce(quit, -1)
    ), positions as (
        select /*+ BROADCAST(owned) */ run, event, process, at, topic, partition,
            coalesce(
                max_by(end_offset, struct(completed, end_offset)) filter (where completed <= at),
                first(start_offset), 0
            ) as position
        from owned left join (
            select run, topic, partition, `group`, completed, end_offset from {{operations}}
            where f = 'commit' and type = 'ok'
        ) using (run, topic, partition, `group`)
        group by run, event, process, at, topic, partition
    ), waiting as (
        select /*+ BROADCAST(positions) */ run, event, process, count(*) as waiting
        from acked join positions using (run, topic, partition)
        where completed <= at and offset >= position group by run, event, process
    ), owning as (
        select run, event, process, count(*) as owned from owned group by run, event, process
    ), held as (
        select /*+ BROADCAST(targets) */ run, event, process, count(*) as held
        from (
            select run, process, op, coalesce(completed, invoked) as time from {{operations}} where f = 'delivery'
        ) join targets using (run, process) left join (
            select run, cast(get_json_object(value, '$.delivery') as bigint) as op, min(completed) as answered
            from {{operations}} where f = 'acknowledgement' and type = 'ok'
            group by run, get_json_object(value, '$.delivery')
        ) using (run, op)
        where time <= at and time > at - {LOCK} and coalesce(answered, {ENDLESS}) > at
        group by run, event, process
    )
    select run, event, process, at, if(is_member, coalesce(owned, 0), null) as owned,
        if(is_member, coalesce(waiting, 0), coalesce(held, under_way, 0)) as in_flight, last,
        cast(null as bigint) as gone, cast(null as bigint) as back, cast(null as bigint) as died,
        cast(null as int) as session_timeout
    from targets left join done using (run, event, process) left join owning using (run, event, process)
        left join waiting using (run, event, process) left join held using (run, event, process)
"""
"""One row per fault event and client; the columns of `ClientAtFault`. A rebalance concerns the members of its group,
and a broker that is cut from its clients all of them."""
