"""The anomalies of sessions: what one user finds, whichever client is used."""

from __future__ import annotations

from analyzers.anomalies.anomaly import SESSION, WRITER, Anomaly

OWN = SESSION | WRITER | {"offset": "the offset that was acknowledged"}
BEHIND = {"behind": "the records by which it fell short"}

USERS = (
    "Sessions are those that were declared, with all their processes, and processes without one that both "
    "send and poll. "
)

SESSIONS: tuple[Anomaly, ...] = (
    Anomaly(
        name="read-your-writes",
        sentence="acknowledged write(s) that the writing session then did not find",
        definition=(
            "A session's send was acknowledged, its next completed read of that partition began at or "
            "after the acknowledgement, and until the end of that read the session had not polled the "
            "value; counted per value."
        ),
        evidence=OWN
        | {
            "read_op": "the read that had to show it",
            "stale": "s from the acknowledgement to the end of that read",
            "behind": "the records from the end that the read was told to the write; 0: it read past it",
        },
    ),
    Anomaly(
        name="monotonic-reads",
        sentence="read(s) of a session that ended before what it had already read",
        definition=(
            "A session's completed read was told an end of the log below the end of an earlier completed "
            "read of the session, or below the end of a record that the session had polled before; counted "
            "per read."
        ),
        evidence=SESSION
        | {
            "process": "the process that read",
            "op": "the read",
            "offset": "the end that the read was told (exclusive)",
            "reached": "the end that the session had reached before (exclusive)",
            "stale": "s from when the session had reached that to the beginning of the read",
        }
        | BEHIND,
    ),
    Anomaly(
        name="monotonic-writes",
        sentence="acknowledged write(s) of a session that landed before an earlier one of the session",
        definition=(
            "An acknowledged send of a session whose offset is not above that of another send to the same "
            "topic-partition, by any process of the session, that was acknowledged before this one was "
            f"invoked; counted per send. {USERS}"
            "What one process had in flight at once has its order in nonmonotonic-send."
        ),
        evidence=OWN
        | {
            "written": "the highest offset that the session had been acknowledged before",
            "stale": "s from that acknowledgement to this send's invocation",
        }
        | BEHIND,
    ),
    Anomaly(
        name="writes-follow-reads",
        sentence="acknowledged write(s) of a session that landed before what it had read",
        definition=(
            "An acknowledged send of a session whose offset is not above that of a record that a process of "
            "the session polled from the same topic-partition before the send was invoked; counted per send. "
            f"{USERS}"
        ).strip(),
        evidence=OWN
        | {
            "read": "the highest offset that the session had polled before",
            "stale": "s from when it first had to this send's invocation",
        }
        | BEHIND,
    ),
)
