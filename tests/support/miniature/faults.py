"""The nemesis of the model: faults on brokers and on clients, with the rows that prove them."""

from __future__ import annotations

from typing import Any

from tests.support.miniature.group_member import GroupMember
from tests.support.miniature.partition import Partition
from tests.support.miniature.producers import Producer, Session
from tests.support.miniature.recreation import recreate_topic
from tests.support.miniature.removals import delete_records
from tests.support.miniature.scheduler import MS, Actor, Steps
from tests.support.miniature.state import NODES, Process, State
from tests.support.miniature.transactional_producer import TransactionalProducer
from tests.support.miniature.transactions import time_out


def inject_faults(state: State) -> Steps:
    if "stalled" in state.flaws:
        # Only a reader that others outrun for long has certainly stopped.
        yield 5000 * MS
    for number in range(state.random.randint(3, 6)):
        yield state.random.randint(20 * MS, 100 * MS)
        if number == 0:
            state.rows.phase("faults")
        faults = [_isolate_leader, _kill_leader, _pause_client, _kill_client]
        if state.deletes_records:
            faults += [_delete_records] * 2
        if state.recreates_topic:
            faults += [_recreate_topic] * 2
        fault = state.random.choice(faults)
        if "fenced" in state.flaws:
            # Only a member that was paused commits in an old generation.
            fault = _pause_client
        yield from fault(state, f"e{number}")


def _isolate_leader(state: State, event: str) -> Steps:
    """The leader appends what no follower copies, until another leader is elected."""
    node = state.random.choice(state.partitions).leader
    partitions = state.partitions_led_by(node)

    def inject() -> Steps:
        for each in partitions:
            each.is_isolated, each.isr = True, [node]
        yield state.random.randint(20 * MS, 100 * MS)
        _fail_over(state, partitions, node)

    yield from _fault(state, "isolate", event, inject(), nodes=[node])
    _restore_isr(state, node)


def _kill_leader(state: State, event: str) -> Steps:
    node = state.random.choice(state.partitions).leader
    partitions = state.partitions_led_by(node)

    def inject() -> Steps:
        for each in partitions:
            each.has_leader = False
        yield state.random.randint(10 * MS, 60 * MS)
        _fail_over(state, partitions, node)

    yield from _fault(state, "kill", event, inject(), nodes=[node])
    _restore_isr(state, node)


def _fail_over(state: State, partitions: list[Partition], node: int) -> None:
    for each in partitions:
        each.isr = [other for other in NODES if other != node]
        _elect(state, each, state.random.choice(each.isr))


def _elect(state: State, partition: Partition, leader: int) -> None:
    state.counts["truncated"] += partition.elect(leader)
    state.counts["elections"] += 1


def _restore_isr(state: State, node: int) -> None:
    for each in state.partitions:
        each.isr = list(NODES)
        if state.random.random() < 0.3 and each.leader != node:
            _elect(state, each, node)


def _pause_client(state: State, event: str) -> Steps:
    kinds = state.random.choice([
        (GroupMember,), (TransactionalProducer,), (GroupMember, TransactionalProducer, Producer),
    ])  # fmt: skip
    if "fenced" in state.flaws:
        kinds = (GroupMember,)
    target = _choose_client(state, *kinds)
    if target is None:
        return
    actor, client = target
    duration = state.random.randint(50 * MS, 400 * MS)
    actor.paused_until = state.now + duration
    if isinstance(client, TransactionalProducer):
        # Its supervisor takes it for dead, and starts another one.
        state.start_client(TransactionalProducer(state, state.next_process(), client.transactional_id))
    if isinstance(client, GroupMember) and client.instance is not None:
        state.start_client(GroupMember(state, state.next_process(), client.group, client.instance))
    yield from _fault(state, "pause_client", event, _wait(duration), processes=[client.process])


def _kill_client(state: State, event: str) -> Steps:
    target = _choose_client(state, GroupMember, TransactionalProducer, Producer, Session)
    if target is None:
        return
    actor, client = target
    actor.kill()
    state.counts["crashes"] += 1
    state.rows.worker(client.role, client.process, "killed")
    yield from _fault(state, "kill_client", event, _wait(30 * MS), processes=[client.process])
    match client:
        case TransactionalProducer():
            ongoing = client.transaction
            if ongoing is not None and ongoing.outcome is None:
                # No other producer may ever initialize the id. The coordinator's timeout then ends the transaction.
                state.scheduler.start(time_out(state, ongoing))
            if state.random.random() < 0.7:
                state.start_client(
                    TransactionalProducer(state, state.next_process(), client.transactional_id)
                )
        case Session():
            number, positions, committed = client.number, client.positions, client.committed
            state.start_client(Session(state, state.next_process(), number, positions, committed=committed))
        case GroupMember():
            state.start_client(GroupMember(state, state.next_process(), client.group, client.instance))
        case _:
            state.start_client(Producer(state, state.next_process()))


def _delete_records(state: State, event: str) -> Steps:
    evidence: dict[str, Any] = {}
    more = {"removes_records": True, "evidence": evidence}
    yield from _fault(state, "delete-records", event, delete_records(state, evidence), **more)


def _recreate_topic(state: State, event: str) -> Steps:
    evidence: dict[str, Any] = {}
    more = {"removes_records": True, "evidence": evidence}
    yield from _fault(state, "recreate-topic", event, recreate_topic(state, evidence), **more)


def _choose_client(state: State, *kinds: type[Process]) -> tuple[Actor, Process] | None:
    alive = [
        (actor, client) for actor, client in state.clients if actor.is_alive and isinstance(client, kinds)
    ]
    return state.random.choice(alive) if alive else None


def _wait(duration: int) -> Steps:
    yield duration


def _fault(state: State, f: str, event: str, inject: Steps, **more: Any) -> Steps:
    """Inject, wait, heal, and write a row of each. more: of its value, such as the nodes or processes that it hit."""
    state.counts["faults"] += 1
    value = {"event": event, "target": "one", "effective": True, "nodes": [], **more}
    began = state.now
    yield from inject
    state.rows.fault(f, {**value, "stage": "inject"}, invoked=began, completed=state.now)
    injected = state.now
    yield state.random.randint(30 * MS, 150 * MS)
    healing = state.now
    yield state.random.randint(1, 20 * MS)
    active = {"possibly": [began, state.now], "surely": [injected, healing]}
    state.rows.fault(f, {**value, "stage": "heal", "active": active}, invoked=healing, completed=state.now)
