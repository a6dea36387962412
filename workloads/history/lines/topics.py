"""The kinds of lines of administrators: they change topics, delete records, and look at what brokers know."""

from __future__ import annotations

from workloads.history.lines.fields import LOG, OF_CLIENTS, TOPIC, Kind, field, inside, needed
from workloads.history.lines.types import (
    BOOLEAN,
    CHANGES,
    COUNT,
    MILLISECONDS,
    NAME,
    NODE,
    OFFSET,
    choice,
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
