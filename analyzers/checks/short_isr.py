"""No acknowledgement with acks=all while too few replicas are in sync."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Listing, Number
from analyzers.catalogue.live import SAMPLES
from analyzers.catalogue.suspicion import per_epoch

LASTING = 2_000_000_000
"""ns. In any finding, the ISR was short for longer."""

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
    suspicion=per_epoch(f"short_for > {LASTING}"),
    live=SAMPLES,
)
