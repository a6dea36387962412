"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Span, Value

READ_YOUR_WRITES = Check(
    anomaly=Anomaly(
        name="read-your-writes",
        family="sessions",
        rank=10,
        evidence={
            "session": Number("the session; negative: process -1-n, which stands for itself"),
            "process": Number("the process that wrote it"),
            "op": Operation("its send", "value"),
            "offset": Offset("the offset that was acknowledged"),
            "value": Value("what was written: writer and sequence number"),
            "read_op": Operation("the read that had to show it"),
            "stale": Span("from the acknowledgement to the end of that read", "read_end - time"),
            "behind": Number(
                "the records from the end that the read was told to the write; 0: it read past it",
                "if(offset < end_offset, 0, offset + 1 - end_offset)",
            ),
        },
        sentence="acknowledged write(s) that the writing session then did not find",
        definition=(
            "A session's send was acknowledged, its next completed read of that partition began at or "
            "after the acknowledgement, and until the end of that read the session had not polled the "
            "value; counted per value."
        ),
        means=(
            "A session was acknowledged a write, then read to the end it was told, and did not find "
            "it. `stale` and `behind` say by how much."
        ),
        promised=(
            "Reading from the leader, a record acknowledged with `acks=all` is below the high "
            "watermark. With `acks=1` or 0 it need not be yet; a follower (`client.rack` with a "
            "replica selector) may lag."
        ),
        causes=("Reading from followers; a zombie leader that is asked for the end; a write that was lost."),
        look_further="Which broker told the end, with which epoch; whether the value is in the final read.",
    ),
    over="session_writes",
    where="read_end is not null and (seen is null or seen > read_end)",
    time="read_end",
    # Not live: the poll that showed the write may lie in a segment that is still open.
)

MONOTONIC_READS = Check(
    anomaly=Anomaly(
        name="monotonic-reads",
        family="sessions",
        rank=20,
        evidence={
            "session": Number("the session; negative: process -1-n, which stands for itself"),
            "process": Number("the process that read"),
            "op": Operation("the read"),
            "offset": Offset("the end that the read was told (exclusive)", "end_offset"),
            "reached": Offset("the end that the session had reached before (exclusive)"),
            "stale": Span(
                "from when the session had reached that to the beginning of the read", "time - reached_at"
            ),
            "behind": Number("the records by which it fell short", "reached - end_offset"),
        },
        sentence="read(s) of a session that ended before what it had already read",
        definition=(
            "A session's completed read was told an end of the log below the end of an earlier "
            "completed read of the session, or below the end of a record that the session had polled "
            "before; counted per read."
        ),
        means="A session's read was told an end before what the session had already reached.",
        promised=(
            "A leader's high watermark does not go back, and a new leader tells none before it has "
            "reached the start of its epoch (2.2 and later). Followers and unclean elections void "
            "this."
        ),
        causes="A client that ran back to the old leader; reading from two replicas; a truncation.",
        look_further="The broker and epoch of both reads; `offset-reuse` and `lost-write` on the log.",
    ),
    over="session_reads",
    where="end_offset < reached",
    time="time",
    live=("two rows that are there; more rows only add such pairs: what was reached before only gets more"),
)
