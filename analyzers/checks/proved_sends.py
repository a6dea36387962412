"""A send of unknown outcome lies in the log behind everything that was acknowledged before it."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Span, Value
from analyzers.catalogue.live import NotLive
from analyzers.catalogue.suspicion import per_value

OVERTAKEN_WRITE = Check(
    anomaly=Anomaly(
        name="overtaken-write",
        family="order",
        rank=90,
        evidence={
            "process": Number("the process that wrote it"),
            "op": Operation("its send"),
            "offset": Offset("the lowest offset it was polled at"),
            "value": Value("what was written: writer and sequence number"),
            "overtaker": Offset("the higher offset that was acknowledged first"),
            "stale": Span("from that acknowledgement to the invocation of this send", "invoked - overtaken"),
        },
        sentence=(
            "unacknowledged send(s) that (was|were) read at a lower offset than one acknowledged before "
            "(it was|they were) invoked"
        ),
        definition=(
            "A send with completion type info was polled at an offset below that of another send to the same "
            "topic-partition that was acknowledged before this one was invoked; counted per value. It is "
            "realtime-order for sends whose offset only a reader knows."
        ),
        means=(
            "A write of unknown outcome did happen, and lies before a write that had been acknowledged before it "
            "was sent."
        ),
        promised=(
            "A leader appends at the end, with any `acks`, for all producers together. Only a truncation "
            "undoes it."
        ),
        causes=(
            "A truncation between the two, so that the acknowledged one is usually lost; two leaders that both "
            "append."
        ),
        look_further="`realtime-order`, `lost-write` and `lost-read` near the offset, and the epoch of both records.",
    ),
    over="proved_sends",
    where="overtaken < invoked",
    time="time",
    suspicion=per_value("polled and unknown"),
    live=NotLive("The send may still be acknowledged, and is a realtime-order then."),
)
