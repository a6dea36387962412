"""The kinds of lines about share groups, see `workloads.queue`."""

from __future__ import annotations

from workloads.history.lines.fields import LOG, OF_CLIENTS, Kind, field, inside, needed
from workloads.history.lines.types import (
    COUNT,
    ISOLATION,
    LOCK,
    NAME,
    OFFSET,
    TIME,
    TOKEN,
    choice,
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
