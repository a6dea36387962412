"""What followers report of their logs: a replica that was in sync keeps what was below a high watermark."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Listing, Number, Offset
from analyzers.catalogue.live import SAMPLES
from analyzers.catalogue.subject import REPLICA
from analyzers.catalogue.suspicion import per_second

REPLICA_BELOW_WATERMARK = Check(
    anomaly=Anomaly(
        name="replica-below-watermark",
        family="replication",
        rank=45,
        subject=REPLICA,
        evidence={
            "leader": Number("the leader that it followed"),
            "epoch": Number("the leader epoch", "leader_epoch"),
            "offset": Offset("the end of its log", "log_end"),
            "watermark": Offset("the high watermark up to which it surely had its log before", "held"),
            "isr": Listing("the in-sync replicas that it named"),
        },
        sentence="answer(s) of in-sync followers that lack records below an earlier high watermark",
        definition=(
            "A broker that counted itself among the in-sync replicas of a partition, and not as its leader, reported "
            "a log that ended below a high watermark up to which it surely had the log before: the leader had "
            "reported that high watermark and, asked at least 1 s later and in the same epoch, named the same "
            "replicas in sync as it does. All that had arrived before the follower was asked; counted per answer. "
            "No cause was observed: no fault that destroys records (power-loss, wipe, corrupt, log-dir-failure) or "
            "that elects uncleanly had begun, the topic never allowed unclean elections, the partition kept its "
            "replicas, and no leader of the log lacked records itself. Only of clusters with a quorum of controllers."
        ),
        means="A replica that may become the leader lacks records that readers may have got.",
        promised=(
            "A record below the high watermark is on every in-sync replica. A follower removes only what its leader "
            "does not have (KIP-101), and a leader that is elected from the ISR has all of it."
        ),
        causes=(
            "A follower that truncates to its own high watermark, or to the wrong epoch (KAFKA-6361); a disk that "
            "forgets what was written, outside of the run's faults."
        ),
        look_further="The broker's log about truncations, and `leader-below-watermark` after the next election.",
    ),
    over="followers",
    where="log_end < held and not is_excused",
    time="time",
    suspicion=per_second("follower_end < held"),
    live=SAMPLES,
)
