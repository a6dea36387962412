"""The anomalies: each one's entry, by its stable name."""

from __future__ import annotations

from collections.abc import Mapping

from analyzers.anomaly import POLLER, SESSION, WRITER, Anomaly, Severity
from analyzers.catalogue_availability import AVAILABILITY
from analyzers.catalogue_groups import GROUPS
from analyzers.catalogue_transactions import TRANSACTIONS

__all__ = ["ANOMALIES", "CATALOGUE", "POLLER", "SESSION", "WRITER", "Anomaly", "Severity", "require_known"]

CATALOGUE: tuple[Anomaly, ...] = (
    Anomaly(
        name="lost-write",
        jepsen="lost-write",
        sentence="acknowledged write(s) missing from the log at the end",
        definition=(
            "An acknowledged send whose value is not in its log at the end; counted per value. Where the "
            "log has a completed final read, that read decides about every send acknowledged before it "
            "began or below the end it was told: its records do not hold the value, and the acknowledged "
            "offset is not below the log start it found. Where it has none (an interrupted run, an imported "
            "history): no ok poll ever returned the value, and one returned its offset or a later one. "
            "Jepsen counts proven info sends too; here only what was acknowledged is a promise."
        ),
        evidence=WRITER | {"offset": "the offset that was acknowledged"},
    ),
    Anomaly(
        name="unseen",
        jepsen="unseen",
        severity="unknown",
        sentence="acknowledged write(s) that nobody read and no reader has passed",
        definition=(
            "An acknowledged send that no completed final read answers for, whose value no ok poll ever "
            "returned, at an offset beyond everything that ok polls returned from its log (or with no known "
            "offset); counted per value. It may be late or lost: reading did not get that far."
        ),
        evidence=WRITER | {"offset": "the offset that was acknowledged"},
    ),
    Anomaly(
        name="expired",
        severity="unknown",
        sentence="acknowledged write(s) that the log dropped from its start before anybody read them",
        definition=(
            "An acknowledged send below the log start that the completed final read found, whose value no "
            "ok poll ever returned; counted per value. Retention or a deletion of records took it: that it "
            "was there before, nobody saw. Allow it where that is meant to happen."
        ),
        evidence=WRITER
        | {"offset": "the offset that was acknowledged", "log_start": "where the log began at the end"},
    ),
    Anomaly(
        name="duplicate",
        jepsen="duplicate",
        sentence="value(s) found at more than one offset of their log",
        definition=(
            "One value at two or more offsets of one log, by polls of any completion type and "
            "acknowledgements; counted per value. A producer that is at-least-once only may do this."
        ),
        evidence=WRITER | {"offset": "the lowest offset", "last_offset": "the highest offset"},
    ),
    Anomaly(
        name="inconsistent-offsets",
        jepsen="inconsistent-offsets",
        sentence="offset(s) that held more than one value",
        definition=(
            "Two or more values at one offset of one log, by polls of any completion type and "
            "acknowledgements; counted per offset. Acknowledged writes that were lost are often replaced "
            "by others, and then show here as well."
        ),
        evidence={
            "process": "the process that wrote the other value",
            "op": "the send of the other value",
            "offset": "the offset",
            "value": "the smallest value there",
            "other_value": "the largest value there",
        },
    ),
    Anomaly(
        name="nonmonotonic-poll",
        jepsen="nonmonotonic-poll, int-nonmonotonic-poll",
        sentence="poll(s) that went back in the log",
        definition=(
            "A process polled an offset not above the one it polled before, in the same topic-partition "
            "and the same assignment; counted per record."
        ),
        evidence=POLLER | {"offset": "the offset polled", "previous": "the offset polled before it"},
    ),
    Anomaly(
        name="poll-skip",
        jepsen="poll-skip, int-poll-skip",
        sentence="poll(s) that jumped over records",
        definition=(
            "A process polled an offset, and next a later one in the same topic-partition and assignment, "
            "although somebody polled a record between the two; counted per jump. Offsets at which nobody "
            "polled anything are no records (transaction markers, compaction). Jepsen also takes "
            "acknowledged sends for records; here a write that nobody polled is a lost-write."
        ),
        evidence=POLLER
        | {
            "offset": "the offset polled",
            "previous": "the offset polled before it",
            "skipped": "the highest offset between them that was polled by somebody",
        },
    ),
    Anomaly(
        name="nonmonotonic-send",
        jepsen="nonmonotonic-send, int-nonmonotonic-send",
        sentence="acknowledged send(s) that landed before an earlier one of the same producer",
        definition=(
            "An acknowledged send whose offset is not above that of the process's acknowledged send to "
            "the same topic-partition before it; counted per send. Only acknowledgements count, whereas "
            "Jepsen also compares info sends that were read."
        ),
        evidence=WRITER
        | {"offset": "the offset acknowledged", "previous": "the offset acknowledged before it"},
    ),
    Anomaly(
        name="read-your-writes",
        sentence="acknowledged write(s) that the writing session then did not find",
        definition=(
            "A session's send was acknowledged, its next completed read of that partition began at or "
            "after the acknowledgement, and until the end of that read the session had not polled the "
            "value; counted per value."
        ),
        evidence=SESSION
        | WRITER
        | {"offset": "the offset that was acknowledged", "read_op": "the read that had to show it"},
    ),
    Anomaly(
        name="session-nonmonotonic-read",
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
        },
    ),
    Anomaly(
        name="phantom-read",
        sentence="value(s) read that nobody wrote there",
        definition=(
            "A poll of any completion type returned an intact value of this run that no send of any type "
            "wrote to that topic-partition; counted per value."
        ),
        evidence=POLLER | {"offset": "the lowest offset it was polled at"},
    ),
    Anomaly(
        name="G1a",
        jepsen="G1a",
        sentence="value(s) read although the write had failed",
        definition=(
            "An ok poll returned a value whose send completed with fail, that is, surely did not happen; of a "
            "send within a transaction, an ok poll with isolation.level=read_committed; counted per value, "
            "whereas Jepsen counts per read, whatever its isolation."
        ),
        evidence=POLLER | {"offset": "the lowest offset it was polled at"},
    ),
    Anomaly(
        name="foreign-read",
        sentence="record(s) read from outside this run",
        definition="A polled record whose payload is none of this run; counted per poll of it.",
        evidence=POLLER | {"offset": "the offset polled"},
    ),
    Anomaly(
        name="corrupt-read",
        sentence="record(s) read with a damaged payload",
        definition="A polled record whose payload fails its checksum; counted per poll of it.",
        evidence=POLLER | {"offset": "the offset polled"},
    ),
    Anomaly(
        name="misrouted-read",
        sentence="record(s) read from a partition other than the one written to",
        definition=(
            "A polled record whose payload names another topic-partition than it was polled from; counted "
            "per poll of it."
        ),
        evidence=POLLER | {"offset": "the offset polled"},
    ),
    *TRANSACTIONS,
    *GROUPS,
    *AVAILABILITY,
)

ANOMALIES: Mapping[str, Anomaly] = {anomaly.name: anomaly for anomaly in CATALOGUE}


def require_known(names: object) -> frozenset[str]:
    """The names as a set. Raises ValueError for one that is not in the catalogue."""
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise ValueError(f"allow: expected a collection of anomaly names, got {names!r}")
    wanted = frozenset(names)
    unknown = sorted(map(str, wanted - ANOMALIES.keys()))
    if unknown:
        raise ValueError(f"allow: no anomaly named {', '.join(unknown)}; there are {', '.join(ANOMALIES)}")
    return wanted
