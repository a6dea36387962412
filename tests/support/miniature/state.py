"""What all parts of the model share: partitions, transactional ids, groups, clients, the clock and the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from tests.support.miniature.epoch_group import EpochGroup
from tests.support.miniature.group import Group
from tests.support.miniature.harness_rows import HarnessRows
from tests.support.miniature.partition import Partition, Transaction
from tests.support.miniature.scheduler import Actor, Scheduler, Steps
from tests.support.miniature.topic import Settings, draw_settings

NODES = (1, 2, 3)
TRANSACTIONAL_IDS = ("x", "y")

KEEPING = {"expiry", "overdelete"}
"""Flaws that break a promise only where the topic's settings keep all records."""


@dataclass
class TransactionalId:
    """As the transaction coordinator keeps it."""

    producer_id: int = 0
    epoch: int = -1
    """The newest ones; earlier ones are fenced. Each producer id has its own epochs."""
    ongoing: Transaction | None = None

    @property
    def identity(self) -> tuple[int, int]:
        return self.producer_id, self.epoch


class Process(Protocol):
    """A client of the model."""

    process: int
    role: str
    poll_limit: float | None

    def work(self) -> Steps: ...


class State:
    def __init__(self, story: Any, seed: int, flaws: Collection[str]) -> None:
        self.story, self.flaws = story, frozenset(flaws)
        self.random = Random(seed)
        self.scheduler = Scheduler()
        self.rows = HarnessRows(story, self.scheduler)
        self.counts: Counter[str] = Counter()
        """What the run exercised, so that a history without events is not taken for a safe one."""
        self.is_loaded = True
        """Clients end when it is False."""
        self.settings = Settings() if KEEPING & self.flaws else draw_settings(self.random)
        if {"overcompact", "forgotten"} & self.flaws:
            self.settings = Settings(compacts=True)
        self.recreates_topic = "revived" in self.flaws or self.random.random() < 0.3
        self.deletes_records = "overdelete" in self.flaws or self.random.random() < 0.4
        # One partition has one owner at most. Owners that change need more.
        numbers = range(3 if "held" in self.flaws else self.random.randint(1, 3))
        self.partitions = [
            Partition(number, self.random.choice(NODES), self.random, self.flaws) for number in numbers
        ]
        self.incarnations = 1
        """How many times the topic was created."""
        self.transactional_ids = {name: TransactionalId() for name in TRANSACTIONAL_IDS}
        self.groups = [self._group()]
        self.clients: list[tuple[Actor, Process]] = []
        self.ended_transactions: list[Transaction] = []
        self._processes = 0

    def _group(self) -> Group:
        has_epochs, is_careful = self.random.random() < 0.4, self.random.random() < 0.5
        policy = "earliest" if self.random.random() < 0.7 or "middle" in self.flaws else "latest"
        kind = EpochGroup if has_epochs or "held" in self.flaws else Group
        return kind("g", is_careful, len(self.partitions), self.flaws, policy)

    @property
    def topic_id(self) -> str:
        return f"id-{self.incarnations}"

    @property
    def now(self) -> int:
        return self.scheduler.now

    def next_process(self) -> int:
        self._processes += 1
        return self._processes

    def start_client(self, client: Process) -> Actor:
        stated = {} if client.poll_limit is None else {"poll_limit": client.poll_limit}
        self.rows.worker(client.role, client.process, "started", **stated)
        actor = self.scheduler.start(
            client.work(), lambda: self.rows.worker(client.role, client.process, "stopped")
        )
        self.clients.append((actor, client))
        return actor

    def partitions_led_by(self, node: int) -> list[Partition]:
        return [each for each in self.partitions if each.leader == node]

    @property
    def is_idle(self) -> bool:
        """No client is alive, all is replicated, and all transactions are complete."""
        return (
            not any(actor.is_alive for actor, _ in self.clients)
            and all(each.high_watermark == len(each.entries) and each.has_leader for each in self.partitions)
            and all(each.is_complete for each in self.ended_transactions)
        )
