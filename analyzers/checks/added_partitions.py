"""What groups leave out of partitions that are added: Kafka allows it, and users rarely expect it."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Moment, Offset, Text, Value
from analyzers.catalogue.check import END, Check, NotLive

_RECORD = {
    "group": Text("the group", "`group`"),
    "value": Value("the record: writer and sequence number"),
    "offset": Offset("the offset of the record"),
    "sent": Moment("when it was sent"),
    "position": Offset("where the group started to read the partition"),
}

ADDED_PARTITION_SKIP = Check(
    anomaly=Anomaly(
        name="added-partition-skip",
        family="groups",
        rank=22,
        severity="note",
        evidence={**_RECORD, "policy": Text("auto.offset.reset of the member", optional=True)},
        sentence=(
            "record(s) of added partitions that a group left out, because it started at their end: "
            "auto.offset.reset=earliest prevents it"
        ),
        definition=(
            "A record was acknowledged in a partition that was added to its topic, and was sent while a member of a "
            "group had been assigned a partition of the topic. The group had committed no position of the new "
            "partition, and its first member there, with auto.offset.reset=latest or with one that is not recorded, "
            "started above the record, which no member ever polled; counted per group and record. A partition was "
            "added if its number is not below the number of partitions that the topic was created with, or had "
            "before a fault; where neither is recorded, if an administrator requested more and nothing had been sent "
            "to it before. Records below the start of the log that the final read found do not count."
        ),
        means=(
            "A group that reads a topic learned of a new partition only after records had been written to it, "
            "started at its end, and never polled these records."
        ),
        promised=(
            "Nothing: with `auto.offset.reset=latest`, a consumer without a committed position starts at the end of "
            "the log (KAFKA-20539). With `earliest` it starts at the first record."
        ),
        causes=(
            "`auto.offset.reset=latest`, the default, with partitions that are added under load: consumers learn of "
            "them within `metadata.max.age.ms`, 5 minutes by default, and producers may do so earlier."
        ),
        look_further=(
            "Set `auto.offset.reset=earliest`, or add partitions while nobody writes, and wait until the group "
            "owns them."
        ),
    ),
    over="added_partition_starts",
    where="not polled and coalesce(policy, 'latest') = 'latest'",
    time="sent",
    live=NotLive("Another member of the group may have polled it, in a segment that is still open."),
)

ADDED_QUEUE_SKIP = Check(
    anomaly=Anomaly(
        name="added-queue-skip",
        family="queues",
        rank=12,
        severity="note",
        evidence=_RECORD,
        sentence=(
            "record(s) of added partitions below the offset at which a share group began with them: "
            "share.auto.offset.reset=earliest prevents it"
        ),
        definition=(
            "A record was acknowledged in a partition that was added to its topic (see added-partition-skip), was "
            "sent after a consumer of a share group had got a record of the topic, and lies below the offset at "
            "which the share group began with the partition; counted per group and record. A group with "
            "share.auto.offset.reset=latest began at the first record whose acknowledgement a broker confirmed, and "
            "at its end if there is none, unless the history says otherwise. Where neither its start nor this "
            "setting is recorded, the record is a queue-lost or queue-unfinished. Records below the start of the log "
            "that the final read found do not count."
        ),
        means=(
            "A share group that consumes a topic learned of a new partition only after records had been written to "
            "it, started at its end, and never delivered these records."
        ),
        promised=(
            "Before Kafka 4.4, nothing: with `share.auto.offset.reset=latest`, a share group starts at the end of an "
            "added partition (KAFKA-20742). From 4.4 on, or with `earliest`, it starts at the first record."
        ),
        causes="`share.auto.offset.reset=latest`, the default, with partitions that are added under load.",
        look_further="Set `share.auto.offset.reset=earliest` for the group before its first consumer starts.",
    ),
    over="added_partition_queues",
    where="true",
    time="sent",
    live=END,
)
