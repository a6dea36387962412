"""Replicas in sync have the same records."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Text
from analyzers.catalogue.live import END

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
