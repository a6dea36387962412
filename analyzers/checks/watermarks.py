"""A reader gets nothing that is not on all in-sync replicas yet."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.live import NotLive
from analyzers.catalogue.suspicion import per_leader

READ_ABOVE_WATERMARK = Check(
    anomaly=Anomaly(
        name="read-above-watermark",
        family="log",
        rank=75,
        evidence={
            "process": Number("the process that polled it"),
            "op": Operation("its poll"),
            "value": Value("what was polled"),
            "offset": Offset("the highest offset polled"),
            "watermark": Offset("the lowest high watermark reported later"),
            "node": Number("the broker that served the poll and reported the high watermark"),
            "epoch": Number("the leader epoch of both", "leader_epoch"),
        },
        sentence="poll(s) that returned records at or above the leader's high watermark",
        definition=(
            "A broker served a record to a poll, and a request for the high watermark that was sent to the same "
            "broker after the response had arrived was answered with the offset of the record or a lower one; "
            "counted per poll of a partition, broker and leader epoch. The broker must have called itself the "
            "leader in the leader epoch of the record, both with this answer and with its next one. So it was "
            "the leader in this epoch all the time: the record was written in that epoch, and a broker's epoch "
            "does not go back. Polls of an unknown broker do not count."
        ),
        means=(
            "A reader got a record before all in-sync replicas had it: later, the same leader in the same epoch "
            "still reported a high watermark that does not include the record."
        ),
        promised=(
            "Consumers read below the high watermark, and a leader's high watermark does not go back within its "
            "epoch. A new leader's may lie behind that of the previous one for a moment, so answers of other "
            "brokers and epochs prove nothing. This holds with any `acks`, and with unclean elections, too."
        ),
        causes="An off-by-one error at the high watermark; a leader that serves what it has not replicated.",
        look_further="`lost-read` on the same log: such a record is lost if the leader fails.",
    ),
    over="leader_polls",
    where="watermark <= offset",
    time="time",
    suspicion=per_leader("watermark <= offset"),
    live=NotLive("The next answer of the broker may lie in a segment that is still open."),
)
