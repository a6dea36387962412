"""Transactions are atomic and isolated: readers of committed records get all of one or nothing, and only the newest
producer of a transactional id writes.
"""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Listing, Moment, Number, Offset, Operation, Value
from analyzers.catalogue.check import Check, Live, NotLive

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
            "ending": Moment("when the end of the transaction was requested", optional=True),
            "last_sent": Moment("when its last send was invoked"),
        },
        sentence="value(s) read as committed before the commit of (its|their) transaction was requested",
        definition=(
            "A poll with isolation.level=read_committed returned a value of the very transaction in which it "
            "polled, or was answered before the end of the value's transaction was requested, or returned a value "
            "of a transaction whose client gave up without requesting an end; counted per value. A client that "
            "died during the transaction may have requested its end: until its last send was invoked, it had not. "
            "Jepsen reports only the former, and counts it per transaction and partition."
        ),
        means=(
            "A `read_committed` poll returned a value of a transaction whose end had not been requested yet, "
            "or never was, or of the transaction in which it polled."
        ),
        promised=(
            "Readers of committed records stop at the last stable offset, which lies before the first record "
            "of any open transaction. Nobody but its producer commits a transaction: the coordinator's timeout "
            "and a later `initTransactions` abort it."
        ),
        causes=(
            "An off-by-one error at the last stable offset; a leader that started without the open "
            "transactions of its predecessor; records of a producer that were appended outside of its "
            "transaction."
        ),
        look_further="`read-above-lso` for the same partition, and elections before the poll.",
    ),
    over="transactional_writes",
    where=(
        "first_read < coalesce(ending, last_sent) or (unended and size(readers) > 0) "
        "or array_contains(within, transaction)"
    ),
    time="first_read",
    live=Live(
        because=(
            "Two rows suffice, and more rows only add such pairs: the time at which the end of a transaction was "
            "requested is recorded once, or that there is none, and no end is requested before the last send."
        ),
        per=("value",),
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
            "last_stable": Offset("the lowest last stable offset reported later"),
        },
        sentence="poll(s) with read_committed that returned records above the last stable offset",
        definition=(
            "A poll with isolation.level=read_committed returned an offset, and a request for the last stable "
            "offset of the partition, sent after the poll had completed, was answered with that offset or a "
            "lower one; counted per poll of a partition. Only answers of the leader count, in the last leader "
            "epoch that was observed of the partition, and only with a high watermark that has reached the "
            "lowest log end observed of that leader in that epoch. Before that, the last stable offset may "
            "fall back behind that of the previous leader."
        ),
        means=(
            "A `read_committed` reader got a record, and later the leader reported that transactions from "
            "that record on are still open."
        ),
        promised=(
            "Within one leader epoch, the last stable offset does not go back. After an election it may do so "
            "for a moment, because the new leader's high watermark may. Therefore only the last observed "
            "epoch counts, once the high watermark has reached the end that the leader's log had when it was "
            "first observed."
        ),
        causes=(
            "An off-by-one error at the last stable offset; a follower that served the reader and knew less."
        ),
        look_further="Open transactions at that time: `DescribeProducers`, `ListTransactions`.",
    ),
    over="committed_polls",
    where="last_stable <= offset",
    time="time",
    live=NotLive("After a change of leader, the answers of the earlier leader epoch no longer count."),
)

ZOMBIE_WRITE = Check(
    anomaly=Anomaly(
        name="zombie-write",
        family="transactions",
        rank=100,
        evidence={
            "process": Number("the process that wrote it"),
            "op": Operation("its send", "value"),
            "value": Value("what was written: writer and sequence number"),
            "offset": Offset("the offset that was acknowledged"),
            "transaction": Operation("the transaction it belongs to"),
            "fenced": Moment("when the init had completed"),
        },
        sentence="record(s) of a fenced producer that (was|were) accepted",
        definition=(
            "A send within a transaction was acknowledged (even if its transaction was aborted later) or "
            "read, although it was invoked after an ok init of the same transactional id had completed in "
            "another process, and this init began after the sending process's own last ok init before the "
            "transaction had completed, or has a higher producer epoch of the same producer id (as far as ids "
            "are recorded); counted per value. An init does not count if the sending process began an init of "
            "its own later."
        ),
        means=(
            "A producer that a newer one of its transactional id had fenced sent a record, and a broker "
            "accepted it."
        ),
        promised=(
            "When `initTransactions` returns, the open transaction of the previous producer is aborted and "
            "its epoch is refused (since 0.11). Before 3.6, or with "
            "`transaction.partition.verification.enable=false`, a delayed Produce request can still reach a "
            "partition and leave a transaction open there (KIP-890)."
        ),
        causes=(
            "A Produce request that waited in a socket during the fencing; a leader that started without the "
            "newer epoch."
        ),
        look_further=(
            "The epochs of both producers, and when the send was invoked, compared with the end of the "
            "`init`."
        ),
    ),
    over="transactional_writes",
    where="invoked > fenced and (kind = 'ok' or offset is not null or polled)",
    time="invoked",
    live=NotLive("A later init of the same producer explains a higher epoch."),
)

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
            "changed their leader. See docs/workloads.md."
        ),
    ),
    over="snapshots",
    where="total != expected",
    time="time",
    live=NotLive("A record at an unknown offset may be polled later, above the positions of the snapshot."),
)
