"""Eligible leader replicas (KIP-966) stand in for the ISR, and for nothing else."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Listing, Number
from analyzers.catalogue.live import SAMPLES

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
