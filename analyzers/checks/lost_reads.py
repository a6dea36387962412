"""What a reader got is in the log at the end."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Moment, Number, Offset, Operation, Value
from analyzers.catalogue.live import NotLive
from analyzers.catalogue.suspicion import per_value

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
    suspicion=per_value("due and not in_final"),
    live=NotLive("Only the final read shows it."),
)
