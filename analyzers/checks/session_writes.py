"""A session writes behind what it has read and written before, whichever of its clients writes."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Span, Value
from analyzers.catalogue.live import Live
from analyzers.catalogue.suspicion import per_session

_SEND = {
    "session": Number("the session; a negative number n: process -1-n, which has no session"),
    "process": Number("the process that wrote it"),
    "op": Operation("its send"),
    "offset": Offset("the offset that was acknowledged"),
    "value": Value("what was written: writer and sequence number"),
}

MONOTONIC_WRITES = Check(
    anomaly=Anomaly(
        name="monotonic-writes",
        family="sessions",
        rank=30,
        evidence={
            **_SEND,
            "written": Offset("the highest offset that was acknowledged to the session before"),
            "stale": Span("from that acknowledgement to the invocation of this send", "invoked - written_at"),
            "behind": Number("the number of records by which it fell short", "written - offset"),
        },
        sentence="acknowledged write(s) of a session that landed before an earlier one of the session",
        definition=(
            "An acknowledged send of a session has an offset not above that of another send to the same "
            "topic-partition, by any process of the session, that was acknowledged before this one was "
            "invoked; counted per send. Sessions are those that are declared, with all their processes, and "
            "processes without a session that both send and poll. The order of sends that one process had in "
            "flight together is covered by nonmonotonic-send."
        ),
        means=(
            "A session's write has a lower offset than an earlier write of the session, possibly by another "
            "of its clients."
        ),
        promised=(
            "A leader appends at the end, with any `acks`: what is sent after an acknowledgement gets a "
            "higher offset, unless the log was truncated in between."
        ),
        causes="A truncation between the two; two leaders at the same time.",
        look_further="The epochs at both offsets.",
    ),
    over="session_sends",
    where="offset <= written",
    time="time",
    suspicion=per_session("event = 'send' and offset <= written"),
    live=Live(
        because="Two rows suffice, and more rows only add such pairs: what the session had written only grows.",
        per=("session", "op"),
    ),
)

WRITES_FOLLOW_READS = Check(
    anomaly=Anomaly(
        name="writes-follow-reads",
        family="sessions",
        rank=40,
        evidence={
            **_SEND,
            "read": Offset("the highest offset that the session had polled before"),
            "stale": Span("from its first poll of that to the invocation of this send", "invoked - read_at"),
            "behind": Number("the number of records by which it fell short", "read - offset"),
        },
        sentence="acknowledged write(s) of a session that landed before what it had read",
        definition=(
            "An acknowledged send of a session has an offset not above that of a record that a process of the "
            "session polled from the same topic-partition before the send was invoked; counted per send. "
            "Sessions are those that are declared, with all their processes, and processes without a session "
            "that both send and poll."
        ),
        means=(
            "A session read a record and then wrote, and the write has the same offset as that record or a "
            "lower one."
        ),
        promised=(
            "As for monotonic-writes: a record that was read is in the log, and the log only grows while its "
            "leaders are elected cleanly."
        ),
        causes="A truncation in between; a read from one leader and a write to another.",
        look_further="Whether the final read still has the record that was read.",
    ),
    over="session_sends",
    where="offset <= read",
    time="time",
    suspicion=per_session("event = 'send' and offset <= known"),
    live=Live(
        because="Two rows suffice, and more rows only add such pairs: what the session had read only grows.",
        per=("session", "op"),
    ),
)
