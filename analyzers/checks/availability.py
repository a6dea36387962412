"""Partitions acknowledge writes, readers and applications go on, as far as an experiment demands it."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Moment, Number, Offset, Span
from analyzers.catalogue.check import BOUND, Check, NotLive

UNAVAILABLE = Check(
    anomaly=Anomaly(
        name="unavailable",
        family="availability",
        rank=10,
        evidence={
            "began": Moment("when it began"),
            "lasted": Span("how long it lasted"),
        },
        sentence="time(s) that a partition acknowledged nothing for longer than the stated bound",
        definition=(
            "Sends to a partition were under way, and none was acknowledged for longer than the bound that "
            "the experiment states (`Bounds.unavailable`); counted per time. The time begins with the "
            "acknowledgement before, or with the first send invoked after that, and ends with the next "
            "acknowledgement, or with the last send if there is none. A transactional client whose request for a "
            "producer id got no answer counts as if it sent to the partitions that it has sent to before. Times "
            "shorter than 0.1 s are not distinguished."
        ),
        means="A partition was sent to and acknowledged nothing for longer than `Bounds(unavailable=...)`.",
        promised=(
            "No time. An election takes as long as the broker's session (9 s with KRaft, 18 s with ZooKeeper "
            "by default) and a little more. Below `min.insync.replicas`, no write with `acks=all` is accepted "
            "at all."
        ),
        causes="A leader that is gone or cut off but not yet replaced; too small an ISR; no controller.",
        look_further="The leader, the ISR and the active faults at that time.",
    ),
    over="waits",
    where="lasted > {bound}",
    time="began",
    live=BOUND,
    bound="unavailable",
)

SLOW_RECOVERY = Check(
    anomaly=Anomaly(
        name="slow-recovery",
        family="availability",
        rank=20,
        evidence={
            "healed": Moment("when the last fault was healed"),
            "lasted": Span("from then on"),
        },
        sentence=(
            "partition(s) that acknowledged nothing for longer than the stated bound after the last heal"
        ),
        definition=(
            "A partition that had acknowledged a send before the last heal was sent to after it, and the "
            "first acknowledgement of such a send, or the last such send if there is none, came later after "
            "the heal than the bound that the experiment states (`Bounds.recovery`); counted per partition. "
            "Requests for a producer id count as for `unavailable`."
        ),
        means=(
            "After the last heal, a partition took longer than `Bounds(recovery=...)` to acknowledge a send "
            "that was invoked after the heal."
        ),
        promised="No time.",
        causes=(
            "Replicas that are far behind; log recovery after an unclean stop; in clients, the back-off "
            "before they reconnect and the age of their metadata; TCP, whose retransmission may wait about as "
            "long again as a cut lasted."
        ),
        look_further="When the leader and the ISR were restored, compared with the first acknowledgement.",
    ),
    over="recoveries",
    where="acked_before and lasted > {bound}",
    time="healed",
    live=BOUND,
    bound="recovery",
)

SILENT_PARTITION = Check(
    anomaly=Anomaly(
        name="silent-partition",
        family="availability",
        rank=30,
        severity="unknown",
        evidence={
            "healed": Moment("when the last fault was healed"),
            "asked": Moment("when the first send to it began after that"),
            "answered": Moment(
                "when the last send to another partition began that was acknowledged", "answered_elsewhere"
            ),
        },
        sentence="partition(s) that acknowledged nothing after the last fault while others did",
        definition=(
            "Sends to a partition began after the last heal, no send to it was acknowledged after the heal, and a "
            "send to another partition, which began later than the first of these, was; counted per partition. A "
            "send in an aborted transaction counts as acknowledged if its offset is known. Topics that were deleted "
            "and not created again do not count."
        ),
        means=(
            "After the last heal, clients wrote to all of these partitions, and one of them answered none of the "
            "writes. Nothing is known about what it would do with them."
        ),
        promised=(
            "No time. A partition whose leader and enough replicas are there acknowledges writes again, and the run "
            "ended before this one did."
        ),
        causes=(
            "A partition without a leader, or with fewer replicas in sync than `min.insync.replicas`; a leader that "
            "lost its log directory; a producer that is fenced or wedged and is the only one that writes to it."
        ),
        look_further="The leader and the ISR of the partition after the heal, and the errors of the sends.",
    ),
    over="recoveries",
    where="answered is null and asked < answered_elsewhere and not deleted",
    time="asked",
    live=NotLive("The partition may acknowledge a later send, or one that is still under way."),
)

STANDSTILL = Check(
    anomaly=Anomaly(
        name="standstill",
        family="availability",
        rank=40,
        evidence={
            "began": Moment("when it began"),
            "lasted": Span("how long it lasted"),
            "ended": Moment("when it ended", "began + lasted"),
        },
        until="ended",
        sentence="time(s) that an application wrote no output for longer than the stated bound while inputs waited",
        definition=(
            "An application wrote no output of an input of this partition of its source for longer than the bound "
            "that the experiment states (`Bounds.standstill`), while an input waited there whose send was "
            "acknowledged; counted per time. The time begins with the output before, or with the acknowledgement of "
            "the input that waited longest if that came later, and ends with the next output, by its timestamp; "
            "without one, when the outputs were read at the end. Where most outputs have a timestamp before the "
            "acknowledgement of their input, as those of Kafka Streams have, and for aggregates, a committed "
            "position behind the input takes the place of its output. An input without an output that the "
            "application had passed does not wait."
        ),
        means="An application stood still for longer than `Bounds(standstill=...)` while inputs waited.",
        promised=(
            "No time. A killed instance's partitions wait for its session timeout (45 s by default), and a "
            "rebalance; so a sensible bound is a little more than the `session.timeout.ms` of the application."
        ),
        causes=(
            "A session timeout that is long; a rebalance that waits for an instance; a source or a sink without a "
            "leader; a transaction that is left open."
        ),
        look_further="The faults and the owners of the partition at that time, and what the application printed.",
    ),
    over="standstills",
    where="lasted > {bound}",
    time="began",
    live=BOUND,
    bound="standstill",
)

STALLED_READER = Check(
    anomaly=Anomaly(
        name="stalled-reader",
        family="order",
        rank=45,
        severity="unknown",
        evidence={
            "process": Number("the reader"),
            "offset": Offset("the highest offset that it polled"),
            "reached": Offset("the highest offset that another reader or the final read got"),
            "undisturbed": Span("how long others went on without it, at least, while no fault was active"),
            "allowed": Span("how long that may last"),
        },
        sentence="reader(s) of a partition that stopped for good although others read on",
        definition=(
            "A reader got its last record of a log and was stopped by the run only later, and meanwhile others got "
            "records above every offset that it had polled, for longer without interruption than the limit that the "
            "reader states (`WorkerRole.poll_limit`); counted per reader and log. Until the first fault, the limit "
            "is half of the load at most. Faults, the recovery after them, and times in which nobody else got "
            "anything either interrupt. An acknowledgement counts like a record that another reader got, if the "
            "final read got that far. Of the readers with isolation.level=read_committed, only records that another "
            "such reader got count. Left out are members of groups, readers that state no limit, that crashed or "
            "that a fault killed, and readers that lie below the start of the log."
        ),
        means=(
            "A reader got nothing more of a partition and did not end, while others read on. The time is when it got "
            "its last record."
        ),
        promised=(
            "What others can read, each reader can. Kafka promises no time, so this makes a verdict unknown and "
            "never invalid."
        ),
        causes=(
            "A client that waits for a connection or an answer for ever, or that no longer asks for one partition; "
            "a truncation that the reader did not notice, so that it waits at an offset beyond the end; a broker "
            "that does not answer this client; a machine that is too busy."
        ),
        look_further=(
            "The client's log (`logs/client-N.log`) from that time on; whether it also stopped on other partitions "
            "with the same leader; `offset-reuse` on the log; the broker that served its last poll (`node`)."
        ),
    ),
    over="stalls",
    where="undisturbed > allowed and offset + 1 >= log_start",
    time="last",
    live=NotLive("It may go on, and only its end shows how long it could have."),
)
