"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
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
        sentence="value(s) read that nobody wrote there",
        definition=(
            "A poll of any completion type returned an intact value of this run that no send of any "
            "type wrote to that topic-partition; counted per value."
        ),
        means="A value of this run was read that no send wrote to that log.",
        promised="Records are neither made up nor moved.",
        causes=(
            "A history that is not complete, such as a producer's file that is missing; else a defect "
            "in the broker or the client."
        ),
        look_further="Whether all segments of the writer named by the value are in the history.",
    ),
    over="values",
    where="polled and not sent",
    time="polled_at",
    suspicion=per_value("polled and not sent"),
    # Not live: the send may lie before the window.
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
            "A poll of any completion type returned a value whose send completed with fail, that is, "
            "surely did not happen; of a send within a transaction, a poll with "
            "isolation.level=read_committed; counted per value, whereas Jepsen counts per ok read, "
            "whatever its isolation."
        ),
        means=("Somebody read a value whose write failed: it was refused, or its transaction aborted."),
        promised=(
            "A refused send is in no log. An aborted transaction is hidden from `read_committed` "
            "(since 0.11); of transactional sends only such readers count."
        ),
        causes=(
            "An error that does not say whether the write happened, taken for a refusal "
            "(NotLeaderOrFollower is one). A delayed EndTxn that decides the next transaction of the "
            "same producer (KAFKA-17754; closed by transaction.version 2, that is brokers from 4.0 "
            "*and* clients that speak it; kafka-python does not)."
        ),
        look_further=(
            "The attempts of the send in its error, and the transaction's outcome and when its end "
            "was asked for."
        ),
    ),
    over="values",
    where="failed and polled and (not transactional or read_committed)",
    time="polled_at",
    suspicion=per_value("failed and polled and (not transactional or read_committed)"),
    live=(
        "two rows that are there; more rows only add such pairs: that a send failed is final, and so "
        "is that its value was read"
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
        sentence="value(s) read before they were sent",
        definition=(
            "A poll of any completion type that returned a value had completed before any send of the "
            "value was invoked; counted per value."
        ),
        means="A poll was over before the value it returned was sent.",
        promised="By causality, by every version. Times are of one clock.",
        causes=(
            "A mistake in a client or in what was recorded: a value used twice, times of two hosts. "
            "Look there first."
        ),
        look_further="`phantom-read` and `duplicate` of the same value.",
    ),
    over="values",
    where="returned_at < begun_at",
    time="returned_at",
    suspicion=per_value("returned < begun"),
    live=(
        "two rows that are there; more rows only add such pairs: a completion puts the send later, "
        "never earlier"
    ),
)
