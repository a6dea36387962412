"""Checks."""

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
            "An ok commit of a lower offset than another ok commit of the group that had completed "
            "before it was invoked; counted per commit, the later one. Commits are compared only "
            "where every reset begun before the end of the later one had completed before the earlier "
            "one was invoked."
        ),
        means="A commit below one that had been acknowledged before it was begun.",
        promised=(
            "Commits take effect in order, a member of a former generation is refused, and the next "
            "owner begins at what was committed. A commit without a generation (`assign`) is never "
            "fenced."
        ),
        causes=(
            "A zombie committing without a generation; committed offsets lost, so that the group "
            "began again further back."
        ),
        look_further="Who made both commits, in which generation, and `excess-duplicates` next to it.",
    ),
    over="group_commits",
    where="offset < committed and not reset",
    time="time",
    # Not live: a reset explains it, and another process writes that down.
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
            "An ok commit of a generation below the newest one in which the partition had been "
            "assigned, to another process, before the commit was invoked; counted per commit. A newer "
            "generation of other partitions does not count: with the group protocol of KIP-848 "
            "members go over one by one."
        ),
        means=(
            "A member's commit for a partition was accepted although another member had been assigned "
            "it in a newer generation."
        ),
        promised="It is refused (IllegalGeneration, StaleMemberEpoch, FencedMemberEpoch).",
        causes="Commits without generation or member id; a former coordinator that goes on serving.",
        look_further="Which broker was the coordinator for each of the two.",
    ),
    over="group_commits",
    where="generation < newest and process != newest_process",
    time="time",
    # Not live: the newest generation may turn out to be of the same member.
)
