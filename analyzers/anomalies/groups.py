"""The anomalies of consumer groups."""

from __future__ import annotations

from analyzers.anomalies.anomaly import POLLER, Anomaly

MEMBER = {"process": "the member's process", "op": "the operation", "generation": "its generation"}

GROUPS: tuple[Anomaly, ...] = (
    Anomaly(
        name="double-ownership",
        sentence="assignment(s) of a partition that another member of the same generation still owned",
        definition=(
            "A partition was assigned to a member while another member owned it for certain by an assignment of "
            "the same generation; counted per assignment, the later one. A member owns for certain from when it "
            "was told so until its next event about the partition, or about itself, began; where it lost the "
            "partition, was fenced or was never heard of again, only until its last ok commit before that began."
        ),
        evidence=MEMBER | {"held": "until when another member owned it for certain (s)"},
    ),
    Anomaly(
        name="group-skip",
        sentence="record(s) that a group went past without anybody polling them",
        definition=(
            "A member was assigned a partition at a position beyond everything that the group had polled, begun "
            "to read at or been set to on purpose before, and between these lies a record that nobody in the group "
            "ever polled, although a poll that began after the assignment found it; counted per record and "
            "assignment. Where the group reads with isolation.level=read_committed, that poll did so too."
        ),
        evidence=MEMBER
        | {
            "offset": "the first offset skipped",
            "reached": "the end (exclusive) of what the group had reached",
            "position": "where the member began",
        },
    ),
    Anomaly(
        name="commit-regression",
        sentence="acknowledged commit(s) below an earlier one",
        definition=(
            "An ok commit of a lower offset than another ok commit of the group that had completed before it was "
            "invoked; counted per commit, the later one. Commits are compared only where every reset begun "
            "before the end of the later one had completed before the earlier one was invoked."
        ),
        evidence=MEMBER
        | {"offset": "the offset committed", "reached": "the highest offset committed before"},
    ),
    Anomaly(
        name="fenced-commit",
        sentence="commit(s) accepted from a member of an older generation",
        definition=(
            "An ok commit of a generation below the newest one in which the partition had been assigned, to "
            "another process, before the commit was invoked; counted per commit. A newer generation of other "
            "partitions does not count: with the group protocol of KIP-848 members go over one by one."
        ),
        evidence=MEMBER | {"offset": "the offset committed", "newest": "the newest generation"},
    ),
    Anomaly(
        name="excess-duplicates",
        sentence="record(s) polled again although the group had committed them",
        definition=(
            "A member polled, before its first seek in an assignment, an offset that the group had polled "
            "before the assignment was made, and that was below an offset of which a commit had been "
            "acknowledged before; counted per record and poll. A reset that was not over when the commit began "
            "makes it no commit to go by."
        ),
        evidence={
            **POLLER,
            "offset": "the offset polled",
            "generation": "its generation",
            "committed": "the offset that was committed",
        },
    ),
    Anomaly(
        name="orphaned-partition",
        sentence="time(s) that a partition had no owner although members were alive",
        definition=(
            "A partition that had been assigned before had no owner for longer than the bound that the "
            "experiment states (`Bounds.orphaned`), while one member or another was alive without a break: from "
            "its first event to its last event or commit, or until it left; counted per time. A member is "
            "taken for the owner from when the assignment began to be told until its end had been told."
        ),
        evidence={"began": "when nobody owned it (s)", "lasted": "for how long at least (s)"},
    ),
)
