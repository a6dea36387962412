"""Committed offsets do not go back, and only the current owner commits."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation

COMMIT_REGRESSION = Check(
    anomaly=Anomaly(
        name="commit-regression",
        family="groups",
        rank=30,
        evidence={
            "process": Number("the member's process"),
            "op": Operation("the operation"),
            "generation": Number("its generation"),
            "offset": Offset("the offset committed"),
            "reached": Offset("the highest offset committed before", "committed"),
        },
        sentence="acknowledged commit(s) below an earlier one",
        definition=(
            "An ok commit has a lower offset than another ok commit of the group that had completed before it "
            "was invoked; counted per commit, the later one. Two commits are compared only if every reset "
            "that began before the end of the later one had completed before the earlier one was invoked."
        ),
        means="A commit has a lower offset than one that had been acknowledged before it began.",
        promised=(
            "Commits take effect in order, a member of a former generation is refused, and the next owner "
            "starts at the committed offset. A commit without a generation (`assign`) is never fenced."
        ),
        causes=(
            "A zombie that commits without a generation; a loss of committed offsets, after which the group "
            "started further back."
        ),
        look_further="Who made both commits, in which generation, and `excess-duplicates` near it.",
    ),
    over="group_commits",
    where="offset < committed and not reset",
    time="time",
    # Not live: a reset explains it, and another process records the reset.
)

FENCED_COMMIT = Check(
    anomaly=Anomaly(
        name="fenced-commit",
        family="groups",
        rank=40,
        evidence={
            "process": Number("the member's process"),
            "op": Operation("the operation"),
            "generation": Number("its generation"),
            "offset": Offset("the offset committed"),
            "newest": Number("the newest generation"),
        },
        sentence="commit(s) accepted from a member of an older generation",
        definition=(
            "An ok commit has a generation below the newest one in which the partition had been assigned to "
            "another process before the commit was invoked; counted per commit. A newer generation of other "
            "partitions does not count: with the group protocol of KIP-848, members change over one by one."
        ),
        means=(
            "A member's commit for a partition was accepted although the partition had been assigned to "
            "another member in a newer generation."
        ),
        promised="Such a commit is refused (IllegalGeneration, StaleMemberEpoch, FencedMemberEpoch).",
        causes="Commits without a generation or member id; a former coordinator that still serves requests.",
        look_further="Which broker was the coordinator for each of the two.",
    ),
    over="group_commits",
    where="generation < newest and process != newest_process",
    time="time",
    # Not live: the newest generation may turn out to be of the same member.
)
