"""What a share group makes of its records: each is accepted, none by two at a time, and deliveries are counted."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Moment, Number, Offset, Operation, Text, Value
from analyzers.catalogue.check import END, Check, Live, NotLive

GROUP = Text("the share group")
DELIVERY = {
    "group": GROUP,
    "offset": Offset("the offset of the record"),
    "process": Number("the consumer that got it"),
    "op": Operation("its delivery"),
    "deliveries": Number("the count of deliveries that it got with it", optional=True),
}

QUEUE_LOST = Check(
    anomaly=Anomaly(
        name="queue-lost",
        family="queues",
        rank=10,
        evidence={
            "group": GROUP,
            "value": Value("the record: writer and sequence number"),
            "offset": Offset("the offset of the record"),
            "most": Number("the highest count of deliveries that a consumer got with it; 0: none got it"),
            "delivery_limit": Number("deliveries after which the group archives a record"),
            "unseen": Number(
                "clients that ended, and faults: each may have cost it a delivery that nobody saw"
            ),
            "sent": Moment("when it was sent", optional=True),
            "last": Moment("when it was delivered last", optional=True),
        },
        since="sent",
        sentence="record(s) with which a share group is done, and which no consumer accepted or rejected",
        definition=(
            "A record that the final read found lies below the offset up to which its share group was done with all "
            "records at the end, and no consumer requested that it be accepted or rejected, not even without an "
            "answer; counted per group and record. One below the offset at which the group began does not count, see "
            "added-queue-skip. "
            "Nor does one of a transaction that was aborted or whose outcome is unknown, unless a final read with "
            "read_committed found it, or the group is known to read uncommitted records. Records that may have been "
            "archived because of the limit of deliveries do not count: the highest count that a consumer got, one "
            "for each client that ended by a fault or by itself, and one for each fault, are together below the "
            "limit."
        ),
        means="A queue lost a record: the group never delivers it again, and nobody has processed it.",
        promised=(
            "KIP-932: a record is delivered until it is accepted, rejected or was delivered as often as "
            "group.share.delivery.count.limit, or share.delivery.count.limit of the group, allows. Its state is in "
            "the topic __share_group_state before an acknowledgement is confirmed."
        ),
        causes=(
            "A client that acknowledges what it has not processed, such as implicit acknowledgement with work that "
            "goes on elsewhere; state of the group that was lost; a share.auto.offset.reset that leaves out records."
        ),
        look_further="The deliveries of the record, and of its neighbours, and what their consumers logged then.",
    ),
    over="queued",
    where="reached and most + unseen < delivery_limit",
    time="coalesce(last, sent)",
    live=END,
)

QUEUE_UNFINISHED = Check(
    anomaly=Anomaly(
        name="queue-unfinished",
        family="queues",
        rank=50,
        severity="unknown",
        evidence={
            "group": GROUP,
            "value": Value("the record: writer and sequence number"),
            "offset": Offset("the offset of the record"),
            "most": Number("the highest count of deliveries that a consumer got with it; 0: none got it"),
            "sent": Moment("when it was sent", optional=True),
        },
        sentence="record(s) with which a share group was not done at the end",
        definition=(
            "A record that the final read found does not lie below the offset up to which its share group was done "
            "with all records at the end, and no consumer requested that it be accepted or rejected; counted per "
            "group and record. Those that the group never has to get do not count, see queue-lost."
        ),
        means="The group was too slow, or got nothing any more, so that what becomes of the record is unknown.",
        promised="Nothing about time.",
        causes="A lock of a consumer that ended; a coordinator that is not available; a rate that is too high.",
        look_further="What the consumers did at the end, and the state of the topic __share_group_state.",
    ),
    over="queued",
    where="not reached",
    time="sent",
    live=END,
)

QUEUE_DOUBLE_HOLDER = Check(
    anomaly=Anomaly(
        name="queue-double-holder",
        family="queues",
        rank=20,
        evidence={
            **DELIVERY,
            "rival": Operation("the delivery of another holder of the lock", "rival.op"),
            "rival_process": Number("the consumer of that one", "rival.process"),
            "rival_at": Moment("when it had got the record", "rival.completed"),
        },
        since="rival_at",
        sentence="time(s) that a record was delivered while another consumer had its lock",
        definition=(
            "A consumer of a share group got a record at a moment at which another delivery of it was surely locked: "
            "its poll had returned, its acknowledgement was not requested, and the lock could not have timed out; "
            "and the same is true of the new delivery. Both were acknowledged later; counted per delivery. Only "
            "before the first fault of the run, and the first client that ended: a new leader, and a broker that "
            "loses the connection to a consumer, release its locks."
        ),
        means="Two consumers processed a record at the same time.",
        promised=(
            "KIP-932: an acquired record is delivered to no other consumer until it is released or its lock times "
            "out, after share.record.lock.duration.ms."
        ),
        causes="An error of the broker in the state of its records in flight; a lock that is shorter than it states.",
        look_further="The log of the leader of the partition, and whether the leader changed.",
    ),
    over="deliveries",
    where="rival is not null",
    time="completed",
    live=NotLive("How long a lock lasts is recorded only at the end of the run."),
)

QUEUE_REDELIVERY = Check(
    anomaly=Anomaly(
        name="queue-redelivery",
        family="queues",
        rank=30,
        evidence={
            **DELIVERY,
            "finished": Operation("the delivery that was finished", "finished.op"),
            "finished_by": Number("the consumer of that one", "finished.process"),
            "finished_at": Moment("when its acknowledgement was confirmed", "finished.confirmed"),
            "kind": Text("what it was", "finished.kind"),
        },
        since="finished_at",
        sentence="time(s) that a record was delivered with which the share group was done",
        definition=(
            "A consumer of a share group acquired a record after a broker had confirmed that it is accepted or "
            "rejected; counted per delivery. After the first fault of the run or the first client that ended, the "
            "confirmation has to be 10 s older than the earliest poll that can have acquired it, because a request "
            "that a fault delays may acquire records earlier."
        ),
        means="A record is processed again, although its processing had been confirmed as finished.",
        promised="KIP-932: an accepted record is not delivered again, nor is a rejected one. State is replicated.",
        causes=(
            "State of the group that was lost with the topic __share_group_state, such as with "
            "share.coordinator.state.topic.replication.factor=1 or unclean elections; a reset of the group's offsets."
        ),
        look_further="Which broker was the share coordinator, and what happened to it after the confirmation.",
    ),
    over="deliveries",
    where="finished is not null",
    time="completed",
    live=Live(
        because=(
            "Two deliveries suffice, with an answer that is older than any fault requires: a fault that is recorded "
            "later changes nothing."
        ),
        per=("op",),
        where="finished.confirmed < surely_after",
    ),
)

QUEUE_DELIVERY_COUNT = Check(
    anomaly=Anomaly(
        name="queue-delivery-count",
        family="queues",
        rank=40,
        evidence={
            **DELIVERY,
            "delivery_limit": Number("deliveries after which the group archives a record", optional=True),
            "released": Operation("an earlier delivery that was released", "released.op", optional=True),
            "released_count": Number(
                "the count of deliveries of that one", "released.deliveries", optional=True
            ),
        },
        sentence="time(s) that a record was delivered with a wrong count of deliveries",
        definition=(
            "A consumer of a share group got a record with a count of deliveries below 1 or above the group's limit, "
            "or with one that is not above that of an earlier delivery: one whose release a broker had confirmed "
            "before this one was acquired (after the first fault of the run or the first client that ended: 10 s "
            "before, see queue-redelivery); counted per delivery. Counts may skip numbers: a consumer may end before "
            "it has got what it acquired. They may repeat after a lock that nobody released."
        ),
        means="Poisonous records are delivered too often, or the application cannot rely on the count.",
        promised="KIP-932: the count grows with each delivery; a record with as many as the limit is archived.",
        causes="State of the group that was lost; an error in the broker's state of its records in flight.",
        look_further="The deliveries of the record, and changes of the partition's leader between them.",
    ),
    over="deliveries",
    where="deliveries < 1 or deliveries > delivery_limit or deliveries <= released.deliveries",
    time="completed",
    live=Live(
        because=(
            "A delivery with a count below 1 suffices, or two of which the answer to the first one is older than any "
            "fault requires. The limit is recorded only at the end."
        ),
        per=("op",),
        where="deliveries < 1 or (deliveries <= released.deliveries and released.confirmed < surely_after)",
    ),
)
