"""The anomalies of order: a log goes forward for everybody who writes or reads it."""

from __future__ import annotations

from analyzers.anomalies.anomaly import POLLER, WRITER, Anomaly

POLLED = POLLER | {"offset": "the offset polled", "previous": "the offset polled before it"}
SENT = WRITER | {"offset": "the offset acknowledged", "previous": "the offset acknowledged before it"}
KEY = {"key": "the key both records have, where only the order of the key is broken; else null"}
SKIPPED = {"skipped": "the highest offset between them that somebody polled"}

ASSIGNED = (
    "the same topic-partition and assignment (a member of a group goes on in the next generation with the "
    "partitions that it was not assigned anew)"
)
BACK = (
    f"A process polled an offset not above the one it polled before, in {ASSIGNED}, or not above that of "
    "the last record with the same key, in one generation"
)
SKIP = (
    f"A process polled an offset, and next a later one, in {ASSIGNED}, although somebody polled a record "
    "between the two"
)
HOLES = (
    "Offsets at which nobody polled anything are no records (transaction markers, compaction), and with "
    "isolation.level=read_committed neither are those that no such poll returned (aborted transactions). "
    "Jepsen also takes acknowledged sends for records; here a write that nobody polled is a lost-write."
)
SENT_BACK = (
    "An acknowledged send whose offset is not above that of the process's acknowledged send to the same "
    "topic-partition before it, or of its last one there with the same key"
)

ORDER: tuple[Anomaly, ...] = (
    Anomaly(
        name="poll-skip",
        jepsen="poll-skip",
        sentence="poll(s) that jumped over records",
        definition=f"{SKIP}, by another operation; counted per jump. {HOLES}",
        evidence=POLLED | SKIPPED,
    ),
    Anomaly(
        name="nonmonotonic-poll",
        jepsen="nonmonotonic-poll",
        sentence="poll(s) that went back in the log",
        definition=f"{BACK}, by another operation; counted per record.",
        evidence=POLLED | KEY,
    ),
    Anomaly(
        name="int-poll-skip",
        jepsen="int-poll-skip",
        sentence="jump(s) over records inside one poll",
        definition=f"{SKIP}, by the same operation; counted per jump. {HOLES}",
        evidence=POLLED | SKIPPED,
    ),
    Anomaly(
        name="int-nonmonotonic-poll",
        jepsen="int-nonmonotonic-poll",
        sentence="record(s) that went back in the log inside one poll",
        definition=f"{BACK}, by the same operation; counted per record.",
        evidence=POLLED | KEY,
    ),
    Anomaly(
        name="nonmonotonic-send",
        jepsen="nonmonotonic-send",
        sentence="acknowledged send(s) that landed before an earlier one of the same producer",
        definition=(
            f"{SENT_BACK}, of which not both belong to one transaction; counted per send. Only "
            "acknowledgements count, whereas Jepsen also compares info sends that were read."
        ),
        evidence=SENT | KEY,
    ),
    Anomaly(
        name="int-nonmonotonic-send",
        jepsen="int-nonmonotonic-send",
        sentence="acknowledged send(s) that landed before an earlier one of the same transaction",
        definition=f"{SENT_BACK}, both within one transaction; counted per send.",
        evidence=SENT | KEY,
    ),
    Anomaly(
        name="int-send-skip",
        jepsen="int-send-skip",
        severity="note",
        sentence="send(s) of a transaction with records of others before them",
        definition=(
            "Between two successive acknowledged sends of one transaction to one topic-partition lies a "
            "record that somebody polled or was acknowledged; counted per send. Kafka does not promise "
            "otherwise: transactions of several producers interleave."
        ),
        evidence=SENT | {"skipped": "the highest offset between them that holds a record"},
    ),
    Anomaly(
        name="realtime-order",
        sentence="acknowledged send(s) that landed before one acknowledged before they began",
        definition=(
            "An acknowledged send, by any process, whose offset is below that of another send to the same "
            "topic-partition that was acknowledged before this one was invoked; counted per send."
        ),
        evidence=WRITER
        | {
            "offset": "the offset acknowledged",
            "overtaker": "the higher offset that was acknowledged first",
            "stale": "s from that acknowledgement to this send's invocation",
        },
    ),
)
