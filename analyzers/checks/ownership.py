"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Moment, Number, Operation, Span

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
        sentence="assignment(s) of a partition that another member of the same generation still owned",
        definition=(
            "A partition was assigned to a member while another member owned it for certain by an "
            "assignment of the same generation; counted per assignment, the later one. A member owns "
            "for certain from when it was told so until its next event about the partition, or about "
            "itself, began; where it lost the partition, was fenced or was never heard of again, only "
            "until its last ok commit before that began."
        ),
        means="Two members owned a partition at the same time in one generation, both for certain.",
        promised=(
            "An assignment of a generation gives each partition to one member. A member that was "
            "paused may believe in an old generation while another owns the partition in a newer one: "
            "that is no finding."
        ),
        causes=("A faulty assignor; a coordinator that lost its group's state and gave a generation twice."),
        look_further="The `member` rows of both processes; the coordinator's log around the rebalance.",
    ),
    over="ownerships",
    where="began < held",
    time="began",
    # Not live: how an assignment ended decides until when it was certainly in force.
)

ORPHANED_PARTITION = Check(
    anomaly=Anomaly(
        name="orphaned-partition",
        family="groups",
        rank=60,
        evidence={
            "began": Moment("when nobody owned it"),
            "lasted": Span("for how long at least"),
        },
        sentence="time(s) that a partition had no owner although members were alive",
        definition=(
            "A partition that had been assigned before had no owner for longer than the bound that "
            "the experiment states (`Bounds.orphaned`), while one member or another was alive without "
            "a break: from its first event to its last event or commit, or until it left; counted per "
            "time. A member is taken for the owner from when the assignment began to be told until "
            "its end had been told."
        ),
        means=(
            "A partition had no owner for longer than `Bounds(orphaned=...)` although members were alive."
        ),
        promised=(
            "No time is; a sensible bound is the session timeout (45 s by default) and a rebalance. "
            "Never judged without one."
        ),
        causes=(
            "A rebalance that does not end, as with a member that joins and does not sync; an "
            "assignor that knows an old number of partitions."
        ),
        look_further="The group's state over the time, and who was the last owner.",
    ),
    over="orphans",
    where="lasted > {bound}",
    time="began",
    bound="orphaned",
)
