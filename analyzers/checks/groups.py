"""A partition has one owner in its group, which starts where the group had committed, and only the owner commits."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Moment, Number, Offset, Operation, Span, Value
from analyzers.catalogue.check import BOUND, END, Check, Live, NotLive

DOUBLE_OWNERSHIP = Check(
    anomaly=Anomaly(
        name="double-ownership",
        family="groups",
        rank=10,
        evidence={
            "process": Number("the member's process"),
            "op": Operation("the operation"),
            "generation": Number("its generation"),
            "held": Moment("until when another member owned it for certain"),
        },
        sentence="assignment(s) of a partition that another member of the group still owned",
        definition=(
            "A partition was assigned to a member while another member certainly owned it; counted per "
            "assignment, the later one. A member certainly owns a partition from the completion of its "
            "assignment until the beginning of its next event about the partition or about itself. If that "
            "event says that it lost the partition or was fenced, if there is no such event, or if another "
            "process with its group.instance.id was assigned the partition in the same generation, it "
            "certainly owned the partition only until its last ok commit of that generation before the event. "
            "If the later assignment has another generation, only commits count, and only those that are of no "
            "older generation than any assignment of the partition before them (such a commit is an "
            "unfenced-commit). An assignment of an older generation than one before it was heard of late, and is "
            "compared with those of its own generation only."
        ),
        means="Two members certainly owned a partition at the same time.",
        promised=(
            "An assignment of a generation gives each partition to one member, and a partition changes its "
            "owner only after the former one gave it up or was removed. A removed or paused member may still "
            "believe that it owns the partition while another one owns it in a newer generation, or with its "
            "`group.instance.id`; this is not reported as long as its commits are refused."
        ),
        causes=(
            "A faulty assignor; a coordinator that lost the state of its group and issued a generation twice, "
            "or that assigned a partition before its former owner had given it up."
        ),
        look_further="The `member` rows of both processes; the coordinator's log around the rebalance.",
    ),
    over="ownerships",
    where="began < held",
    time="began",
    live=Live(
        because=(
            "An assignment and the end of the other one in the same generation suffice: the member recorded both in "
            "their order, and has no group.instance.id that another process may have taken over. Where only commits "
            "show it, a row of a newer generation may refute it."
        ),
        per=("op",),
        where="began < surely_held",
    ),
)

ORPHANED_PARTITION = Check(
    anomaly=Anomaly(
        name="orphaned-partition",
        family="groups",
        rank=60,
        evidence={
            "began": Moment("when it lost its owner"),
            "lasted": Span("for how long at least"),
        },
        sentence="time(s) that a partition had no owner although members were alive",
        definition=(
            "A partition that had been assigned before had no owner for longer than the bound that the "
            "experiment states (`Bounds.orphaned`), while at every moment some member of its group was alive: "
            "from its first event to its last event or commit, or until it left; counted per time. A member "
            "counts as the owner from the beginning of the assignment's event to the end of the event that "
            "ended it."
        ),
        means="A partition had no owner for longer than `Bounds(orphaned=...)` although members were alive.",
        promised=(
            "No time. A sensible bound is the session timeout (45 s by default) plus a rebalance. It is never "
            "judged without a bound."
        ),
        causes=(
            "A rebalance that does not end, for example with a member that joins and does not sync; an "
            "assignor that uses an old number of partitions."
        ),
        look_further="The state of the group during that time, and the last owner.",
    ),
    over="orphans",
    where="lasted > {bound}",
    time="began",
    live=BOUND,
    bound="orphaned",
)

GROUP_SKIP = Check(
    anomaly=Anomaly(
        name="group-skip",
        family="groups",
        rank=20,
        evidence={
            "process": Number("the member's process"),
            "op": Operation("the operation"),
            "generation": Number("its generation"),
            "offset": Offset("the first offset skipped"),
            "reached": Offset("the end (exclusive) of what the group had reached"),
            "position": Offset("where the member started to read"),
        },
        sentence="record(s) that a group skipped",
        definition=(
            "A member was assigned a partition at a position above everything that the group had polled, "
            "started to read at, or been reset to before, and in between lies a record that no member ever "
            "polled, although a poll that began after the assignment found it; counted per record and "
            "assignment. If the group reads with isolation.level=read_committed, that poll did so too; otherwise "
            "the record is not of a transaction that was aborted or may have been. A group "
            "that starts for the first time, with auto.offset.reset=earliest and without a commit, has reached "
            "offset 0. Until a commit of the group has taken effect, only members that are recorded with "
            "auto.offset.reset=earliest or none count: with latest, a member starts at the log end. Topics whose "
            "recorded settings allow compaction are left out."
        ),
        means=(
            "The next owner started above everything that the group had polled, or the first owner in the "
            "middle of the log, and no member ever polled the records in between."
        ),
        promised=(
            "The next owner starts where the group committed, and without a commit where "
            "`auto.offset.reset` says: with `earliest` at the log start. Records that were polled but not "
            "committed may be polled twice, but none is left out."
        ),
        causes=(
            "`auto.offset.reset=latest` with an offset that expired or was out of range; "
            "offsets committed before the records were processed; a loss of `__consumer_offsets`."
        ),
        look_further=(
            "The commits before the assignment, and whether the position was a committed one. Deliberate "
            "jumps are recorded as a `commit` with `reset`. Records that retention has removed do not count."
        ),
    ),
    over="handovers",
    where="there and not polled and (stored or policy in ('earliest', 'none'))",
    time="time",
    live=NotLive("Another member of the group may have polled it, in a segment that is still open."),
)

EXCESS_DUPLICATES = Check(
    anomaly=Anomaly(
        name="excess-duplicates",
        family="groups",
        rank=50,
        evidence={
            "process": Number("the process that polled it"),
            "op": Operation("its poll"),
            "generation": Number("its generation"),
            "value": Value("what was polled"),
            "offset": Offset("the offset polled"),
            "committed": Offset("the offset that was committed"),
        },
        sentence="record(s) polled again although the group had committed (it|them)",
        definition=(
            "A member polled, before its first seek in an assignment, an offset that the group had polled "
            "before the assignment was made and that was below an offset whose commit had been acknowledged "
            "before; counted per record and poll. A commit does not count if a reset was under way when the "
            "commit began."
        ),
        means="A member polled again what its group had polled and committed before the assignment.",
        promised="Duplicates after a rebalance reach back to the last acknowledged commit, not further.",
        causes=(
            "Lost or expired committed offsets; a member that starts at the log start on its own. Seeks and "
            "deliberate resets are not reported."
        ),
        look_further="Where the assignment started (`start_offset`), and what was committed then.",
    ),
    over="redeliveries",
    where="offset < committed and first_polled < since",
    time="time",
    live=NotLive("A reset explains them, and another process records the reset when it has ended."),
)

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
