"""What is read was written before, and was not taken back."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.live import Live, NotLive
from analyzers.catalogue.suspicion import per_value

PHANTOM_READ = Check(
    anomaly=Anomaly(
        name="phantom-read",
        family="log",
        rank=70,
        evidence={
            "process": Number("the process that polled it", "poller"),
            "op": Operation("its poll", "poll"),
            "offset": Offset("the lowest offset it was polled at", "polled_offset"),
            "value": Value("what was polled"),
        },
        sentence="value(s) read that (was|were) not written to that partition",
        definition=(
            "A poll of any completion type returned an intact value of this run that no send of any "
            "completion type wrote to that topic-partition; counted per value."
        ),
        means="A value of this run was read, but no send wrote it to that log.",
        promised="Kafka neither invents nor moves records.",
        causes=(
            "An incomplete history, for example a missing file of a producer; otherwise a defect in the "
            "broker or the client."
        ),
        look_further="Whether all segments of the value's writer are in the history.",
    ),
    over="values",
    where="polled and not sent",
    time="polled_at",
    suspicion=per_value("polled and not sent"),
    live=NotLive("The send may lie in a segment that is still open, or in one that was left out."),
)

G1A = Check(
    anomaly=Anomaly(
        name="G1a",
        family="log",
        rank=80,
        jepsen="G1a",
        evidence={
            "process": Number("the process that polled it", "poller"),
            "op": Operation("its poll", "poll"),
            "offset": Offset("the lowest offset it was polled at", "polled_offset"),
            "value": Value("what was polled"),
        },
        sentence="value(s) read although the write had failed",
        definition=(
            "A poll of any completion type returned a value whose send completed with fail, which means that "
            "it certainly did not happen. If the send was part of a transaction, only polls with "
            "isolation.level=read_committed count. Counted per value, whereas Jepsen counts per ok read at "
            "any isolation level."
        ),
        means=(
            "A value was read although its write had failed: it was refused, or its transaction was aborted."
        ),
        promised=(
            "A refused send is in no log. An aborted transaction is hidden from `read_committed` readers "
            "(since 0.11)."
        ),
        causes=(
            "An error that leaves open whether the write happened, taken for a refusal (NotLeaderOrFollower "
            "is one). A delayed EndTxn that decides the next transaction of the same producer (KAFKA-17754; "
            "fixed by transaction.version 2, that is, by brokers from 4.0 together with clients that support "
            "it; kafka-python does not)."
        ),
        look_further=(
            "The attempts in the send's error, the outcome of the transaction, and when its end was "
            "requested."
        ),
    ),
    over="values",
    # A read_uncommitted reader may get records of a transaction that aborts later.
    where="failed and polled and (not transactional or read_committed)",
    time="polled_at",
    suspicion=per_value("failed and polled and (not transactional or read_committed)"),
    live=Live(
        because=(
            "Two rows suffice, and more rows only add such pairs: neither the failure of a send nor a read of its "
            "value is ever revised."
        ),
        per=("value",),
    ),
)

FUTURE_READ = Check(
    anomaly=Anomaly(
        name="future-read",
        family="transactions",
        rank=30,
        evidence={
            "process": Number("the process that polled it", "poller"),
            "op": Operation("its poll", "poll"),
            "offset": Offset("the lowest offset it was polled at", "polled_offset"),
            "value": Value("what was polled"),
        },
        sentence="value(s) read before (it was|they were) sent",
        definition=(
            "A poll of any completion type that returned a value had completed before any send of the value "
            "was invoked; counted per value."
        ),
        means="A poll completed before the value that it returned was sent.",
        promised="Causality forbids it in every version. All times are of one clock.",
        causes=(
            "A mistake in a client or in the recording: a value that was used twice, times of two hosts. "
            "Examine these first."
        ),
        look_further="`phantom-read` and `duplicate` of the same value.",
    ),
    over="values",
    where="returned_at < begun_at",
    time="returned_at",
    suspicion=per_value("returned < begun"),
    live=Live(
        because=(
            "Two rows suffice, and more rows only add such pairs: a completion only moves the send to a later time."
        ),
        per=("value",),
    ),
)
