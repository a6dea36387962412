"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Moment, Number, Offset, Operation, Value

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
        sentence="record(s) of a fenced producer that were accepted",
        definition=(
            "A send within a transaction whose producer epoch is below that of an ok init of the same "
            "transactional id by another process, invoked after that init had completed, was "
            "acknowledged (also where its transaction was aborted later) or is read by anybody; "
            "counted per value. An init counts only where the sending process did not begin one of "
            "its own later: epochs start anew in the end."
        ),
        means=(
            "A producer that had been fenced by a newer one of its transactional id wrote, and a "
            "broker took it."
        ),
        promised=(
            "When `initTransactions` returns, what the former producer had open is aborted, and its "
            "epoch is refused (since 0.11). Before 3.6, or with "
            "`transaction.partition.verification.enable=false`, a delayed Produce can still slip into "
            "a partition and leave a transaction open there (KIP-890)."
        ),
        causes=(
            "A Produce that waited in a socket through the fencing; a leader that came up without the "
            "newer epoch."
        ),
        look_further=(
            "The epochs of both producers, and when the send was invoked against the end of the `init`."
        ),
    ),
    over="transactional_writes",
    where="invoked > fenced and (kind = 'ok' or offset is not null or polled)",
    time="invoked",
    # Not live: a later init of its own explains a higher epoch.
)
