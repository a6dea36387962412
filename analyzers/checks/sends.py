"""What one producer sends lies in the log in the order of sending, and all sends in the order of real time."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Span, Value
from analyzers.catalogue.live import Live
from analyzers.catalogue.suspicion import per_record, per_send
from analyzers.checks.neighbours import GAP_IS_CERTAIN, KEY_OF_BOTH, STEP_IS_CERTAIN

_NEIGHBOURS = {
    "process": Number("the process that wrote it"),
    "op": Operation("its send"),
    "offset": Offset("the offset acknowledged"),
    "previous": Offset("the offset acknowledged before it"),
    "value": Value("what was written: writer and sequence number"),
}
_STEP = {**_NEIGHBOURS, "key": KEY_OF_BOTH}

NONMONOTONIC_SEND = Check(
    anomaly=Anomaly(
        name="nonmonotonic-send",
        family="order",
        rank=50,
        jepsen="nonmonotonic-send",
        evidence=_STEP,
        sentence="acknowledged send(s) with a lower offset than an earlier one of the same producer",
        definition=(
            "An acknowledged send whose offset is not above that of the process's previous acknowledged send "
            "to the same topic-partition, or of its last one there with the same key, where the two are not "
            "part of one transaction; counted per send. Only acknowledged sends count, whereas Jepsen also "
            "compares info sends that were read."
        ),
        means=(
            "A producer's acknowledged record has an offset not above that of the record that it sent to the "
            "same log before; with `key`, not above that of its last record of that key."
        ),
        promised=(
            "The records of an idempotent producer are appended in order, with up to five requests in flight. "
            "Without idempotence, only `max.in.flight.requests.per.connection=1` keeps the order."
        ),
        causes="Retries without idempotence; a truncation between the two.",
        look_further="The attempts of both sends.",
    ),
    over="steps",
    where="f = 'send' and not within and offset <= previous",
    time="time",
    suspicion=per_record("f = 'send' and offset <= previous"),
    live=Live(because=STEP_IS_CERTAIN, per=("op",)),
)

INT_NONMONOTONIC_SEND = Check(
    anomaly=Anomaly(
        name="int-nonmonotonic-send",
        family="order",
        rank=60,
        jepsen="int-nonmonotonic-send",
        evidence=_STEP,
        sentence="acknowledged send(s) with a lower offset than an earlier one of the same transaction",
        definition=(
            "An acknowledged send whose offset is not above that of the process's previous acknowledged send "
            "to the same topic-partition, or of its last one there with the same key, where both are part of "
            "one transaction; counted per send."
        ),
        means=(
            "The same as nonmonotonic-send, between two sends of one transaction. A send outside of "
            "transactions has one record."
        ),
        promised="Transactional producers are idempotent, so their records are always in order.",
        causes="A sequence number that was reset within a transaction; a truncation.",
        look_further="The epoch of the producer at both sends.",
    ),
    over="steps",
    where="f = 'send' and within and offset <= previous",
    time="time",
    suspicion=per_record("f = 'send' and offset <= previous"),
    live=Live(because=STEP_IS_CERTAIN, per=("op",)),
)

INT_SEND_SKIP = Check(
    anomaly=Anomaly(
        name="int-send-skip",
        family="order",
        rank=70,
        severity="note",
        jepsen="int-send-skip",
        evidence={
            **_NEIGHBOURS,
            "skipped": Offset("the highest offset between them that holds a record", "below"),
        },
        sentence="send(s) of a transaction with records of other producers before (it|them)",
        definition=(
            "Between two successive acknowledged sends of one transaction to one topic-partition lies a "
            "record that was polled or acknowledged; counted per send. Kafka does not promise otherwise: "
            "transactions of several producers interleave."
        ),
        means="Between two successive sends of one transaction lies a record of another producer.",
        promised="Nothing: transactions of several producers interleave in a log.",
        causes="Two producers that write to one partition at the same time.",
        look_further="Only relevant where an application assumes otherwise.",
    ),
    over="gaps",
    where="f = 'send' and below > previous",
    time="time",
    suspicion=per_record("f = 'send' and within and offset > previous + 1"),
    live=Live(because=GAP_IS_CERTAIN, per=("op",)),
)

REALTIME_ORDER = Check(
    anomaly=Anomaly(
        name="realtime-order",
        family="order",
        rank=80,
        evidence={
            "process": Number("the process that wrote it"),
            "op": Operation("its send"),
            "offset": Offset("the offset acknowledged"),
            "value": Value("what was written: writer and sequence number"),
            "overtaker": Offset("the higher offset that was acknowledged first"),
            "stale": Span("from that acknowledgement to the invocation of this send", "invoked - overtaken"),
        },
        sentence="acknowledged send(s) with a lower offset than one acknowledged before (it was|they were) invoked",
        definition=(
            "The offset of an acknowledged send, by any process, is below that of another send to the same "
            "topic-partition that was acknowledged before this one was invoked; counted per send."
        ),
        means="A write was sent after another one had been acknowledged, and has a lower offset.",
        promised=(
            "A leader appends at the end, with any `acks`, for all producers together. Only a truncation "
            "undoes it."
        ),
        causes=(
            "A truncation between the two, so that the first one is usually lost; two leaders that both "
            "acknowledge."
        ),
        look_further="Whether the final read still has the `overtaker`, and of which epoch it is.",
    ),
    over="acknowledgements",
    where="overtaken < invoked",
    time="time",
    suspicion=per_send("overtaken < invoked"),
    live=Live(because="Two rows suffice, and more rows only add such pairs.", per=("op",)),
)
