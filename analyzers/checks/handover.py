"""The next owner of a partition starts where its group had committed."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.live import NotLive

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
