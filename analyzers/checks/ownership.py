"""A partition has one owner in its group, and is not left without one."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Moment, Number, Operation, Span
from analyzers.catalogue.live import BOUND, Live

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
            "unfenced-commit)."
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
