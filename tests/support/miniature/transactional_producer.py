"""A client that writes in transactions and reads what others committed."""

from __future__ import annotations

from typing import Any

from tests.support.miniature.client import Client, Positions, ProducerFenced
from tests.support.miniature.partition import Transaction
from tests.support.miniature.producers import DELIVERY_TIMEOUT
from tests.support.miniature.scheduler import Steps
from tests.support.miniature.state import State
from tests.support.miniature.transactions import decide, is_fenced, time_out

OUTCOME_TYPES = {"commit": "ok", "abort": "fail"}


class TransactionalProducer(Client):
    """A later producer that initializes the same transactional id fences it."""

    def __init__(self, state: State, process: int, transactional_id: str) -> None:
        super().__init__(state, process, "producer")
        self.transactional_id, self.identity = transactional_id, (-1, -1)
        self.transaction: Transaction | None = None

    def work(self) -> Steps:
        yield from self._init()
        positions = Positions()
        owner = self.state.transactional_ids[self.transactional_id]
        while self.state.is_loaded and (owner.identity == self.identity or "zombie" in self.state.flaws):
            try:
                yield from self._run_transaction(positions)
            except ProducerFenced:
                return
            yield self.delay()

    def _init(self) -> Steps:
        row = self.begin("init", value={"transactional_id": self.transactional_id, "epoch": -1})
        yield self.delay()
        owner = self.state.transactional_ids[self.transactional_id]
        if self.random.random() < 0.2:
            # The epochs of the producer id are exhausted.
            owner.producer_id, owner.epoch = owner.producer_id + 1, 0
        else:
            owner.epoch += 1
        self.identity, ongoing = owner.identity, owner.ongoing
        if ongoing is not None:
            decide(self.state, ongoing, "abort")
            while not ongoing.is_complete:
                yield self.delay(5)
        self.complete(row, value=self._claim())

    def _claim(self) -> dict[str, Any]:
        """Its id as the history names it."""
        producer_id, epoch = self.identity
        return {"transactional_id": self.transactional_id, "producer_id": producer_id, "epoch": epoch}

    def _run_transaction(self, positions: Positions) -> Steps:
        value = {**self._claim(), "outcome": "commit", "ending": None}
        row = self.begin("txn", value=value)
        transaction = self.transaction = Transaction(row["op"], self.transactional_id, self.identity)
        sends: list[dict[str, Any]] = []
        try:
            if not is_fenced(self.state, transaction):
                self.state.transactional_ids[self.transactional_id].ongoing = transaction
            is_whole = yield from self._fill(transaction, sends, positions)
            if self.random.random() < 0.04:
                for each in (*sends, row):
                    self.complete(each, "info")
                yield from self._give_up(transaction)
                return
            outcome = "commit" if is_whole and self.random.random() < 0.7 else "abort"
            value |= {"outcome": outcome, "ending": self.now}
            yield self.delay()
            if is_fenced(self.state, transaction):
                raise ProducerFenced
        except ProducerFenced:
            for each in (*sends, row):
                self.complete(each, "fail")
            self.state.counts["fencings"] += 1
            raise
        # The coordinator answers once the outcome is decided. It writes the markers later, and refuses the next
        # transaction until they are written.
        decide(self.state, transaction, outcome)
        yield self.delay(5)
        if self.random.random() < 0.95:
            self.state.counts["aborts"] += outcome == "abort"
            self.state.counts["unmarked"] += not transaction.is_complete
            type_of_sends = OUTCOME_TYPES[outcome]
            self.complete(row)
        else:
            # The answer is lost.
            type_of_sends = "info"
            self.complete(row, "info")
        for each in sends:
            self.complete(each, type_of_sends)
        while not transaction.is_complete:
            yield self.delay(5)

    def _give_up(self, transaction: Transaction) -> Steps:
        """Leave the transaction to the coordinator's timeout, then claim the id again."""
        self.state.counts["unended"] += 1
        self.state.scheduler.start(time_out(self.state, transaction))
        while not transaction.is_complete:
            yield self.delay(5)
        yield from self._init()

    def _fill(self, transaction: Transaction, sends: list[dict[str, Any]], positions: Positions) -> Steps:
        """Whether every send was acknowledged."""
        for _ in range(self.random.randint(1, 4)):
            if self.random.random() < 0.3:
                partition = self.any_partition()
                positions[partition] = yield from self.poll(
                    partition, positions.get(partition, 0), committed=True, transaction=transaction.op
                )
            partition = self.any_partition()
            row, entry = self.begin_send(partition, transaction=transaction.op)
            entry.transaction = transaction
            sends.append(row)
            offsets = yield from self.deliver(partition, [entry], DELIVERY_TIMEOUT, transaction)
            if offsets is None:
                return False
            row["offset"] = offsets[0]
        return True
