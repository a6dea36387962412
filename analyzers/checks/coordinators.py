"""What coordinators report of groups and transactions is consistent, and does not go back."""

from __future__ import annotations

from analyzers.catalogue.anomaly import GROUP, TRANSACTIONAL_ID, Anomaly, Number, Offset, Text
from analyzers.catalogue.check import SAMPLES, Check

_SAME_PROCESS = (
    "Answers are compared if the first had arrived before the second was asked for, over the same connection, so "
    "that the same process gave both"
)

GROUP_STATE_CONFLICT = Check(
    anomaly=Anomaly(
        name="group-state-conflict",
        family="groups",
        rank=210,
        subject=GROUP,
        evidence={
            "node": Number("its coordinator"),
            "state": Text("the state that it reported"),
            "members": Number("the number of members in the same answer"),
            "epoch": Number("the group epoch in the same answer", optional=True),
            "assigned": Number(
                "the epoch of the assignment in the same answer", "assigned_epoch", optional=True
            ),
        },
        sentence="answer(s) of a coordinator in which the state of a group contradicts its members or epochs",
        definition=(
            "A coordinator reported a group as Empty or Dead with members, or as Stable, Assigning or Reconciling "
            "without any; or a group of KIP-848 as Stable or Reconciling before its assignment had the epoch of the "
            "group, or as Assigning after that; or an assignment with a higher epoch than the group; counted per "
            "answer."
        ),
        means="The state of a group is not what its members and its assignment say.",
        promised=(
            "A group without members is Empty, or of the classic protocol and waits for members to join. In a group "
            "of KIP-848, each change raises the group epoch; it is Assigning until its assignment has that epoch."
        ),
        causes="A coordinator that applied a change of a group in part.",
        look_further="`double-ownership` and `orphaned-partition`, and the log of the coordinator.",
    ),
    over="group_states",
    where=(
        "state in ('Empty', 'Dead') and members > 0 "
        "or state in ('Stable', 'Assigning', 'Reconciling') and members = 0 "
        "or assigned_epoch > epoch or type = 'consumer' and (state = 'Assigning' and assigned_epoch >= epoch "
        "or state in ('Stable', 'Reconciling') and assigned_epoch < epoch)"
    ),
    time="time",
    live=SAMPLES,
)

GROUP_EPOCH_REGRESSION = Check(
    anomaly=Anomaly(
        name="group-epoch-regression",
        family="groups",
        rank=220,
        subject=GROUP,
        evidence={
            "node": Number("its coordinator"),
            "epoch": Number("the group epoch, or generation, that it reported"),
            "newest": Number("the highest one that it had reported before"),
        },
        sentence="answer(s) of a coordinator with an older epoch of a group than it had reported before",
        definition=(
            "A coordinator reported a lower group epoch than before, or had a lower generation of a group of the "
            f"classic protocol as the newest one in its log; counted per answer. {_SAME_PROCESS}."
        ),
        means="A coordinator forgot a change of a group, and members with the newer epoch are told to start again.",
        promised="Each change of a group raises its epoch. Only a group that is deleted and made again starts again.",
        causes="A group that somebody deleted while it was empty; a coordinator that lost what it had written.",
        look_further="`unclean-truncation`, and the log of the coordinator about `__consumer_offsets`.",
    ),
    over="group_states",
    where="epoch < newest",
    time="time",
    live=SAMPLES,
)

UNEXPLAINED_REBALANCE = Check(
    anomaly=Anomaly(
        name="unexplained-rebalance",
        family="groups",
        rank=225,
        severity="note",
        subject=GROUP,
        evidence={
            "node": Number("its coordinator"),
            "epoch": Number("the new generation"),
            "members": Number("the number of members, the same before and after"),
        },
        sentence="rebalance(s) of groups whose members had not changed, before any fault",
        definition=(
            "A group of the classic protocol got the next generation with the same members, before a fault or a "
            "change of a topic had begun; counted per generation. Groups with a cooperative assignor do not count: "
            "they move partitions in two steps. Generations are those that the coordinator had written to its log, "
            "sampled while the group was Stable."
        ),
        means="All members of the group stopped reading for a moment, without a reason that the history shows.",
        promised=(
            "A group rebalances when a member joins, leaves or fails, when its subscription changes, and when its "
            "topics get more partitions."
        ),
        causes=(
            "A leader of the group that joins again: clients do when their metadata seem to have changed. A member "
            "that came and went between two samples, which are a fifth of a second apart."
        ),
        look_further="The log of the coordinator: it names the member, and why it joined.",
    ),
    over="rebalances",
    where="epoch = earlier + 1 and is_same and not is_excused",
    time="time",
    live=SAMPLES,
)

POSITION_REGRESSION = Check(
    anomaly=Anomaly(
        name="position-regression",
        family="groups",
        rank=230,
        severity="note",
        subject=GROUP,
        evidence={
            "log": Text("the partition"),
            "node": Number("its coordinator"),
            "offset": Offset("the committed position that it reported", "position"),
            "farthest": Offset("the farthest one that it had reported before"),
        },
        sentence="answer(s) of a coordinator with a committed position behind an earlier one",
        definition=(
            "A coordinator reported a committed position of a group behind one that it had reported before, while "
            f"the group had the same members and the same epoch; counted per answer and partition. {_SAME_PROCESS}."
        ),
        means="The group reads some records again after its next rebalance.",
        promised=(
            "Nothing that would forbid it: a member may commit any position, and of two commits over two connections "
            "the older one may arrive last."
        ),
        causes="A member that seeks back; commits without an order, such as asynchronous ones that are repeated.",
        look_further="`commit-regression`, which judges what members committed, and `excess-duplicates`.",
    ),
    over="group_positions",
    where="position < farthest",
    time="time",
    live=SAMPLES,
)

_OF_TRANSACTIONS = {
    "node": Number("its coordinator"),
    "producer": Number("the producer id", "producer_id"),
    "epoch": Number("the producer epoch"),
    "state": Text("the state that it reported"),
}

TRANSACTION_STATE_REGRESSION = Check(
    anomaly=Anomaly(
        name="transaction-state-regression",
        family="transactions",
        rank=210,
        subject=TRANSACTIONAL_ID,
        evidence=_OF_TRANSACTIONS,
        sentence="answer(s) of a coordinator with a transaction that had already ended, or ended otherwise",
        definition=(
            "A coordinator reported a transaction as open after it had reported that it ends, or as ending after it "
            "had reported its end, or with another outcome than before; counted per answer. A transaction is known "
            f"by the producer id and the time of its start. {_SAME_PROCESS}."
        ),
        means="A transaction was decided twice: some partitions may have a commit, and others an abort.",
        promised=(
            "The coordinator writes the decision before it tells the partitions. From then on the outcome is final, "
            "and an ended transaction is never opened again."
        ),
        causes="A coordinator that lost what it had written; two coordinators of one transactional id.",
        look_further="`torn-transaction`, and the log of the coordinator about `__transaction_state`.",
    ),
    over="transaction_states",
    where="step < reached or outcome != decided",
    time="time",
    live=SAMPLES,
)

PRODUCER_EPOCH_REGRESSION = Check(
    anomaly=Anomaly(
        name="producer-epoch-regression",
        family="transactions",
        rank=220,
        subject=TRANSACTIONAL_ID,
        evidence={
            **_OF_TRANSACTIONS,
            "newest": Number("the highest epoch that it had reported before"),
        },
        sentence="answer(s) of a coordinator with an older producer epoch than it had reported before",
        definition=(
            "A coordinator reported a lower epoch of a producer id than before, for the same transactional id; "
            f"counted per answer. {_SAME_PROCESS}."
        ),
        means="A producer that had been fenced may be taken for the newest one again.",
        promised="The epoch of a producer id only grows. When it is exhausted, another producer id takes its place.",
        causes="A coordinator that lost what it had written.",
        look_further="`zombie-write`, and the log of the coordinator about `__transaction_state`.",
    ),
    over="transaction_states",
    where="epoch < newest",
    time="time",
    live=SAMPLES,
)
