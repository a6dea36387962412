"""The anomalies of a log: what it holds, against what was written."""

from __future__ import annotations

from analyzers.anomalies.anomaly import POLLER, WRITER, Anomaly

LOG: tuple[Anomaly, ...] = (
    Anomaly(
        name="lost-write",
        jepsen="lost-write",
        sentence="acknowledged write(s) missing from the log at the end",
        definition=(
            "An acknowledged send whose value is not in its log at the end; counted per value. Where the "
            "log has a completed final read, that read decides about every send acknowledged before it "
            "began or below the end it was told: its records do not hold the value, and the acknowledged "
            "offset is not below the log start it found. Where it has none (an interrupted run, an imported "
            "history): no poll ever returned the value, and one returned its offset or a later one. "
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
            "An acknowledged send that no completed final read answers for, whose value no poll ever "
            "returned, at an offset beyond everything that polls returned from its log (or with no known "
            "offset); counted per value. It may be late or lost: reading did not get that far."
        ),
        evidence=WRITER
        | {
            "offset": "the offset that was acknowledged",
            "outstanding": "s from the acknowledgement to the run's last record",
        },
    ),
    Anomaly(
        name="expired",
        severity="unknown",
        sentence="acknowledged write(s) that the log dropped from its start before anybody read them",
        definition=(
            "An acknowledged send below the log start that the completed final read found, whose value no "
            "poll ever returned; counted per value. Retention or a deletion of records took it: that it "
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
            "acknowledgements, unless all of it is an offset-reuse; counted per offset."
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
        name="offset-reuse",
        jepsen="inconsistent-offsets",
        sentence="offset(s) that were written anew after the log had been cut off",
        definition=(
            "An offset of one log whose value changed in the course of time: of its values, in the order in "
            "which polls and acknowledgements first showed them, each was first seen after the one before it "
            "was last seen, and polled with a later leader epoch than any poll of that one; where that one "
            "was only acknowledged, which tells no epoch, with an epoch above 0; counted per offset. Two "
            "values in one epoch, in turns, or without epochs are inconsistent-offsets."
        ),
        evidence={
            "process": "the process that wrote the value there now",
            "op": "the send of the value there now",
            "offset": "the offset",
            "value": "the value that was there first",
            "other_value": "the value that was there last",
            "epoch": "the leader epoch of the value that was there last",
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
            "A poll of any completion type returned a value whose send completed with fail, that is, surely "
            "did not happen; of a send within a transaction, a poll with isolation.level=read_committed; "
            "counted per value, whereas Jepsen counts per ok read, whatever its isolation."
        ),
        evidence=POLLER | {"offset": "the lowest offset it was polled at"},
    ),
    Anomaly(
        name="foreign-record",
        sentence="record(s) read that were not written to that partition by this run",
        definition=(
            "A polled record whose payload is none of this run, or names another topic-partition than it was "
            "polled from; counted per poll of it."
        ),
        evidence=POLLER
        | {
            "offset": "the offset polled",
            "misrouted": "1: of this run, but of another partition; 0: of no partition of this run",
        },
    ),
    Anomaly(
        name="corrupt-record",
        sentence="record(s) read with a damaged payload",
        definition="A polled record whose payload fails its checksum; counted per poll of it.",
        evidence=POLLER | {"offset": "the offset polled"},
    ),
)
