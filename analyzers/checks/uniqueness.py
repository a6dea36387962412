"""What was written once is in the log once."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.live import Live
from analyzers.catalogue.suspicion import per_value

DUPLICATE = Check(
    anomaly=Anomaly(
        name="duplicate",
        family="log",
        rank=40,
        jepsen="duplicate",
        evidence={
            "process": Number("the process that wrote it", "sender"),
            "op": Operation("its send", "value"),
            "offset": Offset("the lowest offset", "first_offset"),
            "last_offset": Offset("the highest offset"),
            "value": Value("what was written: writer and sequence number"),
        },
        sentence="value(s) found at more than one offset of (its|their) log",
        definition=(
            "Polls of any completion type and acknowledgements show one value at two or more offsets of one "
            "log; counted per value. An at-least-once producer may do this."
        ),
        means="One write lies at two or more offsets.",
        promised=(
            "An idempotent producer (`enable.idempotence`, the default since 3.0; requires `acks=all`) writes "
            "each record once within its session. Without idempotence, a retry may write a record again."
        ),
        causes=(
            "A lost response and a retry without idempotence; a producer id that expired on the broker; a "
            "producer that got a new id and sent again."
        ),
        look_further="The attempts in the send's `error`, and which broker accepted each of them.",
    ),
    over="values",
    where="first_offset < last_offset",
    time="coalesce(begun_at, polled_at)",
    suspicion=per_value("least < most"),
    live=Live(because="Two rows suffice, and more rows only add such pairs.", per=("value",)),
)
