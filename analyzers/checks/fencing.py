"""Only the newest producer of a transactional id can write."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Moment, Number, Offset, Operation, Value
from analyzers.catalogue.live import NotLive

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
