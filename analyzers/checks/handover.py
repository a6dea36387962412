"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value

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
            "position": Offset("where the member began"),
        },
        sentence="record(s) that a group went past without anybody polling them",
        definition=(
            "A member was assigned a partition at a position beyond everything that the group had "
            "polled, begun to read at or been set to on purpose before, and between these lies a "
            "record that nobody in the group ever polled, although a poll that began after the "
            "assignment found it; counted per record and assignment. Where the group reads with "
            "isolation.level=read_committed, that poll did so too."
        ),
        means=(
            "The next owner began beyond everything the group had polled, and in between lie records "
            "that nobody ever polled."
        ),
        promised=(
            "The next owner begins where the group committed. What was polled and not committed may "
            "be polled twice, but nothing is left out."
        ),
        causes=(
            "`auto.offset.reset=latest` with an offset that expired, was out of range or never "
            "committed; offsets committed before records were processed; a loss of "
            "`__consumer_offsets`."
        ),
        look_further=(
            "The commits before the assignment, and whether the position was a committed one. "
            "Deliberate jumps are recorded as a `commit` with `reset`, and records that are gone "
            "(retention) count for nothing."
        ),
    ),
    over="handovers",
    where="there and not polled",
    time="time",
    # Not live: somebody in the group may have polled it outside the window.
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
        sentence="record(s) polled again although the group had committed them",
        definition=(
            "A member polled, before its first seek in an assignment, an offset that the group had "
            "polled before the assignment was made, and that was below an offset of which a commit "
            "had been acknowledged before; counted per record and poll. A reset that was not over "
            "when the commit began makes it no commit to go by."
        ),
        means="A member polled again what its group had polled and committed before the assignment.",
        promised=(
            "Duplicates after a rebalance reach back to the last commit that was acknowledged, not further."
        ),
        causes=(
            "Lost or expired committed offsets; a member that begins at the log start by itself. "
            "Seeks are told apart, and so are positions that were set back on purpose."
        ),
        look_further="Where the assignment began (`start_offset`) and what was committed then.",
    ),
    over="redeliveries",
    where="offset < committed and first_polled < since",
    time="time",
    # Not live: a reset explains them, and another process writes that down.
)
