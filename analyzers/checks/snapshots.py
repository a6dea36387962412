"""A snapshot of all accounts has all of a transfer below its positions, or nothing."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Listing, Number, Offset, Operation, Value
from analyzers.catalogue.live import NotLive

WRONG_TOTAL = Check(
    anomaly=Anomaly(
        name="wrong-total",
        family="transactions",
        rank=15,
        evidence={
            "process": Number("the process that took the snapshot"),
            "snapshot": Number("its number, from 0 for each process"),
            "total": Number("the sum of all amounts that it has"),
            "expected": Number("the sum that it has to have"),
            "missing": Number("the records that it lacks of transactions of which it has another one"),
            "transactions": Listing("the first of these transactions", optional=True),
            "value": Value("one of these records: writer and sequence number", optional=True),
            "offset": Offset("where it was acknowledged or polled", optional=True),
            "transaction": Operation("the transaction to which it belongs", optional=True),
        },
        sentence="snapshot(s) of all accounts with a wrong total",
        definition=(
            "The sum of the amounts that a snapshot has is not the expected one; counted per snapshot. A snapshot "
            "has what its process had polled below the ends that its reads, or those of earlier snapshots of the "
            "process, reached: the last stable offsets of the logs. Expected are the amounts of all records of each "
            "transaction of which it has one, whoever else got them. Left out are those that were acknowledged or "
            "polled at or above the end that the snapshot reached in their log, those that may have been removed "
            "from the beginning of the log before they were read, those in topics whose recorded settings allow "
            "compaction, and those at no known offset, unless a completed final read shows that they are nowhere."
        ),
        means=(
            "The accounts were summed up, and the total shows that a part of some transfer is missing, or is there "
            "twice, below the offsets up to which everything was decided and read."
        ),
        promised=(
            "Transactions are atomic over all partitions, since 0.11, and readers of committed records get all of a "
            "committed transaction. Kafka promises no snapshot of several partitions: a transfer of which one record "
            "lies above the position that the snapshot has in its log rightly shifts the total by its amount. Such "
            "transfers are known, and the expected total allows for exactly these."
        ),
        causes=(
            "A record lost in an unclean election after its commit, which is a `lost-write` too; a commit whose "
            "markers reached only some partitions (`torn-transaction`); a record that was appended twice."
        ),
        look_further=(
            "The transactions that it has in part: which of their records are where, and whether these partitions "
            "changed their leader. See docs/bank.md."
        ),
    ),
    over="snapshots",
    where="total != expected",
    time="time",
    live=NotLive("A record at an unknown offset may be polled later, above the positions of the snapshot."),
)
