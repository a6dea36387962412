"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value

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
            "record(s) of transactions hidden from a reader that saw another record of the same transaction"
        ),
        definition=(
            "A record sent within a transaction, acknowledged at an offset that a reader with "
            "isolation.level=read_committed passed over without ever finding its value in the "
            "partition, although the same reader polled another record of the transaction, in this "
            "partition or another; counted per record. A reader is a process, all final reads "
            "together being one. It passed over what lies between the first and the last offset that "
            "it polled in one assignment, and over what a completed read of it covered. Aborted "
            "transactions count as well: then what was seen is a G1a too."
        ),
        means=(
            "One reader was shown a record of a transaction and passed over another, acknowledged one "
            "of the same transaction. Whoever passes an offset with `read_committed` passes a place "
            "where the outcome was decided: commit here and abort there contradict one another, "
            "whenever the reader came by."
        ),
        promised=(
            "Atomicity over all partitions, since 0.11. Not on a compacted topic, where a later "
            "record with the same key takes the place of an earlier one: allow it there."
        ),
        causes=(
            "A commit whose markers reached only some partitions and whose coordinator forgot it; a "
            "delayed EndTxn; a record lost by an unclean election after its commit, then a "
            "`lost-write` too."
        ),
        look_further=(
            "`DescribeTransactions` and the markers around both offsets (`DumpLogSegments --print-data-log`)."
        ),
    ),
    over="transactional_writes",
    where="arrays_overlap(missed, saw)",
    time="invoked",
    # Not live: the reader may have found the missing part outside the window.
)
