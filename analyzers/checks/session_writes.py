"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Span, Value

MONOTONIC_WRITES = Check(
    anomaly=Anomaly(
        name="monotonic-writes",
        family="sessions",
        rank=30,
        evidence={
            "session": Number("the session; negative: process -1-n, which stands for itself"),
            "process": Number("the process that wrote it"),
            "op": Operation("its send"),
            "offset": Offset("the offset that was acknowledged"),
            "value": Value("what was written: writer and sequence number"),
            "written": Offset("the highest offset that the session had been acknowledged before"),
            "stale": Span("from that acknowledgement to this send's invocation", "invoked - written_at"),
            "behind": Number("the records by which it fell short", "written - offset"),
        },
        sentence="acknowledged write(s) of a session that landed before an earlier one of the session",
        definition=(
            "An acknowledged send of a session whose offset is not above that of another send to the "
            "same topic-partition, by any process of the session, that was acknowledged before this "
            "one was invoked; counted per send. Sessions are those that were declared, with all their "
            "processes, and processes without one that both send and poll. What one process had in "
            "flight at once has its order in nonmonotonic-send."
        ),
        means=(
            "A session's write landed before one that was acknowledged to the session earlier, maybe "
            "to another of its clients."
        ),
        promised=(
            "A leader appends at the end: what is sent after an acknowledgement gets a higher offset, "
            "with any `acks`, unless the log was cut off in between."
        ),
        causes="A truncation between the two; two leaders at once.",
        look_further=(
            "The epochs at both offsets. What one producer had in flight at once is `nonmonotonic-send`."
        ),
    ),
    over="session_sends",
    where="offset <= written",
    time="time",
    live=("two rows that are there; more rows only add such pairs: what was written before only gets more"),
)

WRITES_FOLLOW_READS = Check(
    anomaly=Anomaly(
        name="writes-follow-reads",
        family="sessions",
        rank=40,
        evidence={
            "session": Number("the session; negative: process -1-n, which stands for itself"),
            "process": Number("the process that wrote it"),
            "op": Operation("its send"),
            "offset": Offset("the offset that was acknowledged"),
            "value": Value("what was written: writer and sequence number"),
            "read": Offset("the highest offset that the session had polled before"),
            "stale": Span("from when it first had to this send's invocation", "invoked - read_at"),
            "behind": Number("the records by which it fell short", "read - offset"),
        },
        sentence="acknowledged write(s) of a session that landed before what it had read",
        definition=(
            "An acknowledged send of a session whose offset is not above that of a record that a "
            "process of the session polled from the same topic-partition before the send was invoked; "
            "counted per send. Sessions are those that were declared, with all their processes, and "
            "processes without one that both send and poll."
        ),
        means="A session read a record, then wrote, and the write landed at or before that record.",
        promised=(
            "As for monotonic-writes: a record that was read is in the log, and the log only grows "
            "while its leader is elected cleanly."
        ),
        causes="A truncation in between; reading from one leader and writing to another.",
        look_further="Whether the record that was read is still there in the final read.",
    ),
    over="session_sends",
    where="offset <= read",
    time="time",
    live=("two rows that are there; more rows only add such pairs: what was read before only gets more"),
)
