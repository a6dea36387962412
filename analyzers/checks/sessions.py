"""Whoever goes on from what was seen and written finds it so, whichever client comes next."""

from __future__ import annotations

from analyzers.checks.check import Check

WHO = {"session": "session", "process": "process"}
WRITE = {"op": "op", "offset": "offset", "value": "value"}

READ_YOUR_WRITES = Check(
    anomaly="read-your-writes",
    over="session_writes",
    where="read_end is not null and (seen is null or seen > read_end)",
    time="read_end",
    shows=WHO
    | {
        "op": "value",
        "offset": "offset",
        "value": "value",
        "read_op": "read_op",
        "stale": "read_end - time",
        "behind": "if(offset < end_offset, 0, offset + 1 - end_offset)",
    },
)

MONOTONIC_READS = Check(
    anomaly="monotonic-reads",
    over="session_reads",
    where="end_offset < reached",
    time="time",
    shows=WHO
    | {
        "op": "op",
        "offset": "end_offset",
        "reached": "reached",
        "stale": "time - reached_at",
        "behind": "reached - end_offset",
    },
)

MONOTONIC_WRITES = Check(
    anomaly="monotonic-writes",
    over="session_sends",
    where="offset <= written",
    time="time",
    shows=WHO | WRITE | {"written": "written", "stale": "invoked - written_at", "behind": "written - offset"},
)

WRITES_FOLLOW_READS = Check(
    anomaly="writes-follow-reads",
    over="session_sends",
    where="offset <= read",
    time="time",
    shows=WHO | WRITE | {"read": "read", "stale": "invoked - read_at", "behind": "read - offset"},
)
