"""A program copies a topic in transactions. It crashes in the middle of two of them, and a broker is killed
meanwhile.

Exercised: records of transactions that crashed are in the output, which only readers of uncommitted records get.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from nemesis.tasks import in_thread, wait_until
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import killed
from workloads.clients.kafka_python.transactional import KafkaPythonTransactional
from workloads.clients.protocol import Completion

RECORDS, BATCH = 600, 20
CRASHES = (5, 15)
"""Numbers of the transactions in which the program crashes."""

LIMIT = 5.0
"""Seconds for one step of a transaction, after which the program begins again from the committed position."""


class Copier:
    """Copies from the committed position on, and begins again with new clients after a crash or an error."""

    def __init__(self, context: ScenarioContext, source: str, output: str) -> None:
        self.committed = 0
        self.crashes = 0
        self.ended = threading.Event()
        self._context, self._output = context, output
        self._log, self._group = TopicPartition(source, 0), f"{source}-group"
        self._begun = 0

    def run(self) -> None:
        while not self.ended.is_set():
            with suppress(KafkaError, OSError):
                self._copy()

    def _copy(self) -> None:
        producer = KafkaPythonTransactional(
            bootstrap=self._context.cluster.brokers.values(),
            topics=(self._output,),
            transactional_id=self._group,
            timeout=10.0,
            config={},
        )
        consumer = self._context.consumer(
            group_id=self._group, auto_offset_reset="earliest", isolation_level="read_committed"
        )
        try:
            consumer.assign([self._log])
            while not self.ended.is_set():
                records = consumer.poll(timeout_ms=300, max_records=BATCH).get(self._log, ())
                if records and not self._transaction(producer, consumer, records):
                    return
        finally:
            producer.close(0)
            consumer.close(autocommit=False)

    def _transaction(self, producer: KafkaPythonTransactional, consumer: Any, records: Sequence[Any]) -> bool:
        """False: it has crashed, or an error ended it."""
        self._begun += 1
        producer.begin()
        for op, record in enumerate(records):
            producer.send(op, (self._output, 0), record.value)
        done: list[Completion] = []

        def all_sent() -> bool:
            done.extend(producer.take(0.1))
            return len(done) == len(records)

        if not wait_until(all_sent, limit=LIMIT, interval=0) or any(one.outcome.type != "ok" for one in done):
            return False
        if self._begun in CRASHES:
            self.crashes += 1
            return False
        position = {tuple(self._log): records[-1].offset + 1}
        if producer.add_positions(position, consumer.group_metadata(), LIMIT).type != "ok":
            return False
        if producer.end("commit", LIMIT).type != "ok":
            return False
        self.committed += len(records)
        return True


def show(context: ScenarioContext) -> Answer:
    source = context.topic(config={"min.insync.replicas": 2})
    output = context.topic(config={"min.insync.replicas": 2})
    inputs = [f"v{number}" for number in range(RECORDS)]
    context.write(source, inputs)
    copier = Copier(context, source, output)
    copying = in_thread(copier.run, "kafkacheck-copier")
    try:
        context.require(lambda: copier.committed >= 6 * BATCH, 20, "some transactions are committed")
        with killed(context, context.view(output).leader):
            context.require(lambda: copier.committed >= RECORDS // 2, 25, "half of the inputs are copied")
        context.cluster.wait_settled()
        # A commit without an answer is not counted, so the output decides.
        context.require(
            lambda: set(context.read(output, isolation_level="read_committed").values()) >= set(inputs),
            25,
            "every input is copied",
        )
    finally:
        copier.ended.set()
        copying.result()
    copies = Counter(context.read(output, isolation_level="read_committed").values())
    raw = len(context.read(output))
    exercised(copier.crashes == len(CRASHES), f"{copier.crashes} crashes")
    exercised(raw > RECORDS, "no record of a crashed transaction is in the output")
    wrong = sum(copies[value] != 1 for value in inputs)
    return Answer(
        holds=not wrong and copies.total() == RECORDS,
        seen=f"the output has {raw} records of {RECORDS} inputs; readers of committed ones get {copies.total()}, and "
        f"{wrong} inputs not exactly once",
        figures={"inputs": RECORDS, "records in the output": raw, "not exactly once": wrong},
    )


CLAIM = Claim(
    id="A8",
    title="exactly once",
    text="A program that reads, processes and writes in transactions has each input in its output exactly once, "
    "although it and brokers crash.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-98+-+Exactly+Once+Delivery+and+Transactional+Messaging",
    cases=CURRENT,
    show=show,
)
