"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Moment, Number, Offset, Operation, Value

PRECOMMITTED_READ = Check(
    anomaly=Anomaly(
        name="precommitted-read",
        family="transactions",
        rank=20,
        jepsen="precommitted-read",
        evidence={
            "process": Number("the process that wrote it"),
            "op": Operation("its send", "value"),
            "value": Value("what was written: writer and sequence number"),
            "offset": Offset("the offset that was acknowledged"),
            "transaction": Operation("the transaction it belongs to"),
            "ending": Moment("when the end of the transaction was asked for"),
        },
        sentence="value(s) read as committed before their transaction was to be committed",
        definition=(
            "A poll with isolation.level=read_committed returned a value of the very transaction in "
            "which it polled, or had completed before the end of the value's transaction was asked "
            "for; counted per value. Jepsen knows only the former, and counts it per transaction and "
            "partition."
        ),
        means=(
            "A `read_committed` poll returned a value of a transaction whose end had not even been "
            "asked for, or of the very transaction in which it polled."
        ),
        promised=(
            "Committed readers stop at the last stable offset, which lies before the first record of "
            "an open transaction."
        ),
        causes=(
            "A last stable offset that is off by one; a leader that came up without the open "
            "transactions of the one before; a producer's records that were appended outside of its "
            "transaction."
        ),
        look_further="`read-above-lso` for the same partition, and elections before the poll.",
    ),
    over="transactional_writes",
    where="first_read < ending or array_contains(within, transaction)",
    time="first_read",
    live=(
        "two rows that are there; more rows only add such pairs: when the end of a transaction was "
        "asked for is told once"
    ),
)

READ_ABOVE_LSO = Check(
    anomaly=Anomaly(
        name="read-above-lso",
        family="transactions",
        rank=90,
        evidence={
            "process": Number("the process that polled it"),
            "op": Operation("its poll"),
            "value": Value("what was polled"),
            "offset": Offset("the highest offset polled"),
            "last_stable": Offset("the lowest last stable offset told later"),
        },
        sentence="poll(s) with read_committed that went beyond the last stable offset",
        definition=(
            "A poll with isolation.level=read_committed returned an offset, and a question for the "
            "last stable offset of the partition that was asked after the poll had completed was "
            "answered with that offset or a lower one; counted per poll of a partition. Only answers "
            "of the leader count, in the last leader epoch that was observed of the partition, and "
            "only with a high watermark that has reached the lowest log end observed of that leader "
            "in that epoch: before, it may fall back behind an earlier one."
        ),
        means=(
            "A committed reader got a record, and later the leader said that everything from there on "
            "is not decided yet."
        ),
        promised=(
            "Within one leader epoch the last stable offset does not go back. After an election it "
            "may, for a moment, for the new leader's high watermark may: so only the last epoch that "
            "was observed counts, and only once the high watermark has reached where that leader's "
            "log ended when it was first seen."
        ),
        causes="An off-by-one at the last stable offset; a follower served the reader and knew less.",
        look_further="Open transactions at the time: `DescribeProducers`, `ListTransactions`.",
    ),
    over="committed_polls",
    where="last_stable <= offset",
    time="time",
    # Not live: a later leader epoch makes the answers of the one before count no more.
)
