"""What brokers report of leaders, epochs and in-sync replicas is consistent, and does not go back."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Listing, Number
from analyzers.catalogue.live import SAMPLES
from analyzers.catalogue.subject import CONTROLLERS
from analyzers.catalogue.suspicion import per_epoch, per_sample

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
    suspicion=per_epoch("kind = 'partition' and lowest_leader < highest_leader"),
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
    suspicion=per_epoch("kind <> 'partition' and lowest_leader < highest_leader"),
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
    suspicion=per_epoch("kind = 'controller' and newer < last"),
    live=SAMPLES,
)

_OUTSIDE = (
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
    where=_OUTSIDE,
    time="time",
    suspicion=per_sample(_OUTSIDE),
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
    suspicion=per_epoch("kind = 'partition' and newer < last"),
    live=SAMPLES,
)
