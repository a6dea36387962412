"""Histories of a cluster that keeps every promise, under faults, crashes and rebalances; drawn from a seed.

Discrete events: clients, replication, elections, transactions' ends and rebalances are generators that take turns
by the clock. What came of it is counted, so that nobody takes a quiet history for a safe one.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Collection, Generator
from random import Random
from typing import Any

from tests.support.miniature.brokers import TOPIC, Entry, Group, Partition, Transaction, led_by, owners
from tests.support.miniature.client import BITS, MS, Client
from tests.support.miniature.consumers import Consumer, Reader
from tests.support.miniature.producers import Producer, Session, Transactor
from workloads.history.schema import HARNESS, NEMESIS

NODES = (1, 2, 3)
NAMES = ("x", "y")
SESSION_TIMEOUT = 120 * MS
PROBE = 900
"""Its process; final reads come after it."""

Steps = Generator[int, None, Any]


class Actor:
    """A generator with its turns. pause: it takes none before that time."""

    def __init__(self, steps: Steps, client: Client | None) -> None:
        self.steps, self.client = steps, client
        self.alive, self.until = True, 0


class Cluster:
    """One run. `story` is filled by `run`; the counters say what was put to the test."""

    def __init__(self, story: Any, seed: int, *, flaws: Collection[str] = ()) -> None:
        self.story, self.flaws = story, frozenset(flaws)
        self.random = Random(seed)
        self.now, self.load = 1, True
        self.crashes = self.elections = self.truncated = self.aborts = self.fencings = 0
        self.rebalances = self.kicked = self.refusals = self.faults = self.unknown = 0
        numbers = range(self.random.randint(1, 3))
        self.partitions = [
            Partition(number, self.random.choice(NODES), self.random, self.flaws) for number in numbers
        ]
        self.owners = owners(NAMES)
        self.groups = [Group("g", self.random.random() < 0.5, len(self.partitions), self.flaws)]
        self._queue: list[tuple[int, int, Actor]] = []
        self._turns = self._processes = self._harness = 0
        self._clients: list[Actor] = []
        self._ending: list[Transaction] = []

    def run(self) -> Any:
        """The story, whole: with faults healed, all clients ended, everything read finally."""
        self._phase("steady")
        for partition in self.partitions:
            self._start(self._replication(partition))
        self._start(self._rebalancing())
        self._start(self._probing())
        for _ in range(self.random.randint(1, 2)):
            self._join(Producer(self, self._process()))
        self._join(Session(self, self._process(), 0, {}))
        self._join(Reader(self, self._process(), committed=False))
        self._join(Reader(self, self._process(), committed=True))
        for name in NAMES[: self.random.randint(1, 2)]:
            self._join(Transactor(self, self._process(), name))
        for _ in range(self.random.randint(2, 3)):
            self._join(Consumer(self, self._process(), self.groups[0]))
        nemesis = self._start(self._nemesis())
        self._turn(lambda: not nemesis.alive)
        self._phase("recovery")
        recovered = self.now + 100 * MS
        self._turn(lambda: self.now > recovered)
        self.load = False
        self._turn(lambda: not any(actor.alive for actor in self._clients) and self._settled())
        self._phase("final")
        self._final_reads()
        self._phase("end")
        self._write_down()
        return self.story

    def fenced(self, transaction: Transaction) -> bool:
        newer = self.owners[transaction.name].epoch > transaction.epoch
        return newer and "zombie" not in self.flaws

    def decide(self, transaction: Transaction, outcome: str) -> None:
        """Once for all; markers follow, whatever becomes of who asked."""
        if transaction.outcome is None:
            transaction.outcome = outcome
            self._start(self._end(transaction))

    def _process(self) -> int:
        self._processes += 1
        return self._processes

    def _start(self, steps: Steps, client: Client | None = None) -> Actor:
        actor = Actor(steps, client)
        self._push(actor, self.now)
        return actor

    def _push(self, actor: Actor, at: int) -> None:
        self._turns += 1
        heapq.heappush(self._queue, (at, self._turns, actor))

    def _turn(self, until: Any) -> None:
        while not until():
            at, _, actor = heapq.heappop(self._queue)
            self.now = max(self.now, at)
            if not actor.alive:
                continue
            if actor.until > self.now:
                self._push(actor, actor.until)
                continue
            try:
                delay = next(actor.steps)
            except StopIteration:
                actor.alive = False
                if actor.client is not None:
                    self._worker(actor.client, "stopped")
            else:
                self._push(actor, self.now + delay)

    def _join(self, client: Client) -> Actor:
        self._worker(client, "started")
        actor = self._start(client.work(), client)
        self._clients.append(actor)
        return actor

    def _settled(self) -> bool:
        over = all(each.told == len(each.entries) and each.serving for each in self.partitions)
        return over and all(each.done for each in self._ending)

    # What goes on in the cluster.

    def _replication(self, partition: Partition) -> Steps:
        while True:
            yield self.random.randint(1, 6 * MS)
            partition.replicate()

    def _end(self, transaction: Transaction) -> Steps:
        """Markers, again until each is replicated."""
        self._ending.append(transaction)
        owner = self.owners[transaction.name]
        for number in sorted(transaction.partitions):
            partition, marker = self.partitions[number], Entry(None, transaction=transaction)
            while marker not in partition.entries[: partition.high]:
                if partition.serving and not partition.cut_off:
                    partition.append([marker])
                yield self.random.randint(1, 6 * MS)
        transaction.done = True
        if owner.going is transaction:
            owner.going = None

    def _rebalancing(self) -> Steps:
        while True:
            yield self.random.randint(1, 10 * MS)
            for group in self.groups:
                self.rebalances += group.settle(self.now, SESSION_TIMEOUT)

    def _probing(self) -> Steps:
        """Leaders tell of themselves; others of what they know, which is no less true."""
        while True:
            yield self.random.randint(10 * MS, 40 * MS)
            asked = self.now
            yield self.random.randint(1, 3 * MS)
            for partition in self.partitions:
                if not partition.serving:
                    continue
                seen = {
                    "log_start": 0, "high_watermark": partition.told, "log_end": len(partition.entries),
                    "last_stable": partition.stable, "isr": sorted(partition.isr),
                }  # fmt: skip
                self.story.observations.append({
                    "process": PROBE, "time": self.now + 1, "asked": asked, "kind": "partition", "topic": TOPIC,
                    "partition": partition.number, "node": partition.leader, "leader": partition.leader,
                    "leader_epoch": partition.epoch, **seen,
                })  # fmt: skip

    # What is done to it.

    def _nemesis(self) -> Steps:
        for number in range(self.random.randint(3, 6)):
            yield self.random.randint(20 * MS, 100 * MS)
            if number == 0:
                self._phase("faults")
            fault = self.random.choice([self._isolate, self._kill, self._pause_client, self._kill_client])
            yield from fault(f"e{number}")

    def _isolate(self, event: str) -> Steps:
        """The leader goes on taking what nobody copies, until another one is elected."""
        node = self.random.choice(self.partitions).leader
        struck = list(led_by(self.partitions, node))

        def strike() -> Steps:
            for each in struck:
                each.cut_off, each.isr = True, [node]
            yield self.random.randint(20 * MS, 100 * MS)
            for each in struck:
                each.isr = [other for other in NODES if other != node]
                self._elect(each, self.random.choice(each.isr))

        yield from self._fault("isolate", event, {"nodes": [node]}, strike())
        self._heal_isr(node)

    def _kill(self, event: str) -> Steps:
        node = self.random.choice(self.partitions).leader
        struck = list(led_by(self.partitions, node))

        def strike() -> Steps:
            for each in struck:
                each.serving = False
            yield self.random.randint(10 * MS, 60 * MS)
            for each in struck:
                each.isr = [other for other in NODES if other != node]
                self._elect(each, self.random.choice(each.isr))

        yield from self._fault("kill", event, {"nodes": [node]}, strike())
        self._heal_isr(node)

    def _elect(self, partition: Partition, leader: int) -> None:
        self.truncated += partition.elect(leader)
        self.elections += 1

    def _heal_isr(self, node: int) -> None:
        for each in self.partitions:
            each.isr = list(NODES)
            if self.random.random() < 0.3 and each.leader != node:
                self._elect(each, node)

    def _pause_client(self, event: str) -> Steps:
        actor = self._victim(
            *self.random.choice([(Consumer,), (Transactor,), (Consumer, Transactor, Producer)])
        )
        if actor is None:
            return
        assert actor.client is not None
        lasting = self.random.randint(50 * MS, 400 * MS)
        actor.until = self.now + lasting
        if isinstance(actor.client, Transactor):
            # Somebody thinks that it is gone.
            self._join(Transactor(self, self._process(), actor.client.name))
        yield from self._fault("pause_client", event, {"processes": [actor.client.process]}, iter([lasting]))

    def _kill_client(self, event: str) -> Steps:
        actor = self._victim(Consumer, Transactor, Producer, Session)
        if actor is None:
            return
        assert actor.client is not None
        client, actor.alive = actor.client, False
        actor.steps.close()
        self.crashes += 1
        self._worker(client, "killed")
        yield from self._fault("kill_client", event, {"processes": [client.process]}, iter([30 * MS]))
        match client:
            case Transactor():
                going = client.transaction
                if going is not None and going.outcome is None:
                    # Nobody else may ever claim the id: then the coordinator's time-out ends it.
                    self._start(self._time_out(going))
                if self.random.random() < 0.7:
                    self._join(Transactor(self, self._process(), client.name))
            case Session():
                self._join(Session(self, self._process(), client.number, client.positions))
            case Consumer():
                self._join(Consumer(self, self._process(), client.group))
            case _:
                self._join(Producer(self, self._process()))

    def _time_out(self, transaction: Transaction) -> Steps:
        yield 100 * MS
        owner = self.owners[transaction.name]
        if transaction.outcome is None and owner.epoch == transaction.epoch:
            owner.epoch += 1
        self.decide(transaction, "abort")

    def _victim(self, *kinds: type[Client]) -> Actor | None:
        some = [each for each in self._clients if each.alive and isinstance(each.client, kinds)]
        return self.random.choice(some) if some else None

    def _fault(self, f: str, event: str, whom: dict[str, list[int]], strike: Any) -> Steps:
        self.faults += 1
        told = {"event": event, "target": "one", "effective": True, "nodes": [], **whom}
        began = self.now
        yield from strike
        at = {"invoked": began, "completed": self.now}
        self._write(NEMESIS, f, "info", {**told, "stage": "inject"}, **at)
        surely = self.now
        yield self.random.randint(30 * MS, 150 * MS)
        healed = self.now
        yield self.random.randint(1, 20 * MS)
        window = {"possibly": [began, self.now], "surely": [surely, healed]}
        at = {"invoked": healed, "completed": self.now}
        self._write(NEMESIS, f, "info", {**told, "stage": "heal", "active": window}, **at)

    # What is written down.

    def _final_reads(self) -> None:
        """All at one time: nothing happens any more."""
        for partition in self.partitions:
            process = PROBE + 1 + partition.number
            at = {"invoked": self.now + 1, "completed": self.now + MS}
            where = {"process": process, "topic": TOPIC, "partition": partition.number, "type": "ok", **at}
            op = process << BITS
            found, end = partition.fetch(0, len(partition.entries), committed=True)
            for offset, entry in found:
                self.story.records.append({
                    "f": "poll", "op": op + 1, "value": entry.value, "offset": offset, "leader_epoch": entry.epoch,
                    "assignment": 1, "final": True, "key": entry.key, "committed": True, **where,
                })  # fmt: skip
            self.story.operations.append(
                {"f": "final-read", "op": op, "start_offset": 0, "end_offset": end, **where}
            )
        self.now += 2 * MS

    def _phase(self, name: str) -> None:
        self._write(HARNESS, "phase", "ok", {"phase": name}, invoked=self.now, completed=self.now)

    def _worker(self, client: Client, event: str) -> None:
        told = {"role": client.role, "process": client.process, "event": event}
        self._write(HARNESS, "worker", "info", told, invoked=self.now, completed=self.now)

    def _write(self, process: int, f: str, kind: str, value: Any, **at: int) -> None:
        self._harness += 1
        row = {
            "f": f,
            "op": (process << BITS) - self._harness,
            "process": process,
            "type": kind,
            "value": value,
        }
        self.story.operations.append(row | {"topic": None, "partition": None} | at)

    def _write_down(self) -> None:
        """As compaction leaves it: the rows of a process together, values as JSON."""
        self.story.records.sort(key=lambda row: row["process"])
        self.unknown = sum(row["completed"] is None for row in self.story.records)
        for row in self.story.operations:
            if "value" in row:
                row["value"] = json.dumps(row["value"])
