"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Span, Value
from analyzers.catalogue.suspicion import per_record, per_send

NONMONOTONIC_SEND = Check(
    anomaly=Anomaly(
        name="nonmonotonic-send",
        family="order",
        rank=50,
        jepsen="nonmonotonic-send",
        evidence={
            "process": Number("the process that wrote it"),
            "op": Operation("its send"),
            "offset": Offset("the offset acknowledged"),
            "previous": Offset("the offset acknowledged before it"),
            "value": Value("what was written: writer and sequence number"),
            "key": Number(
                "the key of both records, where only the order of the key is broken", optional=True
            ),
        },
        sentence="acknowledged send(s) that landed before an earlier one of the same producer",
        definition=(
            "An acknowledged send whose offset is not above that of the process's acknowledged send "
            "to the same topic-partition before it, or of its last one there with the same key, of "
            "which not both belong to one transaction; counted per send. Only acknowledgements count, "
            "whereas Jepsen also compares info sends that were read."
        ),
        means=(
            "A producer's acknowledged record has an offset not above that of the one it sent before "
            "to the same log; with `key`, before the last one of that key."
        ),
        promised=(
            "An idempotent producer's records are appended in order, with up to five requests in "
            "flight. Without idempotence only `max.in.flight.requests.per.connection=1` keeps the "
            "order."
        ),
        causes="Retries without idempotence; a truncation between the two.",
        look_further="The attempts of both sends.",
    ),
    over="steps",
    where="f = 'send' and not within and offset <= previous",
    time="time",
    suspicion=per_record("f = 'send' and offset <= previous"),
    live=("a step between two rows that are neighbours for certain (see `certain` of the window)"),
)

INT_NONMONOTONIC_SEND = Check(
    anomaly=Anomaly(
        name="int-nonmonotonic-send",
        family="order",
        rank=60,
        jepsen="int-nonmonotonic-send",
        evidence={
            "process": Number("the process that wrote it"),
            "op": Operation("its send"),
            "offset": Offset("the offset acknowledged"),
            "previous": Offset("the offset acknowledged before it"),
            "value": Value("what was written: writer and sequence number"),
            "key": Number(
                "the key of both records, where only the order of the key is broken", optional=True
            ),
        },
        sentence="acknowledged send(s) that landed before an earlier one of the same transaction",
        definition=(
            "An acknowledged send whose offset is not above that of the process's acknowledged send "
            "to the same topic-partition before it, or of its last one there with the same key, both "
            "within one transaction; counted per send."
        ),
        means=(
            "The same as nonmonotonic-send, between two sends of one transaction. Operations of sends "
            "that are no transaction have one record each."
        ),
        promised="Transactional producers are idempotent: the order always holds.",
        causes="A sequence that was reset inside a transaction; a truncation.",
        look_further="The epoch of the producer at both sends.",
    ),
    over="steps",
    where="f = 'send' and within and offset <= previous",
    time="time",
    suspicion=per_record("f = 'send' and offset <= previous"),
    live=("a step between two rows that are neighbours for certain (see `certain` of the window)"),
)

INT_SEND_SKIP = Check(
    anomaly=Anomaly(
        name="int-send-skip",
        family="order",
        rank=70,
        severity="note",
        jepsen="int-send-skip",
        evidence={
            "process": Number("the process that wrote it"),
            "op": Operation("its send"),
            "offset": Offset("the offset acknowledged"),
            "previous": Offset("the offset acknowledged before it"),
            "value": Value("what was written: writer and sequence number"),
            "skipped": Offset("the highest offset between them that holds a record", "below"),
        },
        sentence="send(s) of a transaction with records of others before them",
        definition=(
            "Between two successive acknowledged sends of one transaction to one topic-partition lies "
            "a record that somebody polled or was acknowledged; counted per send. Kafka does not "
            "promise otherwise: transactions of several producers interleave."
        ),
        means=("Between two successive sends of one transaction lies a record of somebody else. A note."),
        promised="Nothing: transactions of several producers interleave in a log.",
        causes="Two producers writing to one partition at once.",
        look_further="Only of interest where an application believed otherwise.",
    ),
    over="gaps",
    where="f = 'send' and below > previous",
    time="time",
    suspicion=per_record("f = 'send' and within and offset > previous + 1"),
    live=(
        "a step between two rows that are neighbours for certain (see `certain` of the window), over "
        "a record that is known: more rows only add such records"
    ),
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
            "stale": Span("from that acknowledgement to this send's invocation", "invoked - overtaken"),
        },
        sentence="acknowledged send(s) that landed before one acknowledged before they began",
        definition=(
            "An acknowledged send, by any process, whose offset is below that of another send to the "
            "same topic-partition that was acknowledged before this one was invoked; counted per "
            "send."
        ),
        means="A write was sent after another one had been acknowledged, and landed before it.",
        promised=(
            "A leader appends at the end, with any `acks`, for all producers together; only a "
            "truncation undoes it."
        ),
        causes=(
            "A truncation between the two, so that the first one is usually lost; two leaders that "
            "both acknowledge."
        ),
        look_further="`overtaker` in the final read: is it still there, and of which epoch?",
    ),
    over="acknowledgements",
    where="overtaken < invoked",
    time="time",
    suspicion=per_send("overtaken < invoked"),
    live="two rows that are there; more rows only add such pairs",
)
