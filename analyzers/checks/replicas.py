"""What brokers report of leaders, epochs, replicas and the ISR is consistent, and in-sync replicas are the same."""

from __future__ import annotations

from analyzers.catalogue.anomaly import CONTROLLERS, Anomaly, Listing, Number, Span, Text
from analyzers.catalogue.check import END, SAMPLES, Check

_TWO = {
    "epoch": Number("the epoch", "leader_epoch"),
    "leader": Number("the leader that was named first"),
    "node": Number("the broker that said so; null: ZooKeeper", optional=True),
    "other": Number("the other one"),
    "other_node": Number("the broker that named it first; null: ZooKeeper", optional=True),
}

TWO_LEADERS = Check(
    anomaly=Anomaly(
        name="two-leaders-in-epoch",
        family="replication",
        rank=50,
        evidence=_TWO,
        sentence="leader epoch(s) of which brokers named different leaders",
        definition=(
            "Answers of brokers named two leaders of a partition in one leader epoch; counted per partition and "
            "epoch. Answers without a leader do not count. The time is that of the first answer with the second one."
        ),
        means="Two brokers may both take writes for a partition, and nothing tells their records apart.",
        promised=(
            "Every change of a leader raises the leader epoch, so an epoch has at most one leader. Answers may be "
            "old: two brokers that call themselves leaders in different epochs at one time are normal after a cut."
        ),
        causes="A controller that was replaced and went on; metadata that were restored from a copy.",
        look_further="`controller-conflict`, `offset-reuse`, and the elections in the logs of the controllers.",
    ),
    over="epochs",
    where="kind = 'partition' and other is not null",
    time="time",
    live=SAMPLES,
)

CONTROLLER_CONFLICT = Check(
    anomaly=Anomaly(
        name="controller-conflict",
        family="replication",
        rank=60,
        subject=CONTROLLERS,
        evidence=_TWO,
        sentence="epoch(s) with different controllers",
        definition=(
            "Answers of brokers named two active controllers in one epoch of the quorum, or ZooKeeper had two in one "
            "controller epoch; counted per epoch. The time is that of the first answer that named the second one."
        ),
        means="Two controllers may decide differently about the same partitions.",
        promised=(
            "In KRaft mode a majority of the voters elects the active controller, each votes once in an epoch, and "
            "each keeps its vote on disk. In ZooKeeper mode a broker is elected when it creates `/controller`, and "
            "raises `/controller_epoch` in the same transaction."
        ),
        causes=(
            "A voter that lost its vote with its disk, or that was started twice; voters of two clusters; somebody "
            "else who writes to ZooKeeper."
        ),
        look_further="The logs of the controllers at their transitions to leader, and their `quorum-state` files.",
    ),
    over="epochs",
    where="kind <> 'partition' and other is not null",
    time="time",
    live=SAMPLES,
)

CONTROLLER_REGRESSION = Check(
    anomaly=Anomaly(
        name="controller-regression",
        family="replication",
        rank=65,
        subject=CONTROLLERS,
        evidence={
            "leader": Number("the controller; -1 for none"),
            "epoch": Number("its epoch", "leader_epoch"),
            "newest": Number("the highest epoch that ZooKeeper had returned before"),
        },
        sentence="answer(s) of ZooKeeper with an older controller epoch than before",
        definition=(
            "ZooKeeper returned a lower `/controller_epoch` than in an answer that had arrived before this one was "
            "asked for, in the same session; counted per answer. Only of clusters in ZooKeeper mode: in KRaft mode "
            "a broker may still ask a controller that was replaced."
        ),
        means="Brokers tell an old controller from the active one by this number, and may now obey the old one.",
        promised=(
            "An election raises the epoch, and fails if another one raised it meanwhile. ZooKeeper orders the reads "
            "of one session: none returns an older state than one before it, whichever server answers."
        ),
        causes="ZooKeeper's data that were lost or restored from a copy; somebody else who writes to ZooKeeper.",
        look_further="The logs of the brokers at their elections, and the logs and snapshots of ZooKeeper's nodes.",
    ),
    over="views",
    where="kind = 'controller' and leader_epoch < newest",
    time="time",
    live=SAMPLES,
)

_OUTSIDE_ISR = (
    "kind = 'partition' and leader >= 0 "
    "and (not array_contains(isr, leader) or size(array_except(isr, replicas)) > 0)"
)

LEADER_OUTSIDE_ISR = Check(
    anomaly=Anomaly(
        name="leader-outside-isr",
        family="replication",
        rank=70,
        evidence={
            "node": Number("the broker that answered"),
            "leader": Number("the leader that it named"),
            "epoch": Number("the leader epoch", "leader_epoch"),
            "isr": Listing("the in-sync replicas that it named"),
            "replicas": Listing("the replicas that it named", optional=True),
        },
        sentence="answer(s) with a leader that is not in sync, or an in-sync replica that is none",
        definition=(
            "A broker named a leader that was not among the in-sync replicas of the same answer, or an in-sync "
            "replica that was not among the replicas; counted per answer. Answers without a leader do not count: "
            "with eligible leader replicas (KIP-966) the ISR may be empty then."
        ),
        means="The metadata of a partition contradict themselves.",
        promised=(
            "The ISR is a part of the replicas and contains the leader. An unclean election, and one of the last "
            "known leader (KIP-966), makes the new leader the whole ISR in the same change."
        ),
        causes="A change of a partition that was applied in part; metadata that were restored or edited by hand.",
        look_further="The partition in the metadata log (`kafka-dump-log --cluster-metadata-decoder`).",
    ),
    over="views",
    where=_OUTSIDE_ISR,
    time="time",
    live=SAMPLES,
)

METADATA_REGRESSION = Check(
    anomaly=Anomaly(
        name="metadata-regression",
        family="replication",
        rank=80,
        evidence={
            "node": Number("the broker that answered"),
            "leader": Number("the leader that it named"),
            "epoch": Number("the leader epoch that it named", "leader_epoch"),
            "newest": Number("the highest leader epoch that it had named before"),
        },
        sentence="answer(s) with an older leader epoch than the same broker had named before",
        definition=(
            "A broker named a lower leader epoch of a partition than in an answer that had arrived before this one "
            "was asked for, over the same connection, so by the same process; counted per answer."
        ),
        means="A broker forgot an election that it had known, and sends clients to a leader that was replaced.",
        promised=(
            "A broker applies changes of metadata in their order. In ZooKeeper mode it refuses those of a controller "
            "that was replaced, by the controller's epoch. A broker that is started again may know less for a moment."
        ),
        causes="A controller that was replaced and is still obeyed; a cache that is restored from an older image.",
        look_further="Which controller was active then (`controller-conflict`), and the changes in the broker's log.",
    ),
    over="views",
    where="kind = 'partition' and leader_epoch < newest",
    time="time",
    live=SAMPLES,
)

LIMIT = 10_000_000_000
"""ns. Brokers learn of a change within milliseconds, and one that is busy within seconds."""

METADATA_DISAGREEMENT = Check(
    anomaly=Anomaly(
        name="metadata-disagreement",
        family="replication",
        rank=90,
        severity="unknown",
        evidence={
            "node": Number("the broker that is behind", "behind"),
            "epoch": Number("the lowest leader epoch that a broker named", "oldest"),
            "newest": Number("the highest one"),
            "lasting": Span("for how long no broker had named another one"),
        },
        sentence="partition(s) of which brokers named different leader epochs until the end",
        definition=(
            "The last answers of the brokers that answered until the end named different leader epochs of a "
            "partition, and none of them had named another one for 10 s; counted per partition."
        ),
        means="A broker did not learn of a change until the end of the run, and would serve clients by what it knew.",
        promised="All brokers learn of each change of metadata in the end, without a limit of time.",
        causes="A broker that is cut off from the controllers, or whose thread for metadata has ended with an error.",
        look_further="The log of the broker about its metadata, and whether all faults were healed.",
    ),
    over="agreements",
    where=f"oldest < newest and lasting > {LIMIT}",
    time="time",
    live=SAMPLES,
)

# Not demanded: that eligible replicas are replicas. On Kafka 4.3.0, with min.insync.replicas=2, the ISR [1] and 2
# eligible, a reassignment from [1, 2, 3] to [1] left 2 eligible.
ELIGIBLE_CONFLICT = Check(
    anomaly=Anomaly(
        name="eligible-conflict",
        family="replication",
        rank=72,
        evidence={
            "node": Number("the broker that answered"),
            "epoch": Number("the leader epoch", "leader_epoch"),
            "isr": Listing("the in-sync replicas that it named"),
            "eligible": Listing("the eligible leader replicas that it named"),
            "most": Number(
                "the highest min.insync.replicas of the topic that was seen", "min_isr", optional=True
            ),
        },
        sentence="answer(s) with eligible replicas that are in sync, or beside enough replicas in sync",
        definition=(
            "A broker named an eligible leader replica (KIP-966) that was among the in-sync replicas of the same "
            "answer, or named one although at least as many replicas were in sync as the highest "
            "min.insync.replicas of the topic that was seen in the run; counted per answer. The latter only of runs "
            "in which no fault changed that setting."
        ),
        means="The controller counts on a replica that may lack records which are acknowledged by now.",
        promised=(
            "A replica is eligible after it has left the ISR, while fewer than min.insync.replicas are in sync, for "
            "no high watermark moves then. Each change of the ISR removes those that are in sync, and all of them "
            "once enough are in sync; so does a change of the setting. That they are replicas of the partition is "
            "not promised: a reassignment does not remove them."
        ),
        causes="A change of a partition that was applied in part; metadata that were restored or edited by hand.",
        look_further="The partition in the metadata log (`kafka-dump-log --cluster-metadata-decoder`).",
    ),
    over="eligibles",
    where="size(array_intersect(isr, eligible)) > 0 or size(isr) >= min_isr",
    time="time",
    live=SAMPLES,
)

INELIGIBLE_LEADER = Check(
    anomaly=Anomaly(
        name="ineligible-leader",
        family="replication",
        rank=74,
        evidence={
            "node": Number("the broker that named it first"),
            "leader": Number("the leader"),
            "epoch": Number("its leader epoch", "leader_epoch"),
            "eligible": Listing("the eligible leader replicas before"),
            "last_known": Listing("the last known leader before"),
        },
        sentence="leader(s) that (was|were) elected from an empty ISR without being eligible",
        definition=(
            "In an epoch without a leader, a broker named no replica in sync. The leader of the next epoch was not "
            "among the eligible leader replicas (KIP-966) of each such answer, and not the last known leader. "
            "Neither did the topic allow unclean elections at any time, nor had a fault begun that elects uncleanly; "
            "counted per leader."
        ),
        means="The leader may lack records that were acknowledged, and the other replicas give them up.",
        promised=(
            "With an empty ISR, the controller elects an eligible replica. Without any, it elects the last known "
            "leader, also where unclean elections are not allowed. Replicas that return after an unclean stop are "
            "not eligible any more, and nobody becomes eligible while the ISR is empty."
        ),
        causes=(
            "Somebody else who asked for an unclean election; `unclean.leader.election.enable` in the file of a "
            "controller that is no broker, which brokers do not report."
        ),
        look_further="`lost-write`, `leader-below-watermark`, and the controller's log about its elections.",
    ),
    over="empty_isr_elections",
    where="not is_eligible and not is_excused",
    time="time",
    live=SAMPLES,
)

REPLICA_DIVERGENCE = Check(
    anomaly=Anomaly(
        name="replica-divergence",
        family="replication",
        rank=15,
        evidence={
            "offset": Number("the first offset with a difference"),
            "different": Number("how many offsets differ"),
            "copies": Text("what each broker has there"),
        },
        sentence="partition(s) with in-sync replicas that differ",
        definition=(
            "After all faults were healed and the load had ended, two in-sync replicas of a partition did not "
            "have the same record, bytes and leader epoch, at an offset between the start of the log and the high "
            "watermark; counted per partition. In a compacted log, an offset counts only where both have a record. "
            "Of each broker, segments of up to 1 GiB are compared, those of the smallest partitions first."
        ),
        means="What a consumer reads depends on which broker leads, and will change with the next election.",
        promised=(
            "A follower copies the batches of its leader as they are, and cuts off what its leader does not have, by "
            "leader epochs (KIP-101, KIP-279). Below the high watermark all in-sync replicas are the same."
        ),
        causes=(
            "Truncation to the high watermark in releases before KIP-101; fast failovers before KIP-279; bytes that "
            "changed on a disk; a replica whose log was restored from a copy."
        ),
        look_further=(
            "`kafka-dump-log` of the segments on both brokers, and their `leader-epoch-checkpoint` files; "
            "`offset-reuse` and `lost-write` for what clients saw of it."
        ),
    ),
    over="divergences",
    where="true",
    time="time",
    live=END,
)

ACKS_BELOW_MIN_ISR = Check(
    anomaly=Anomaly(
        name="acks-below-min-isr",
        family="replication",
        rank=48,
        evidence={
            "node": Number("the leader"),
            "epoch": Number("its leader epoch", "leader_epoch"),
            "isr": Listing("the in-sync replicas"),
            "least": Number("the lowest min.insync.replicas of the topic that was seen", "min_isr"),
            "acks": Number("acknowledgements between its answers"),
        },
        sentence="time(s) at which a leader acknowledged writes with acks=all below min.insync.replicas",
        definition=(
            "Between two successive answers of a leader, both with fewer in-sync replicas than the lowest "
            "min.insync.replicas of the topic that was seen in the run, a producer with `acks=all` sent a record and "
            "got its acknowledgement, and again between the two answers before; counted per pair of answers. The ISR "
            "must have stayed short for 2 s more, as the leader's metadata may be a moment behind. Only of clusters "
            "with a quorum of controllers, and of topics whose min.insync.replicas no fault changed."
        ),
        means="Writes were acknowledged that fewer replicas have than the topic demands.",
        promised="With `acks=all`, a leader refuses writes while fewer replicas than that are in sync.",
        causes="A leader that does not know of a shrunk ISR or of the settings of its topic.",
        look_further="`lost-write`, if the leader fails next; the log of the leader about its ISR.",
    ),
    over="acks_in_short_isr",
    where="acks > 0 and acks_before > 0",
    time="time",
    live=SAMPLES,
)
