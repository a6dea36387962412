"""A program copies a topic in transactions. It crashes in the middle of two of them, and a broker is killed
meanwhile.

Exercised: records of transactions that crashed are in the output, which only readers of uncommitted records get.
"""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import suppress
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from pytest_kafkacheck.scenarios.claim import Answer, Claim
from pytest_kafkacheck.scenarios.clusters import CURRENT
from pytest_kafkacheck.scenarios.context import ScenarioContext
from pytest_kafkacheck.scenarios.exercising import exercised
from pytest_kafkacheck.scenarios.steps import killed

RECORDS, BATCH = 1000, 20
CRASHES = (5, 15)
"""Numbers of the transactions in which the program crashes."""


class Copier:
    """Copies from the committed position on, and begins again with new clients after a crash or an error."""

    def __init__(self, context: ScenarioContext, source: str, output: str) -> None:
        self.committed = 0
        self._context, self._output = context, output
        self._log, self._group = TopicPartition(source, 0), f"{source}-group"
        self._begun = 0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            with suppress(KafkaError, OSError):
                self._copy()

    def _copy(self) -> None:
        producer = self._context.producer(transactional_id=self._group, transaction_timeout_ms=10_000)
        producer.init_transactions()
        consumer = self._context.consumer(
            group_id=self._group, auto_offset_reset="earliest", isolation_level="read_committed"
        )
        consumer.assign([self._log])
        while not self.ended.is_set():
            records = consumer.poll(timeout_ms=300, max_records=BATCH).get(self._log, ())
            if records and not self._transaction(producer, consumer, records):
                return

    def _transaction(self, producer: Any, consumer: Any, records: Any) -> bool:
        """False: it has crashed."""
        self._begun += 1
        producer.begin_transaction()
        for record in records:
            producer.send(self._output, record.value, partition=0)
        producer.flush(timeout=10)
        if self._begun in CRASHES:
            return False
        position = {self._log: OffsetAndMetadata(records[-1].offset + 1, "", -1)}
        producer.send_offsets_to_transaction(position, consumer.group_metadata())
        producer.commit_transaction()
        self.committed += len(records)
        return True


def show(context: ScenarioContext) -> Answer:
    source = context.topic(config={"min.insync.replicas": 2})
    output = context.topic(config={"min.insync.replicas": 2})
    context.write(source, (f"v{number}" for number in range(RECORDS)))
    copier = Copier(context, source, output)
    thread = threading.Thread(target=copier.run, name="kafkacheck-copier", daemon=True)
    thread.start()
    try:
        context.require(lambda: copier.committed > 6 * BATCH, 20, "some transactions are committed")
        with killed(context, context.view(output).leader):
            context.wait(lambda: copier.committed >= RECORDS, 25)
        context.cluster.wait_settled()
        context.require(lambda: copier.committed >= RECORDS, 20, "everything is copied")
    finally:
        copier.ended.set()
        thread.join()
    copies = Counter(context.read(output, isolation_level="read_committed").values())
    raw = len(context.read(output))
    exercised(raw > RECORDS, "no record of a crashed transaction is in the output")
    wrong = sum(copies[f"v{number}"] != 1 for number in range(RECORDS))
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
