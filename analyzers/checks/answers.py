"""Brokers answer what they know: the first record of a time, and every acknowledged change of a topic."""

from __future__ import annotations

from analyzers.catalogue.anomaly import TOPIC_NAME, Anomaly, Number, Offset, Operation, Text, Value
from analyzers.catalogue.check import Check, NotLive

WRONG_OFFSET_FOR_TIME = Check(
    anomaly=Anomaly(
        name="wrong-offset-for-time",
        family="log",
        rank=85,
        evidence={
            "process": Number("the process that searched"),
            "op": Operation("its search"),
            "offset": Offset("the offset that the leader returned"),
            "timestamp": Number("the time that was searched for, ms since the epoch"),
            "found": Number("the time of the record at the offset, ms since the epoch", optional=True),
            "known": Offset("where the process had polled a record of the time that was searched for"),
            "value": Value("what it had polled there"),
        },
        sentence="wrong offset(s) that a search by time returned",
        definition=(
            "A leader was asked for the first offset whose record is not older than a timestamp, which is that of a "
            "record that the process had polled. Either the record that the process then polled at the returned "
            "offset is older, or the returned offset is above the one of the known record, although that was in the "
            "log all the time: a poll that had completed before the search returned it there, and so did a final "
            "read after the search; counted per search. A search without a result does not count: a leader that was "
            "replaced may answer so."
        ),
        means=(
            "A client looked for the place in a partition at which a time begins, and was sent too far back or too "
            "far forward. In the second case it leaves out records."
        ),
        promised=(
            "`ListOffsets` with a timestamp, `offsetsForTimes` of the clients, returns the first offset whose "
            "timestamp is equal or greater, from the start of the log on. Timestamps need not be in order."
        ),
        causes=(
            "A time index that does not match its segment, for example after a crash or a truncation; a segment "
            "whose largest timestamp is not known to the broker."
        ),
        look_further=(
            "The segments of the leader (`kafka-dump-log --index-sanity-check` with its `.timeindex` files), and "
            "whether the broker had recovered or truncated the log before."
        ),
    ),
    over="searches",
    where="found < timestamp or (known < offset and lasted)",
    time="completed",
    live=NotLive("Only the final read shows that the known record was in the log."),
)

FORGOTTEN_CHANGE = Check(
    anomaly=Anomaly(
        name="forgotten-change",
        family="metadata",
        rank=10,
        subject=TOPIC_NAME,
        evidence={
            "process": Number("the process that asked"),
            "op": Operation("its inspection"),
            "node": Number("the broker that answered"),
            "expected": Text("what had been acknowledged"),
            "reported": Text("what the broker reported"),
        },
        sentence="description(s) of a topic that lack an acknowledged change",
        definition=(
            "After the last change of a topic had been acknowledged, a client created another topic, the marker. A "
            "broker that reported the marker did not report the topic in the same answer although its last "
            "creation had been acknowledged, reported it although its deletion was the last change, reported fewer "
            "partitions than the last creation or enlargement had stated, or reported another value of retention.ms "
            "than the last change of it; counted per topic, broker and inspection. A topic does not count if any "
            "change of it has an unknown outcome, or was under way."
        ),
        means=(
            "A topic was created, deleted, enlarged or configured, the controller acknowledged that, and a broker "
            "that knows of later changes does not report it."
        ),
        promised=(
            "In KRaft mode, all changes of the cluster are records of one log, which a quorum of controllers holds "
            "and every broker replays in order. An acknowledged change is committed there and stays. The controller "
            "of ZooKeeper mode deletes topics in the background; nothing is judged there."
        ),
        causes=(
            "Controllers that lost their metadata log; an election of a controller with an older log; a snapshot "
            "that lacks a record; a cache of metadata that is updated in part."
        ),
        look_further=(
            "The metadata log of the broker and of the controllers (`kafka-dump-log --cluster-metadata-decoder`), "
            "and the elections of controllers since the acknowledgement."
        ),
    ),
    over="inspections",
    where=(
        "not unclear and ((deleted and there) or (not deleted and (not there or partitions < wanted or "
        "retention != wanted_retention)))"
    ),
    time="time",
    live=NotLive("The row of an earlier change with an unknown outcome may come later."),
)
