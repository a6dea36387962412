"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Span, Value
from analyzers.catalogue.suspicion import per_value

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
            "An acknowledged send whose value is not in its log at the end; counted per value. Where "
            "the log has a completed final read, that read decides about every send acknowledged "
            "before it began or below the end it was told: its records do not hold the value, and the "
            "acknowledged offset is not below the log start it found. Where it has none (an "
            "interrupted run, an imported history): no poll ever returned the value, and one returned "
            "its offset or a later one. Jepsen counts proven info sends too; here only what was "
            "acknowledged is a promise."
        ),
        means="An acknowledged write is not in the log when everything has healed.",
        promised=(
            "With `acks=all` a write is acknowledged when every in-sync replica has it. It survives "
            "as long as one of them is elected and keeps its disk: `min.insync.replicas` of 2 or "
            "more, `unclean.leader.election.enable=false`. `acks=1` and `acks=0` promise less, and "
            "losing records under them is expected; it is reported all the same."
        ),
        causes=(
            "An unclean election; `acks=1` with a leader that was cut off; `min.insync.replicas=1` "
            "and the last replica gone or restarted with an empty disk; several brokers losing what "
            "was not flushed; message formats before 0.11, which truncate to the high watermark."
        ),
        look_further=(
            "`offset-reuse` on the same log tells what replaced it. Compare the leader epochs of "
            "polls around the offset with the elections observed, and the brokers' logs for "
            "`Truncating`."
        ),
    ),
    over="values",
    where=(
        "acked and ( (settled and not in_final and not coalesce(acked_offset < final_start, false)) "
        "or (not settled and not polled and acked_offset <= top) )"
    ),
    time="acked_at",
    suspicion=per_value("(acked and not polled) or (settled and not in_final)"),
    # Not live: whoever read it may have read it earlier, or be about to write that down.
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
        sentence="acknowledged write(s) that nobody read and no reader has passed",
        definition=(
            "An acknowledged send that no completed final read answers for, whose value no poll ever "
            "returned, at an offset beyond everything that polls returned from its log (or with no "
            "known offset); counted per value. It may be late or lost: reading did not get that far."
        ),
        means=(
            "An acknowledged write that nobody read, at an offset no reader reached. It may be late "
            "or lost. `outstanding` says how long it has been waiting."
        ),
        promised=(
            "Whatever is acknowledged can be read in the end. No time is promised, which is why this "
            "makes a verdict unknown and never invalid."
        ),
        causes=(
            "The final read did not complete; the run was interrupted; a partition without leader; a "
            "high watermark, or a last stable offset, that does not move."
        ),
        look_further=(
            "Whether the log has a completed final read, and the observations' high watermark against "
            "the offset."
        ),
    ),
    over="values",
    where="acked and not settled and not polled and not coalesce(acked_offset <= top, false)",
    time="acked_at",
    suspicion=per_value("acked and not polled"),
    # Not live: somebody may yet see it.
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
            "log_start": Offset("where the log began at the end", "final_start"),
        },
        sentence="acknowledged write(s) that the log dropped from its start before anybody read them",
        definition=(
            "An acknowledged send below the log start that the completed final read found, whose "
            "value no poll ever returned; counted per value. Retention or a deletion of records took "
            "it: that it was there before, nobody saw. Allow it where that is meant to happen."
        ),
        means="An acknowledged write lies below the log start, and nobody had read it before.",
        promised=(
            "Retention and deletion of records are allowed to do this. Reading it back can then not "
            "be called in."
        ),
        causes=(
            "`retention.ms`, `retention.bytes`, a small `segment.bytes`, `DeleteRecords`; a clock "
            "that jumped."
        ),
        look_further=(
            "The topic's settings, and `log_start` in the observations over time. Allow it where it is meant."
        ),
    ),
    over="values",
    where="not polled and acked_offset < final_start",
    time="acked_at",
    suspicion=per_value("acked and not polled"),
    # Not live: told by the final read.
)
