"""Two producers and a transactional one write to one partition at the same time, and everything is read.

Exercised: the log has offsets without a record, because each transaction ends with a control record.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

TRANSACTIONS = 10


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    writers = [context.writer(topic, prefix=name, enable_idempotence=True) for name in ("a", "b")]
    producer = context.producer(transactional_id=topic)
    producer.init_transactions()
    for number in range(TRANSACTIONS):
        producer.begin_transaction()
        producer.send(topic, f"t{number}".encode(), partition=0)
        producer.commit_transaction()
    acked = {ack.offset: ack.value for writer in writers for ack in writer.stop()}
    found = context.read(topic)
    gaps = sorted(set(range(context.end(topic, context.view(topic).leader))) - set(found))
    exercised(len(acked) > 50 and bool(gaps), f"{len(acked)} acknowledged writes, {len(gaps)} gaps")
    in_order = list(found) == sorted(found)
    sent_in_order = all(
        numbers == sorted(numbers)
        for prefix in "abt"
        for numbers in [[int(value[1:]) for value in found.values() if value[0] == prefix]]
    )
    explained = len(gaps) == TRANSACTIONS and acked.items() <= found.items()
    return Answer(
        holds=in_order and sent_in_order and explained,
        seen=f"{len(found)} records in the order of their offsets, and {len(gaps)} offsets without a record after "
        f"{TRANSACTIONS} transactions",
        figures={"records": len(found), "offsets without a record": len(gaps)},
    )


CLAIM = Claim(
    id="A1",
    title="order of the log",
    text="Within a partition records are read in the order of the log. Offsets grow, but are not dense: control "
    "records of transactions take some.",
    source="https://kafka.apache.org/documentation/#semantics",
    cases=CURRENT,
    show=show,
)
