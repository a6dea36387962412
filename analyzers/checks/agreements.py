"""In the end, all brokers describe a partition in the same way."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Span
from analyzers.catalogue.live import SAMPLES
from analyzers.catalogue.suspicion import per_epoch

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
    suspicion=per_epoch(f"kind = 'partition' and is_latest and newer_elsewhere < last - {LIMIT}"),
    live=SAMPLES,
)
