"""The kinds of lines that only some workloads have: of administrators, of applications, of share groups.

See `workloads.admin`, `workloads.pipeline` and `workloads.queue`.
"""

from __future__ import annotations

from workloads.history.lines.fields import (
    BOOLEAN,
    CHANGES,
    COUNT,
    ISOLATION,
    LOCK,
    LOG,
    MILLISECONDS,
    NAME,
    NODE,
    OF_CLIENTS,
    OFFSET,
    TEXT,
    TIME,
    TOKEN,
    TOPIC,
    Kind,
    choice,
    field,
    inside,
    needed,
)

TOPICS = (
    Kind(
        f="alter",
        means="An administrator asked for a change of a topic.",
        fields=(
            *OF_CLIENTS,
            TOPIC,
            inside(
                "change",
                choice("create", "delete", "partitions", "config", "replicas"),
                "what changes",
                required=True,
            ),
            inside("partitions", COUNT, "their number after it; absent: as before"),
            inside("retention_ms", MILLISECONDS, "the setting retention.ms after it; absent: as before"),
            inside(
                "config",
                CHANGES,
                'settings after it, such as {"cleanup.policy": "compact"}; null: the brokers\' default again; those '
                "that are left out are as before",
            ),
        ),
    ),
    Kind(
        f="deletion",
        means=(
            "An administrator asked the leader of a log to delete its records below end_offset. Two lines with the "
            "same op: of type info and without an end when the request is sent, and one with the answer. fail: "
            "refused before anything was deleted."
        ),
        fields=(
            *OF_CLIENTS,
            *LOG,
            field("start_offset", OFFSET, "the start of the log before; absent: unknown"),
            needed("end_offset", OFFSET, "the first offset that stays"),
            inside("node", NODE, "the broker that was asked; absent: unknown"),
            inside("low_watermark", OFFSET, "of the answer, if ok"),
        ),
    ),
    Kind(
        f="inspect",
        means="A broker described a topic after it knew all changes.",
        fields=(
            *OF_CLIENTS,
            field("topic", NAME, "the topic; absent with type info: it did not know the changes in time"),
            inside("node", NODE, "the broker", required=True),
            inside("exists", BOOLEAN, "whether it knows the topic; absent: it did not say"),
            inside("partitions", COUNT, "their number; absent: it did not say"),
            inside("retention_ms", MILLISECONDS, "the setting retention.ms; absent: it did not say"),
        ),
    ),
)


APPLICATIONS = (
    Kind(
        f="output",
        means=(
            "A committed record that an application wrote, read after it had ended; one line for each input that it "
            "was made from."
        ),
        fields=(
            *OF_CLIENTS,
            *LOG,
            needed("start_offset", OFFSET, "the offset of the output"),
            inside("source", TOKEN, "the value of the input; absent: of none that is known", refers="value"),
            inside("written", TIME, "its timestamp; absent: it has none"),
        ),
    ),
    Kind(
        f="pipeline",
        means=(
            "What is known of an application at the end, for a partition of its input. info: not all of its outputs "
            "are known."
        ),
        needs="an output line, or the verdict is unknown",
        fields=(
            *OF_CLIENTS,
            *LOG,
            inside("sink", NAME, "the topic of its outputs", required=True),
            inside(
                "guarantee",
                choice("at-least-once", "at-most-once", "exactly-once", "order-per-key", "aggregate"),
                "what it promises",
                required=True,
            ),
            inside(
                "isolation",
                ISOLATION,
                "isolation.level of its consumers; with read_committed it never gets records of transactions that "
                "were aborted; absent: unknown",
            ),
            field("end_offset", OFFSET, "the position that its group had committed; absent: unknown"),
            field("group", NAME, "its group; absent: unknown"),
        ),
    ),
    Kind(
        f="aggregate",
        means=(
            "What an application made of all inputs of a key, judged at the end by a function of its user. The "
            "partition is that of the inputs."
        ),
        fields=(
            *OF_CLIENTS,
            *LOG,
            inside("sink", NAME, "the topic of the outputs", required=True),
            inside("of_key", TEXT, "the key of the inputs", required=True),
            inside("inputs", COUNT, "the number of inputs", required=True),
            inside("outputs", COUNT, "the number of outputs", required=True),
            inside("wrong", TEXT, "what is wrong with them; absent: nothing"),
            inside("fed", TIME, "the timestamp of the first input; absent: it has none"),
            inside("last", TEXT, "partition and offset of the last output; absent: there is none"),
            inside("written", TIME, "its timestamp; absent: it has none"),
        ),
    ),
)


OF_RECORD = (
    *OF_CLIENTS,
    *LOG,
    needed("group", NAME, "the share group"),
    needed("start_offset", OFFSET, "the offset of the record"),
)

QUEUES = (
    Kind(
        f="delivery",
        means="A consumer of a share group got a record in a poll; one line for each record.",
        needs=(
            "a queue line of type ok of its group and partition, and an acknowledgement that was confirmed, or the "
            "verdict is unknown"
        ),
        fields=(
            *OF_RECORD,
            inside("value", TOKEN, "the value of the record; absent: unknown", refers="value"),
            inside("deliveries", COUNT, "how often it was delivered, this time included; absent: unknown"),
            inside("since", TIME, "the earliest time at which it can have been acquired; absent: unknown"),
        ),
    ),
    Kind(
        f="acknowledgement",
        means=(
            "A consumer acknowledged a record. Two lines with the same op: of type info and without an end when the "
            "request is sent, and one with the answer, which is ok if the broker confirmed it. fail: it was not sent."
        ),
        needs="the delivery line that it names, or the file is refused",
        fields=(
            *OF_RECORD,
            inside(
                "delivery",
                TOKEN,
                "the op of the delivery line of the record",
                required=True,
                refers="operation",
            ),
            inside("kind", choice("accept", "release", "reject"), "what it said of it", required=True),
        ),
    ),
    Kind(
        f="queue",
        means="How far a share group had got at the end, in a partition. info: that is not known.",
        fields=(
            *OF_CLIENTS,
            *LOG,
            needed("group", NAME, "the share group"),
            field("end_offset", OFFSET, "all records below are accepted or archived; absent: unknown"),
            inside("lock", LOCK, "the duration of a lock; absent: unknown"),
            inside("delivery_limit", COUNT, "deliveries after which a record is archived; absent: unknown"),
            inside(
                "isolation",
                ISOLATION,
                "share.isolation.level of the group; with read_committed it never gets records of transactions that "
                "were aborted; absent: unknown",
            ),
            inside(
                "began",
                OFFSET,
                "the offset at which the group began: it never has to get a record below; absent: as policy says",
            ),
            inside(
                "policy",
                choice("earliest", "latest"),
                "share.auto.offset.reset of the group. Without began, a group with latest began at the first record "
                "whose acknowledgement a broker confirmed, and at end_offset if there is none; a group with earliest "
                "began at the first record; absent: as earliest",
            ),
        ),
    ),
)
