"""What was acknowledged, and what a reader got, is in the log at the end, and there once."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Moment, Number, Offset, Operation, Span, Value
from analyzers.catalogue.check import Check, Live, NotLive

LOST_WRITE = Check(
    anomaly=Anomaly(
        name="lost-write",
        family="log",
        rank=10,
        jepsen="lost-write",
        evidence={
            "process": Number("the process that wrote it", "sender"),
            "op": Operation("its send", "value"),
            "offset": Offset("the offset that was acknowledged", "acked_offset"),
            "value": Value("what was written: writer and sequence number"),
        },
        sentence="acknowledged write(s) missing from the log at the end",
        definition=(
            "The value of an acknowledged send is not in its log at the end; counted per value. If the log "
            "has a completed final read, that read decides about every send that was acknowledged before it "
            "began or lies below the end offset that it used (with isolation.level=read_committed only about "
            "the latter, because it ends at the last stable offset): the value is lost if the read did not return "
            "it. Without one (an interrupted run, an imported history), the value is lost if no poll ever returned "
            "it and a poll returned its offset or a later one. A value that may have been removed at the "
            "beginning of the log, or with its topic, which was created again, is not lost, but expired if no poll "
            "returned it. The former is so below the log start "
            "that the final read found or, without one, that any broker or delete-records reported. Where a log "
            "start above 0 was found and neither an acknowledgement nor a poll shows the offset, it may be below. "
            "In a compacted topic, a value may also have been overwritten: a record of the same key was polled or "
            "acknowledged at a higher offset, or, where tombstones may be gone before the end of the run, a "
            "tombstone, which may itself be gone; one that was neither polled nor acknowledged with an offset may "
            "have been behind everything. Records of aborted transactions overwrite nothing. If the run recorded "
            "the topic's settings, and neither compaction nor retention allows any record of the run to go, a log "
            "start excuses nothing above the offset before which a fault or an administrator of the run asked to "
            "delete records, unless the leader refused it; where such a fault records no offset, as a jump of a "
            "clock, it excuses everything below it. Jepsen also counts info sends that are proven to have "
            "happened; here, only what was acknowledged is a promise."
        ),
        means="An acknowledged write is not in the log after everything has healed.",
        promised=(
            "With `acks=all`, a write is acknowledged when every in-sync replica has it. It survives as long "
            "as one of these replicas is elected and keeps its disk, given `min.insync.replicas` of 2 or more "
            "and `unclean.leader.election.enable=false`. `acks=1` and `acks=0` promise less: losing records "
            "is then expected, and it is reported all the same."
        ),
        causes=(
            "An unclean election; `acks=1` with a leader that was cut off; `min.insync.replicas=1` with the "
            "last replica gone or restarted with an empty disk; several brokers that lost unflushed data; "
            "message formats before 0.11, which truncate to the high watermark."
        ),
        look_further=(
            "`offset-reuse` on the same log shows what replaced it. Compare the leader epochs of polls around "
            "the offset with the observed elections, and search the brokers' logs for `Truncating`."
        ),
    ),
    over="values",
    # A completed final read decides about every write that it had to find.
    # Without one, a write is lost once a reader has passed its offset. About a write further on, nothing is known.
    where=(
        "acked and not removed and ((settled and not in_final) or (not settled and not polled and acked_offset <= "
        "top))"
    ),
    time="acked_at",
    live=Live(
        because=(
            "A reader passed the offset without the value, on a record of some leader epoch, and a record of this "
            "epoch at or above that one was sent after the write had been acknowledged. In an epoch the log only "
            "grows, so the write, which was there before, is not in it: it was lost in a truncation. Neither a "
            "paused client or a late response, nor an aborted transaction, nor a reader whose segment is open makes "
            "a difference. "
            "Nothing else removed it: the recorded settings of the topic keep all records, without compaction, and "
            "nothing is to delete any. A topic that was created again is another log. The whole history may show the "
            "value again, because a lost log came back: at this offset, which the reader skipped or where another "
            "value was; or at another one."
        ),
        per=("value",),
        over="passed_writes",
        where="acked_offset >= removed_to",
        if_records_stay=True,
        either=frozenset(
            {
                "lost-write",
                "duplicate",
                "inconsistent-offsets",
                "offset-reuse",
                "poll-skip",
                "int-poll-skip",
            }
        ),
    ),
)

UNSEEN = Check(
    anomaly=Anomaly(
        name="unseen",
        family="log",
        rank=20,
        severity="unknown",
        jepsen="unseen",
        evidence={
            "process": Number("the process that wrote it", "sender"),
            "op": Operation("its send", "value"),
            "offset": Offset("the offset that was acknowledged", "acked_offset"),
            "value": Value("what was written: writer and sequence number"),
            "outstanding": Span("from the acknowledgement to the run's last record", "until - acked_at"),
        },
        sentence="acknowledged write(s) that no reader returned or passed",
        definition=(
            "No completed final read decides about an acknowledged send, no poll ever returned its value, and "
            "its offset is above everything that polls returned from its log, or unknown; counted per value. "
            "It may be late or lost: no reader got that far. A topic that was deleted and created again is "
            "left out: see expired."
        ),
        means=(
            "No reader got to the offset of an acknowledged write, which may be late or lost. `outstanding` "
            "is the time since its acknowledgement."
        ),
        promised=(
            "Everything that is acknowledged can be read eventually. Kafka promises no time, so this makes a "
            "verdict unknown and never invalid."
        ),
        causes=(
            "The final read did not complete; the run was interrupted; the partition has no leader; the high "
            "watermark or the last stable offset does not move."
        ),
        look_further=(
            "Check whether the log has a completed final read, and compare the observed high watermark with "
            "the offset."
        ),
    ),
    over="values",
    where="acked and not settled and not polled and not gone and not coalesce(acked_offset <= top, false)",
    time="acked_at",
    live=NotLive("A reader may still get it."),
)

EXPIRED = Check(
    anomaly=Anomaly(
        name="expired",
        family="log",
        rank=30,
        severity="unknown",
        evidence={
            "process": Number("the process that wrote it", "sender"),
            "op": Operation("its send", "value"),
            "offset": Offset("the offset that was acknowledged", "acked_offset"),
            "value": Value("what was written: writer and sequence number"),
            "log_start": Offset("where the log began at the end", "final_start", optional=True),
        },
        sentence="acknowledged write(s) removed unread",
        definition=(
            "No poll ever returned the value of an acknowledged send, and it may have been removed at the "
            "beginning of the log, as lost-write defines it, or with its topic, which was created again; counted per "
            "value. Left out is what a later record of its key overwrote in a compacted topic: only the newest "
            "record of a key has to stay. Retention, a deletion of records or that of the topic removed it, and "
            "nothing shows that it was there before."
        ),
        means="An acknowledged write lies below the log start, or in a deleted topic, and was never read.",
        promised=(
            "Retention and deletion of records may remove it, and readers then have no right to expect it."
        ),
        causes=(
            "`retention.ms`, `retention.bytes`, a small `segment.bytes`, `DeleteRecords`; a clock that "
            "jumped."
        ),
        look_further=(
            "The topic's settings, and the observed log start over time. Allow this anomaly where records are "
            "meant to expire."
        ),
    ),
    over="values",
    # A final read that returned the value counts as a poll, too.
    where="acked and not polled and removed and not overwritten and (settled or gone or acked_offset <= top)",
    time="acked_at",
    live=NotLive("Only the final read knows the log start."),
)

LOST_READ = Check(
    anomaly=Anomaly(
        name="lost-read",
        family="log",
        rank=15,
        jepsen="lost-write",
        evidence={
            "process": Number("the process that polled it", "poller"),
            "op": Operation("its poll", "poll"),
            "offset": Offset("the lowest offset it was polled at", "polled_offset"),
            "value": Value("what was polled"),
            "returned": Moment("when the first poll that returned it completed", "returned_at"),
        },
        sentence="value(s) that (was|were) read and (is|are) missing from the log at the end",
        definition=(
            "A poll of any completion type returned a value, and the log's completed final read did not, "
            "although the poll had completed before the run requested the end of the log, or the offset lies "
            "below that end; counted per value. Left out are values whose acknowledgement makes them a "
            "lost-write, records that may have been removed (see there), and "
            "sends that failed. A value "
            "sent in a transaction counts only if a poll with isolation.level=read_committed returned it. "
            "Jepsen reports such values as lost-write."
        ),
        means=(
            "A reader got a record, and the record is not in the log after everything has healed. Whether its "
            "send was acknowledged does not matter: its outcome may have been unknown to the sender."
        ),
        promised=(
            "Consumers get only records below the high watermark, which every in-sync replica has. One of these "
            "replicas is elected next, so the record stays, with any `acks`. Unclean elections and lost disks "
            "void this."
        ),
        causes=(
            "An unclean election; the last in-sync replica gone or restarted with an empty disk; several brokers "
            "that lost unflushed data; a leader that served records above its high watermark."
        ),
        look_further=(
            "`lost-write` and `offset-reuse` on the same log: a truncation removes acknowledged records as well. "
            "The leader epoch of the poll compared with the observed elections."
        ),
    ),
    over="values",
    where=(
        "due and not in_final and not failed and not removed and (not transactional or read_committed) and not "
        "(acked and settled)"
    ),
    time="returned_at",
    live=NotLive("Only the final read shows it."),
)

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
    live=Live(because="Two rows suffice, and more rows only add such pairs.", per=("value",)),
)
