"""A reader of committed records gets all records of a transaction or none."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.live import NotLive

TORN_TRANSACTION = Check(
    anomaly=Anomaly(
        name="torn-transaction",
        family="transactions",
        rank=10,
        evidence={
            "process": Number("the process that wrote it"),
            "op": Operation("its send", "value"),
            "value": Value("what was written: writer and sequence number"),
            "offset": Offset("the offset that was acknowledged"),
            "transaction": Operation("the transaction it belongs to"),
            "reader": Number(
                "a process that did not find it; -1: the final reads",
                "array_min(array_intersect(missed, saw))",
            ),
        },
        sentence=(
            "record(s) of transactions that a reader missed although it got another record of the same "
            "transaction"
        ),
        definition=(
            "A record was sent within a transaction and acknowledged at an offset that a reader with "
            "isolation.level=read_committed passed without ever finding the value in the partition, although "
            "the same reader polled another record of the transaction, in this partition or another; counted "
            "per record. A reader is a process, except that all final reads together are one reader. A reader "
            "has passed the offsets between the first and the last one that it polled in one assignment, in which "
            "a member of a group kept the partition (see poll-skip), and "
            "those that one of its completed reads covered. Aborted transactions count as well; the record "
            "that was read is then a G1a too. Records that may have been removed from the beginning of the log "
            "(see lost-write) do not count, and topics whose recorded settings allow compaction are left out."
        ),
        means=(
            "One reader got a record of a transaction, and passed another, acknowledged record of the same "
            "transaction without getting it. A `read_committed` reader passes an offset only when the outcome "
            "is decided there: commit in one place and abort in another contradict each other, at whatever "
            "time the reader came by."
        ),
        promised=(
            "Transactions are atomic over all partitions, since 0.11. This does not hold for compacted "
            "topics, where a later record with the same key replaces an earlier one."
        ),
        causes=(
            "A commit whose markers reached only some partitions before its coordinator forgot it; a delayed "
            "EndTxn; a record lost in an unclean election after its commit, which is a `lost-write` too."
        ),
        look_further=(
            "`DescribeTransactions`, and the markers around both offsets (`DumpLogSegments "
            "--print-data-log`)."
        ),
    ),
    over="transactional_writes",
    where="arrays_overlap(missed, saw)",
    time="invoked",
    live=NotLive(
        "The reader may have found the missing part in a segment that is still open, or in one that was "
        "left out."
    ),
)
