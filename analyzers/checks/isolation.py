"""A reader of committed records gets nothing that is not committed yet."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Moment, Number, Offset, Operation, Value
from analyzers.catalogue.live import Live, NotLive

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
