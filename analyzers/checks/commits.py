"""Committed offsets do not go back or ahead of what was polled, and only the current owner commits."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation
from analyzers.catalogue.live import END, Live, NotLive

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
    live=NotLive("A reset explains it, and another process records the reset when it has ended."),
)

UNFENCED_COMMIT = Check(
    anomaly=Anomaly(
        name="unfenced-commit",
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
    live=Live(
        because=(
            "The own assignments of the process are recorded before its commit, and more rows of other members only "
            "raise the newest generation."
        ),
        per=("op",),
    ),
)

COMMIT_BEYOND_POLLS = Check(
    anomaly=Anomaly(
        name="commit-beyond-polls",
        family="groups",
        rank=25,
        evidence={
            "process": Number("the member's process"),
            "op": Operation("the operation"),
            "generation": Number("its generation"),
            "offset": Offset("the offset committed"),
            "reached": Offset("the end (exclusive) of what the group had reached"),
            "below": Offset("the offset of a record that no member had polled"),
        },
        sentence="commit(s) beyond what the group had polled",
        definition=(
            "An ok commit has an offset above everything that the group had polled, started to read at, or "
            "been reset to, by operations that began before the commit completed, and the record next below "
            "the committed offset was not polled by then, although a poll that began after the commit found "
            "it; counted per commit. If the group reads with isolation.level=read_committed, that poll did so "
            "too; otherwise the record is not of a transaction that was aborted or may have been. Nothing is "
            "reported of a group without polls, starts and resets. Topics whose recorded settings allow compaction "
            "are left out."
        ),
        means="A member committed an offset, and the group had not polled the records below it.",
        promised=(
            "A consumer commits its position, which it moves past a record only when it returns it. If the "
            "member crashes after the commit, every record below the commit had been polled."
        ),
        causes=(
            "A client that commits what it has fetched but not returned; a seek or a reset that is missing "
            "from the history; offsets that were committed for another partition."
        ),
        look_further=(
            "The member's polls before the commit, `group-skip` of the next owner, and whether the member "
            "was fenced meanwhile."
        ),
    ),
    over="commit_reaches",
    where="reached <= below and time < returned",
    time="time",
    live=NotLive("Another member of the group may have polled it, in a segment that is still open."),
)

COMMIT_BEYOND_END = Check(
    anomaly=Anomaly(
        name="commit-beyond-end",
        family="groups",
        rank=27,
        evidence={
            "process": Number("the member's process"),
            "op": Operation("the operation"),
            "generation": Number("its generation"),
            "offset": Offset("the offset committed"),
            "end": Offset("the end of the log that the final read found", "final_end"),
            "reached": Offset("the end (exclusive) of the log that anything shows, at whatever time"),
        },
        sentence="acknowledged commit(s) of a position above the end of the log",
        definition=(
            "An ok commit, which is no reset, has an offset above the end of the log at which the last completed "
            "final read, which began after the commit, found it, and above everything else that shows how far the "
            "log ever reached: records acknowledged or polled, ends of reads, answers of brokers; counted per "
            "commit. A final read of committed records counts only if all transactions of the run have ended."
        ),
        means=(
            "A group committed a position that its partition does not have. The next owner starts out of range, and "
            "goes where `auto.offset.reset` says: it polls everything again, or skips what is written until then."
        ),
        promised=(
            "A consumer commits its position, which is never above the end of the log. The coordinator does not "
            "check it: it stores what the client sends."
        ),
        causes=(
            "An application that computes positions itself, such as one that commits positions of another partition "
            "or topic; positions kept from before the topic was deleted and created again; a truncation of "
            "records that only this member read."
        ),
        look_further=(
            "Where the member took the position from, and whether the topic was created again or its log truncated: "
            "`lost-write`, `unclean-truncation`."
        ),
    ),
    over="commits_above_end",
    where="offset > reached",
    time="time",
    live=END,
)
