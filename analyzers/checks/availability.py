"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Moment, Span

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
            "Sends to a partition were under way, and none was acknowledged for longer than the bound "
            "that the experiment states (`Bounds.unavailable`); counted per time. It begins with the "
            "acknowledgement before, or with the first send invoked thereafter, and ends with the "
            "next acknowledgement, or else with the last send. What is shorter than 0.1 s is not told "
            "apart."
        ),
        means=("A partition was sent to and acknowledged nothing for longer than `Bounds(unavailable=...)`."),
        promised=(
            "No time is. An election takes as long as the broker's session (9 s with KRaft, 18 s with "
            "ZooKeeper by default) and a little more; below `min.insync.replicas` no write with "
            "`acks=all` is taken at all."
        ),
        causes=("A leader that is gone or cut off and not yet deposed; too small an ISR; no controller."),
        look_further="Leader, ISR and the faults active then.",
    ),
    over="waits",
    where="lasted > {bound}",
    time="began",
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
            "A partition that had acknowledged a send was sent to after the last fault was healed, "
            "and the first acknowledgement of such a send, or else the last such send, came later "
            "after the heal than the bound that the experiment states (`Bounds.recovery`); counted "
            "per partition."
        ),
        means=(
            "After the last heal a partition took longer than `Bounds(recovery=...)` to acknowledge a "
            "send that was begun since."
        ),
        promised="No time is.",
        causes=(
            "Replicas that have far to catch up; log recovery after an unclean stop; of clients, the "
            "back-off before they connect again and the age of their metadata; TCP, which waits about "
            "as long again as a cut was long."
        ),
        look_further="When leader and ISR were back, against the first acknowledgement.",
    ),
    over="recoveries",
    where="acked_before and lasted > {bound}",
    time="healed",
    bound="recovery",
)
