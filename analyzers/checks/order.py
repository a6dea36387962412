"""A log keeps the order in which records were sent, and a reader gets them in this order, without leaving one out."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Number, Offset, Operation, Span, Value
from analyzers.catalogue.check import Check, Live, NotLive

KEY_OF_BOTH = Number("the key of both records, where only the order of the key is broken", optional=True)

STEP_IS_CERTAIN = (
    "It is a step between two rows that are certainly neighbours (see `Lines.take` in "
    "`workloads.history.live.lines`)."
)
GAP_IS_CERTAIN = (
    "It is a step between two rows that are certainly neighbours (see `Lines.take` in "
    "`workloads.history.live.lines`) over a known record; more rows only add known records."
)
NOTHING_WAS_REMOVED = "The recorded settings of the topic keep all records, and nothing is to delete any."

_NEIGHBOURS = {
    "process": Number("the process that polled it"),
    "op": Operation("its poll"),
    "offset": Offset("the offset polled"),
    "previous": Offset("the offset polled before it"),
    "value": Value("what was polled"),
}
_STEP = {**_NEIGHBOURS, "key": KEY_OF_BOTH}
_GAP = {
    **_NEIGHBOURS,
    "skipped": Offset("the highest offset between them that was polled", "below"),
}

KEPT = (
    "A member kept a partition if it was assigned it before, and no event between both polls says that it was "
    "assigned it again, that it was revoked or lost, or that the member left the group or was fenced."
)

_STEP_DEFINITION = (
    "A process polled an offset not above the one that it had polled before it, in the same "
    "topic-partition and assignment (a member of a group continues in the next generation with the "
    "partitions that it kept), or not above that of the last record with the same "
    "key, in one generation, by {operation}; counted per record. "
    f"{KEPT}"
)
_GAP_DEFINITION = (
    "A process polled an offset and next a later one, in the same topic-partition and assignment (a "
    "member of a group continues in the next generation with the partitions that it kept), although "
    "some process polled a record between the two, by {operation}; counted per gap. Offsets "
    "at which no process polled a record count as holes (transaction markers, compaction). For polls with "
    "isolation.level=read_committed, so do offsets that no such poll returned (aborted transactions), unless a send "
    "was acknowledged there, in a transaction with its commit, and some poll returned its value there. Jepsen also "
    "takes acknowledged sends for records; here, a write that was never polled is a lost-write. Records that may "
    "have been removed from the beginning of the log (see lost-write) do not count, because a reader then goes on at "
    "the log start. Topics whose recorded settings allow compaction are left out. "
    f"{KEPT}"
)

POLL_SKIP = Check(
    anomaly=Anomaly(
        name="poll-skip",
        family="order",
        rank=10,
        jepsen="poll-skip",
        evidence=_GAP,
        sentence="poll(s) that skipped records",
        definition=_GAP_DEFINITION.format(operation="another operation"),
        means=(
            "A consumer went from one offset to a later one, although another reader got a record between the "
            "two."
        ),
        promised=(
            "Within one assignment, a consumer gets every record of a log. Offsets may be missing: "
            "transaction markers, compaction, and aborted records under `read_committed` leave holes, which "
            "are not reported."
        ),
        causes=(
            "A consumer that silently jumped: `auto.offset.reset` after an out-of-range answer, truncation "
            "without epochs (clients before 2.3), reading from divergent replicas."
        ),
        look_further="Who polled the `skipped` offset, from which broker and in which leader epoch.",
    ),
    over="gaps",
    # Offsets need not be dense (transaction markers, compaction): a gap counts only where a record is known to be.
    # `below` is lower than `offset`, so that it also rules out steps backwards.
    where="f = 'poll' and not within and below > previous",
    time="time",
    live=Live(because=f"{GAP_IS_CERTAIN} {NOTHING_WAS_REMOVED}", per=("op", "offset"), if_records_stay=True),
)

NONMONOTONIC_POLL = Check(
    anomaly=Anomaly(
        name="nonmonotonic-poll",
        family="order",
        rank=20,
        jepsen="nonmonotonic-poll",
        evidence=_STEP,
        sentence="poll(s) that went back in the log",
        definition=_STEP_DEFINITION.format(operation="another operation"),
        means=(
            "A consumer got a record at the offset of the record before it or at a lower one; with `key`, "
            "compared with the last record of that key."
        ),
        promised=(
            "Within one assignment, the position only grows. Records of one key in one partition come in "
            "order."
        ),
        causes=(
            "A client that lost its position; an automatic reset; a seek that is missing from the history."
        ),
        look_further="The assignment and the generation of both polls, and the client's log between them.",
    ),
    over="steps",
    where="f = 'poll' and not within and offset <= previous",
    time="time",
    live=Live(because=STEP_IS_CERTAIN, per=("op", "offset")),
)

INT_POLL_SKIP = Check(
    anomaly=Anomaly(
        name="int-poll-skip",
        family="order",
        rank=30,
        jepsen="int-poll-skip",
        evidence=_GAP,
        sentence="gap(s) inside one poll where records were skipped",
        definition=_GAP_DEFINITION.format(operation="the same operation"),
        means="The same as poll-skip, between two records of one poll operation.",
        promised="One poll returns consecutive records of a partition.",
        causes="A defect in fetching or in merging fetched batches; a fetch from two replicas.",
        look_further="As for poll-skip. The application cannot interfere within one poll.",
    ),
    over="gaps",
    where="f = 'poll' and within and below > previous",
    time="time",
    live=Live(because=f"{GAP_IS_CERTAIN} {NOTHING_WAS_REMOVED}", per=("op", "offset"), if_records_stay=True),
)

INT_NONMONOTONIC_POLL = Check(
    anomaly=Anomaly(
        name="int-nonmonotonic-poll",
        family="order",
        rank=40,
        jepsen="int-nonmonotonic-poll",
        evidence=_STEP,
        sentence="record(s) that went back in the log inside one poll",
        definition=_STEP_DEFINITION.format(operation="the same operation"),
        means="The same as nonmonotonic-poll, between two records of one poll operation.",
        promised="One poll returns the records of a partition in order.",
        causes="A defect in fetching; batches that overlap after a truncation.",
        look_further="As for nonmonotonic-poll.",
    ),
    over="steps",
    where="f = 'poll' and within and offset <= previous",
    time="time",
    live=Live(because=STEP_IS_CERTAIN, per=("op", "offset")),
)

_SENT_NEIGHBOURS = {
    "process": Number("the process that wrote it"),
    "op": Operation("its send"),
    "offset": Offset("the offset acknowledged"),
    "previous": Offset("the offset acknowledged before it"),
    "value": Value("what was written: writer and sequence number"),
}
_SENT_STEP = {**_SENT_NEIGHBOURS, "key": KEY_OF_BOTH}

NONMONOTONIC_SEND = Check(
    anomaly=Anomaly(
        name="nonmonotonic-send",
        family="order",
        rank=50,
        jepsen="nonmonotonic-send",
        evidence=_SENT_STEP,
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
    live=Live(because=STEP_IS_CERTAIN, per=("op",)),
)

INT_NONMONOTONIC_SEND = Check(
    anomaly=Anomaly(
        name="int-nonmonotonic-send",
        family="order",
        rank=60,
        jepsen="int-nonmonotonic-send",
        evidence=_SENT_STEP,
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
            **_SENT_NEIGHBOURS,
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
    live=Live(because="Two rows suffice, and more rows only add such pairs.", per=("op",)),
)

OVERTAKEN_WRITE = Check(
    anomaly=Anomaly(
        name="overtaken-write",
        family="order",
        rank=90,
        evidence={
            "process": Number("the process that wrote it"),
            "op": Operation("its send"),
            "offset": Offset("the lowest offset it was polled at"),
            "value": Value("what was written: writer and sequence number"),
            "overtaker": Offset("the higher offset that was acknowledged first"),
            "stale": Span("from that acknowledgement to the invocation of this send", "invoked - overtaken"),
        },
        sentence=(
            "unacknowledged send(s) that (was|were) read at a lower offset than one acknowledged before "
            "(it was|they were) invoked"
        ),
        definition=(
            "A send with completion type info was polled at an offset below that of another send to the same "
            "topic-partition that was acknowledged before this one was invoked; counted per value. It is "
            "realtime-order for sends whose offset only a reader knows."
        ),
        means=(
            "A write of unknown outcome did happen, and lies before a write that had been acknowledged before it "
            "was sent."
        ),
        promised=(
            "A leader appends at the end, with any `acks`, for all producers together. Only a truncation "
            "undoes it."
        ),
        causes=(
            "A truncation between the two, so that the acknowledged one is usually lost; two leaders that both "
            "append."
        ),
        look_further="`realtime-order`, `lost-write` and `lost-read` near the offset, and the epoch of both records.",
    ),
    over="proved_sends",
    where="overtaken < invoked",
    time="time",
    live=NotLive("The send may still be acknowledged, and is a realtime-order then."),
)
