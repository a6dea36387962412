"""What a group has committed is copied once."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Text, Value
from analyzers.catalogue.live import NotLive

LOST_COPY = Check(
    anomaly=Anomaly(
        name="lost-copy",
        family="groups",
        rank=60,
        evidence={
            "process": Number("the member that committed", "passed.process"),
            "op": Operation("its commit", "passed.op"),
            "group": Text("the consumer group"),
            "offset": Offset("the offset of the record without a copy"),
            "value": Value("what was written: writer and sequence number"),
            "position": Offset("the position that the group committed", "passed.position"),
        },
        sentence="record(s) that a group committed and did not copy",
        definition=(
            "A record has no copy by a member of a group that readers get, although the group committed an offset "
            "above it with ok, in a transaction with its commit; counted per group and record. A completed final "
            "read found the record, and it was sent without a transaction, acknowledged, or polled with "
            "isolation.level=read_committed. It lies at or above the lowest offset at which a member began to read. "
            "A group counts if a member of it sent a record with a source. Readers get a copy if its send was "
            "acknowledged, in a transaction with its commit, or if a poll returned it, in a transaction one with "
            "isolation.level=read_committed. Readers do not get a copy whose send failed; or that no poll returned, "
            "although a final read of its partition was completed, and nothing was removed from it; or in a "
            "transaction if a reader of committed records passed its offset without it (see torn-transaction). With "
            "any other copy, nothing is reported. Logs of which the group's position was reset are left out."
        ),
        means=(
            "A group has committed past a record, so that nobody reads it again, and its copy is not in the output."
        ),
        promised=(
            "Copies and positions in one transaction take effect together, since 0.11; since 2.5 (KIP-447) the "
            "members of a group may have transactional ids of their own. Positions that are committed after the "
            "copies were acknowledged lose none either. Positions that are committed before lose copies when a "
            "member crashes."
        ),
        causes=(
            "A commit before the copy was acknowledged; a transaction whose positions were committed and whose "
            "records were aborted; a copier that ignores failed sends."
        ),
        look_further=(
            "The commit that passed the record and its transaction, who polled the record, and "
            "`lost-write` of its copies. A record that no member ever polled is a `group-skip` as well."
        ),
    ),
    over="copies",
    where="kept and passed is not null and offset >= start and not moved and not coalesce(possible, false)",
    time="passed.time",
    live=NotLive("Its copy may be polled later."),
)

DUPLICATE_COPY = Check(
    anomaly=Anomaly(
        name="duplicate-copy",
        family="groups",
        rank=70,
        evidence={
            "process": Number("the process that sent the second copy", "shiftright(second.value, 40)"),
            "op": Operation("its send", "second.value"),
            "group": Text("the consumer group"),
            "offset": Offset("the offset of the record that was copied"),
            "value": Value("what was written: writer and sequence number"),
            "first_copy": Value("the first copy", "first.value"),
            "copies": Number("the number of its copies", "copied"),
        },
        sentence="record(s) with more than one copy by the same group",
        definition=(
            "Members of one group sent two or more copies of one record to one topic, and readers get each of them "
            "(see lost-copy); counted per group and record. Records that were polled at several offsets, which are a "
            "duplicate, and logs of which the group's position was reset are left out."
        ),
        means="A record was copied twice, and readers get both copies.",
        promised=(
            "Copies and positions in one transaction take effect together, and a member that the group has replaced "
            "can commit neither. Without transactions, a crash between the copies and the commit of the positions "
            "repeats the copies."
        ),
        causes=(
            "Positions that are committed outside of the transaction of the copies; members that start before the "
            "transactions of earlier owners are decided, because they do not ask for stable positions; positions "
            "that are sent to a transaction without the membership, so that a zombie is not fenced; lost positions."
        ),
        look_further=(
            "Who sent both copies, in which transactions, and where the second one's assignment had started. With "
            "at-least-once copying, allow this anomaly."
        ),
    ),
    over="copies",
    where="second is not null and not coalesce(moved, false) and not coalesce(offset < last_offset, false)",
    time="second.time",
    live=NotLive("A reset explains it, and another process records the reset when it has ended."),
)
