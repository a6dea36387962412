"""A key that was deleted stays deleted."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.live import NotLive

RISEN_KEY = Check(
    anomaly=Anomaly(
        name="risen-key",
        family="log",
        rank=18,
        evidence={
            "process": Number("the process that polled it"),
            "op": Operation("its poll"),
            "offset": Offset("the offset of the value"),
            "value": Value("what the reader has of the key"),
            "key": Number("the key"),
            "deleted": Offset("the offset of the key's tombstone, behind the value"),
            "passed": Offset("the highest offset that the reader polled after it"),
        },
        sentence="deleted key(s) that a reader still had after it had passed the tombstone",
        definition=(
            "In a topic whose recorded settings allow compaction, the last record of a key, without those of aborted "
            "transactions, is a tombstone, "
            "and a process polled a value of the key below the tombstone and some record above it, in one "
            "assignment (and generation), and no record of the key between the value and the end of that "
            "assignment; counted per key and assignment of a process. Final reads count, too. The tombstone "
            "was acknowledged, or polled by some process; in a transaction of unknown outcome, and for polls with "
            "isolation.level=read_committed: acknowledged, or polled with it. Left out are keys of which a send "
            "with unknown outcome or offset was never polled, because its record may be behind the tombstone, and "
            "tombstones that may have been removed from the beginning of the log (see lost-write)."
        ),
        means=(
            "A reader keeps the value of a key that was deleted, and does not learn of the deletion. In a "
            "final read, the log itself has the value without its tombstone."
        ),
        promised=(
            "A reader that gets from the beginning of a log to its end within `delete.retention.ms` gets all "
            "tombstones. Kafka counts this time from when it first cleaned the log behind the tombstone. When "
            "the tombstone goes, the earlier records of the key are gone."
        ),
        causes=(
            "A `delete.retention.ms` that is shorter than a reader is slow or away, or than a replica lags: "
            "it then has the value and never gets the tombstone; a tombstone that was lost like any other "
            "write; a clock that jumped."
        ),
        look_further=(
            "`delete.retention.ms` of the topic, how long the reader took from the value to `passed`, and "
            "which broker led the partition. `lost-write` of the tombstone."
        ),
    ),
    over="deleted_keys",
    where="offset < deleted and not coalesce(tombstone, false)",
    time="time",
    live=NotLive("A later record of the key may replace the tombstone."),
)
