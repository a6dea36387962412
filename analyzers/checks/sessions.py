"""A session reads its own writes and what it has read before, and writes behind both."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Number, Offset, Operation, Span, Value
from analyzers.catalogue.check import Check, Live

READ_YOUR_WRITES = Check(
    anomaly=Anomaly(
        name="read-your-writes",
        family="sessions",
        rank=10,
        evidence={
            "session": Number("the session; a negative number n: process -1-n, which has no session"),
            "process": Number("the process that wrote it"),
            "op": Operation("its send", "value"),
            "offset": Offset("the offset that was acknowledged"),
            "value": Value("what was written: writer and sequence number"),
            "read_op": Operation("the read that had to return it"),
            "stale": Span("from the acknowledgement to the end of that read", "read_end - time"),
            "behind": Number(
                "the number of records from the end of the read to the write; 0: the read passed it",
                "if(offset < end_offset, 0, offset + 1 - end_offset)",
            ),
        },
        sentence="acknowledged write(s) that the writing session then did not find",
        definition=(
            "A send of a session was acknowledged, the session's next completed read of the partition began "
            "after the acknowledgement, and by the end of that read the session had not polled the "
            "value; counted per value. Values that may have been removed from the beginning of the log "
            "(see lost-write) do not count, and topics whose recorded settings allow compaction are left out. If the "
            "session reads with isolation.level=read_committed, the read "
            "must also have ended above the offset of the write: it ends at the last stable offset, which "
            "open transactions and markers that are not written yet hold back."
        ),
        means=(
            "A session's write was acknowledged, and the session then read to the end of the partition "
            "without finding it. `stale` and `behind` say by how much the read fell short."
        ),
        promised=(
            "A record acknowledged with `acks=all` is below the leader's high watermark. With `acks=1` or "
            "`acks=0` it may not be yet. A follower that serves reads (`client.rack` with a replica selector) "
            "may lag."
        ),
        causes=(
            "Reads from followers; a zombie leader that answers the request for the end offset; a write that "
            "was lost."
        ),
        look_further=(
            "Which broker returned the end offset, and in which epoch; whether the final read has the value."
        ),
    ),
    over="session_writes",
    where=(
        "read_end is not null and (seen is null or seen > read_end) and (not isolated or offset < end_offset)"
    ),
    time="read_end",
    live=Live(
        because=(
            "The process that sent it also read, and began another operation later, which shows that its polls until "
            "the end of the read are known. Processes of a session follow one another, so no other one polled it "
            "meanwhile. A session keeps its isolation level. Where the topic keeps all records and nothing is to "
            "delete any, nothing excuses it later."
        ),
        per=("session", "value"),
        where=(
            "read_end < known and time >= complete_since and process = read_process and (seen is null or seen > "
            "read_end) and (not isolated or offset < end_offset)"
        ),
        if_records_stay=True,
    ),
)

MONOTONIC_READS = Check(
    anomaly=Anomaly(
        name="monotonic-reads",
        family="sessions",
        rank=20,
        evidence={
            "session": Number("the session; a negative number n: process -1-n, which has no session"),
            "process": Number("the process that read"),
            "op": Operation("the read"),
            "offset": Offset("the end of the read (exclusive)", "end_offset"),
            "reached": Offset("the end that the session had reached before (exclusive)"),
            "stale": Span(
                "from when the session had reached that offset to the beginning of the read",
                "time - reached_at",
            ),
            "behind": Number("the number of records by which it fell short", "reached - end_offset"),
        },
        sentence="read(s) of a session that ended before what it had already read",
        definition=(
            "The end offset of a session's completed read is below the end of a completed read of the session that "
            "had ended before it began, or below the end of a record that the session had polled before; counted "
            "per read. A read with isolation.level=read_committed ends at the last stable offset, and only counts "
            "against earlier reads and polls with it; so does every read of a session that polled with it, if none "
            "of its reads is recorded to have used it."
        ),
        means="A session's read ended before an offset that the session had already reached.",
        promised=(
            "A leader's high watermark does not go back, and a new leader reports none until it has reached "
            "the start of its epoch (2.2 and later). Reads from followers and unclean elections void this."
        ),
        causes="A client that returned to the old leader; reads from two replicas; a truncation.",
        look_further="The broker and the epoch of both reads; `offset-reuse` and `lost-write` on the log.",
    ),
    over="session_reads",
    where="end_offset < reached",
    time="time",
    live=Live(
        because="Two rows suffice, and more rows only add such pairs: what the session had reached only grows.",
        per=("session", "op"),
    ),
)

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
    live=Live(
        because="Two rows suffice, and more rows only add such pairs: what the session had read only grows.",
        per=("session", "op"),
    ),
)
