"""A search by time finds the first record that is not older."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.live import NotLive

WRONG_OFFSET_FOR_TIME = Check(
    anomaly=Anomaly(
        name="wrong-offset-for-time",
        family="log",
        rank=85,
        evidence={
            "process": Number("the process that searched"),
            "op": Operation("its search"),
            "offset": Offset("the offset that the leader returned"),
            "timestamp": Number("the time that was searched for, ms since the epoch"),
            "found": Number("the time of the record at the offset, ms since the epoch", optional=True),
            "known": Offset("where the process had polled a record of the time that was searched for"),
            "value": Value("what it had polled there"),
        },
        sentence="wrong offset(s) that a search by time returned",
        definition=(
            "A leader was asked for the first offset whose record is not older than a timestamp, which is that of a "
            "record that the process had polled. Either the record that the process then polled at the returned "
            "offset is older, or the returned offset is above the one of the known record, although that was in the "
            "log all the time: a poll that had completed before the search returned it there, and so did a final "
            "read after the search; counted per search. A search without a result does not count: a leader that was "
            "replaced may answer so."
        ),
        means=(
            "A client looked for the place in a partition at which a time begins, and was sent too far back or too "
            "far forward. In the second case it leaves out records."
        ),
        promised=(
            "`ListOffsets` with a timestamp, `offsetsForTimes` of the clients, returns the first offset whose "
            "timestamp is equal or greater, from the start of the log on. Timestamps need not be in order."
        ),
        causes=(
            "A time index that does not match its segment, for example after a crash or a truncation; a segment "
            "whose largest timestamp is not known to the broker."
        ),
        look_further=(
            "The segments of the leader (`kafka-dump-log --index-sanity-check` with its `.timeindex` files), and "
            "whether the broker had recovered or truncated the log before."
        ),
    ),
    over="searches",
    where="found < timestamp or (known < offset and lasted)",
    time="completed",
    live=NotLive("Only the final read shows that the known record was in the log."),
)
