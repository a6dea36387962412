"""The kinds of lines of which a history as JSON lines consists. The meaning of each is that of
`workloads.history.schema`."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.history.lines.control import CONTROL
from workloads.history.lines.fields import (
    BOOLEAN,
    COUNT,
    INTEGER,
    LOG,
    MILLISECONDS,
    NAME,
    NODE,
    OBJECT,
    OF_CLIENTS,
    OFFSET,
    RECORDS,
    SMALL,
    TEXT,
    TIME,
    TOKEN,
    TOPIC,
    Field,
    Kind,
    choice,
    field,
    inside,
    needed,
)
from workloads.history.lines.workload_kinds import APPLICATIONS, QUEUES, TOPICS

RANGE = (
    field("start_offset", OFFSET, "the first offset to read; absent: unknown"),
    field(
        "end_offset",
        OFFSET,
        "the end of the log (exclusive) that it had to reach; absent: no leader reported it",
    ),
)

COMMITTED = inside(
    "committed", BOOLEAN, "whether it reads with isolation.level=read_committed; absent: it does not"
)

RESET = choice("earliest", "latest", "none")

OF_RECORDS = (
    field("key", INTEGER, "of the record, as a number; absent: it has none"),
    field("tombstone", BOOLEAN, "whether it deletes its key; absent: it does not"),
    field(
        "source", TOKEN, "the value of the record from which it was made; absent: from none", refers="value"
    ),
    field(
        "amount",
        INTEGER,
        "what it adds to its account, which is its log; absent: it is no part of a transfer",
    ),
)

SEND = Kind(
    f="send",
    means=(
        "A client sent a record. A line with type invoke is allowed besides, and needs no completion. "
        "A send in a transaction may have the type of its own acknowledgement: the transaction decides."
    ),
    needs=(
        "a final-read of type ok of its partition, or the verdict is unknown; with a key, a topic line of its topic, "
        "or the file is refused, because compaction may remove records with keys; with transaction, that txn line, "
        "or the file is refused"
    ),
    fields=(
        *OF_CLIENTS,
        TOPIC,
        needed("value", TOKEN, "identifies the record: no other send of the file has it", refers="value"),
        field("partition", COUNT, "required if the type is ok; absent: the client does not know it"),
        field(
            "offset",
            OFFSET,
            "the one that the broker acknowledged",
            unknown="whether writes kept their order, and whether an offset was given twice",
        ),
        field(
            "transaction",
            TOKEN,
            "the op of the txn line to which it belongs; absent: to none",
            refers="operation",
        ),
        field("intended", TIME, "when it was due, of a send at a rate; absent: when it was invoked"),
        field(
            "index",
            OFFSET,
            "its position among those of its process with an equal `invoked`; absent: unknown",
        ),
        *OF_RECORDS,
    ),
)

RECORD = (
    needed("offset", OFFSET, "its offset"),
    field("value", TOKEN, "that of the send which wrote it; absent only with an error", refers="value"),
    field("topic", NAME, "absent: that of the line"),
    field("partition", COUNT, "absent: that of the line"),
    field(
        "error",
        choice("foreign", "corrupt", "misrouted"),
        "foreign: not of this history; corrupt: its payload is damaged; misrouted: its payload names another "
        "partition than the one it was polled from. A value whose send names another one is misrouted in any case",
    ),
    field("leader_epoch", COUNT, "of its batch; absent: unknown"),
    field("node", NODE, "the broker that served it; absent: unknown"),
    field("fetched", TIME, "when the response with it arrived; absent: at the latest with the poll"),
    *OF_RECORDS,
)
"""Fields of each record that a poll returned."""

POLL = Kind(
    f="poll",
    means="A poll returned records.",
    fields=(
        *OF_CLIENTS,
        needed("records", RECORDS, "a list of objects, in the order in which the client got them, see below"),
        field("topic", NAME, "of those records that do not name theirs"),
        field("partition", COUNT, "of those records that do not name theirs"),
        field(
            "committed",
            BOOLEAN,
            "whether the client reads with isolation.level=read_committed",
            unknown="in a history with transactions, whether it had a right to see what it saw",
        ),
        field("final", BOOLEAN, "whether the poll belongs to a final-read; absent: it does not"),
        field(
            "assignment",
            COUNT,
            "a number that grows with each assignment and each seek of the client; absent: it grows with the member "
            "lines of the client about the partition, so every other step back counts as one that nobody asked for",
        ),
        field(
            "generation",
            SMALL,
            "of its assignment, if the client is a member of a group",
            unknown="of a member of a group, whether it owned what it read",
        ),
        field(
            "transaction",
            TOKEN,
            "the op of the txn line in which it was polled; absent: in none",
            refers="operation",
        ),
        field("index", OFFSET, "as for send"),
    ),
)

CLIENTS = (
    SEND,
    POLL,
    Kind(
        f="final-read",
        means=(
            "A new client, after all faults, read a whole partition; ok if it got to the end. What its polls "
            "returned decides which writes are lost."
        ),
        needs="its polls, with final true and the same process, unless there are no records",
        fields=(*OF_CLIENTS, *LOG, *RANGE, COMMITTED),
    ),
    Kind(
        f="read",
        means="A session read a partition from where it last stopped to the end that its leader reported.",
        fields=(
            *OF_CLIENTS,
            *LOG,
            *RANGE,
            COMMITTED,
            inside("node", NODE, "the follower that served it; absent: the leader"),
            inside(
                "snapshot",
                OFFSET,
                "it is a part of this look at all logs, numbered by process; absent: of none",
            ),
        ),
    ),
    Kind(
        f="txn",
        means="A transaction as a whole.",
        fields=(
            *OF_CLIENTS,
            inside("transactional_id", NAME, "the transactional id", required=True),
            inside("outcome", choice("commit", "abort"), "what the client asked for", required=True),
            inside("epoch", INTEGER, "of the producer; absent: unknown"),
            inside("ending", TIME, "when the client asked for the outcome; absent: see requested"),
            inside(
                "requested",
                BOOLEAN,
                "whether the client asked for the outcome; absent: it did so only if ending is there or type is ok. "
                "Where ending is absent of a transaction of type ok, too, nobody knows of those without it",
            ),
        ),
    ),
    Kind(
        f="init",
        means="A producer claimed its transactional id.",
        fields=(
            *OF_CLIENTS,
            inside("transactional_id", NAME, "the transactional id", required=True),
            inside("epoch", INTEGER, "the epoch that it got; absent: unknown"),
            inside("producer_id", INTEGER, "the producer id that it got; absent: unknown"),
        ),
    ),
    Kind(
        f="subscribe",
        means="A client begins to take part in a group; one line for each topic.",
        fields=(*OF_CLIENTS, needed("group", NAME, "the group"), TOPIC),
    ),
    Kind(
        f="member",
        means="An event of a member of a group; assigned, revoked and lost have one line for each partition.",
        fields=(
            *OF_CLIENTS,
            needed("group", NAME, "the group"),
            inside(
                "event",
                choice("assigned", "revoked", "lost", "joined", "left", "fenced"),
                "what",
                required=True,
            ),
            inside("member", TEXT, "the id of the member", required=True),
            field("topic", NAME, "the topic; absent for joined, left and fenced"),
            field("partition", COUNT, "the partition; absent for joined, left and fenced"),
            field("start_offset", OFFSET, "of assigned: the first offset to read; absent: unknown"),
            field("generation", SMALL, "of the group; absent: unknown"),
            inside("auto_offset_reset", RESET, "of the member; absent: unknown"),
            inside("instance", NAME, "group.instance.id; absent: none"),
        ),
    ),
    Kind(
        f="commit",
        means="A member committed a position; one line for each partition.",
        needs="a member line with assigned of its group, or the verdict is unknown",
        fields=(
            *OF_CLIENTS,
            needed("group", NAME, "the group"),
            *LOG,
            needed("end_offset", OFFSET, "the next offset to read"),
            inside("member", TEXT, "the id of the member", required=True),
            field("generation", SMALL, "of the group; absent: unknown"),
            inside(
                "transaction",
                TOKEN,
                "the op of the txn line to which it belongs; absent: to none",
                refers="operation",
            ),
            inside("reset", BOOLEAN, "whether it was set on purpose to another offset than the position"),
            inside(
                "revoked", BOOLEAN, "whether it was sent in a rebalance, for partitions that it takes away"
            ),
            inside("auto", BOOLEAN, "whether the library made it by itself"),
        ),
    ),
    Kind(
        f="rewind",
        means="A reader went back to an offset, and polled again, in another assignment, what it had polled.",
        fields=(*OF_CLIENTS, *LOG, *RANGE),
    ),
    Kind(
        f="position-lost",
        means="The position of a reader, start_offset, is not in its log any more; it goes on at end_offset.",
        fields=(
            *OF_CLIENTS,
            *LOG,
            *RANGE,
            inside("divergence", OFFSET, "the log was truncated, and is as it was read below this offset"),
            inside("log_start", OFFSET, "the start of the log, of which the position is outside"),
            inside("log_end", OFFSET, "the end of the log, of which the position is outside"),
            inside("auto_offset_reset", RESET, "of the reader"),
        ),
    ),
    Kind(
        f="search",
        means="A client asked for the first offset that is not older than the record at start_offset: end_offset.",
        fields=(
            *OF_CLIENTS,
            *LOG,
            *RANGE,
            inside("timestamp", MILLISECONDS, "of the known record, since the epoch", required=True),
            inside("value", TOKEN, "of the known record", required=True, refers="value"),
            inside(
                "found",
                MILLISECONDS,
                "the timestamp of the record that it found; absent: it polled none there",
            ),
        ),
    ),
    *TOPICS,
    *APPLICATIONS,
    *QUEUES,
)

KINDS: Mapping[str, Kind] = {kind.f: kind for kind in (*CLIENTS, *CONTROL)}

MORE: Field = field("more", OBJECT, "more keys of the column value, of an exported run")
"""Of every kind that no record belongs to."""
