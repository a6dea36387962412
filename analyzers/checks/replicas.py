"""What leaders report of their logs: high watermarks and ends that only grow, in an epoch and across elections."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Listing, Number, Offset
from analyzers.catalogue.live import SAMPLES
from analyzers.catalogue.suspicion import per_epoch, per_mark, per_sample

SURELY_LED = (
    "An answer counts if the broker called itself the leader in it and, in the same epoch, in its next one."
)

WATERMARK_ABOVE_END = Check(
    anomaly=Anomaly(
        name="watermark-above-end",
        family="replication",
        rank=10,
        evidence={
            "node": Number("the leader"),
            "epoch": Number("its leader epoch", "leader_epoch"),
            "watermark": Offset("the high watermark that it reported", "high_watermark"),
            "offset": Offset("the end of its log, which it reported after that", "log_end"),
        },
        sentence="answer(s) of a leader with a high watermark above the end of its log",
        definition=(
            "A leader was asked for its high watermark, and then for the end of its log, which was below; counted "
            f"per answer. {SURELY_LED}"
        ),
        means="A leader says that records are on all in-sync replicas, and does not have them itself.",
        promised="A high watermark is at most the end of the log, on every replica and at any time.",
        causes="A log that was truncated or damaged without its high watermark; a checkpoint from another log.",
        look_further="`lost-write` and `lost-read` on the same log, and the broker's own log about truncations.",
    ),
    over="watermarks",
    where="high_watermark > log_end",
    time="time",
    suspicion=per_sample("mark > own_end"),
    live=SAMPLES,
)

WATERMARK_REGRESSION = Check(
    anomaly=Anomaly(
        name="watermark-regression",
        family="replication",
        rank=20,
        evidence={
            "node": Number("the leader"),
            "epoch": Number("its leader epoch", "leader_epoch"),
            "watermark": Offset("the high watermark that had been reported", "before"),
            "offset": Offset("the high watermark that it reported then", "high_watermark"),
        },
        sentence="answer(s) of a leader whose high watermark had gone back within its epoch",
        definition=(
            "A leader reported a lower high watermark than a leader of the same epoch had reported in an answer that "
            f"had arrived before this one was asked for; counted per answer. {SURELY_LED}"
        ),
        means="What a leader had given to readers is not yet, or not any more, on all in-sync replicas.",
        promised=(
            "A leader only raises its high watermark. After an election it may lie behind that of the leader before "
            "for a moment, so answers of different epochs are not compared."
        ),
        causes="A log that was truncated under its leader; a broker that recovered in the epoch of its failure.",
        look_further="`lost-read` on the same log, and the process of the broker around that time.",
    ),
    over="watermarks",
    where="high_watermark < before",
    time="time",
    suspicion=per_mark("mark < in_epoch"),
    live=SAMPLES,
)

_OF_LEADERS = {
    "node": Number("the leader"),
    "epoch": Number("its leader epoch", "leader_epoch"),
    "offset": Offset("the end of its log in its first answer", "log_end"),
    "watermark": Offset("up to which the log surely had been on all in-sync replicas", "committed"),
    "isr": Listing("the in-sync replicas before its election, as seen last", "isr_before", optional=True),
}

_SUCCEEDS = (
    "The log of a leader ended, in its first answer, below an offset up to which the log had been on all in-sync "
    "replicas: the highest high watermark that a leader of an earlier epoch had reported before a leader of a later "
    "one was asked, or where a leader between them had less, the end of its log; counted per leader epoch. "
    f"{SURELY_LED}"
)

_OUTSIDE = "coalesce(not array_contains(isr_before, node), false)"

LEADER_BELOW_WATERMARK = Check(
    anomaly=Anomaly(
        name="leader-below-watermark",
        family="replication",
        rank=30,
        evidence=_OF_LEADERS,
        sentence="leader(s) that lack records below an earlier high watermark, with no cause that was observed",
        definition=(
            f"{_SUCCEEDS} No cause was observed: as seen last, the leader had been in the ISR of the epoch before, "
            "no fault that destroys records (power-loss, wipe, corrupt, log-dir-failure) or that elects uncleanly "
            "had begun, and the topic never allowed unclean elections, as far as its settings were seen."
        ),
        means="Records that were on all in-sync replicas, and that readers may have got, are gone.",
        promised=(
            "A record below the high watermark is on every in-sync replica. A leader that is elected from the ISR "
            "has it, and a replica never truncates its log below a high watermark."
        ),
        causes=(
            "A follower that truncates to its own high watermark (protocols before 0.11); a replica that counts as "
            "in sync although it lacks records; a disk that forgets what was written, outside of the run's faults; "
            "in a history without the settings of its topics, an unclean election right after the ISR had shrunk, "
            "which no sample shows."
        ),
        look_further=(
            "The elections in the report, and `lost-write`: with `acks=all`, what is gone had been acknowledged."
        ),
    ),
    over="successions",
    where=f"log_end < committed and not is_excused and not {_OUTSIDE}",
    time="time",
    suspicion=per_epoch("least_end < reached"),
    live=SAMPLES,
)

UNCLEAN_TRUNCATION = Check(
    anomaly=Anomaly(
        name="unclean-truncation",
        family="replication",
        rank=40,
        severity="note",
        evidence=_OF_LEADERS,
        sentence="leader(s) that lack records below an earlier high watermark, for a cause that was observed",
        definition=(
            f"{_SUCCEEDS} The cause was observed: as seen last, the leader had not been in the ISR of the epoch "
            "before, so the election was unclean; or it may have been, because the topic allowed that at some time: "
            "samples do not show an ISR that shrank right before; or a fault that destroys records (power-loss, "
            "wipe, corrupt, log-dir-failure) or that elects uncleanly had begun."
        ),
        means="An election cost records that had been on all in-sync replicas.",
        promised=(
            "Nothing that would forbid it: an unclean election trades records for availability, and no replica "
            "keeps what its disk has lost. Whether clients lost what they were promised, other findings say."
        ),
        causes=(
            "`unclean.leader.election.enable=true`, an election by hand, or the last known leader (KIP-966), which "
            "returns after the ISR had been empty; power loss before the disk had the records; a disk that was "
            "replaced."
        ),
        look_further="`lost-write` and `lost-read`; docs/audit.md says which settings cost records, and when.",
    ),
    over="successions",
    where=f"log_end < committed and (is_excused or {_OUTSIDE})",
    time="time",
    suspicion=per_epoch("least_end < reached"),
    live=SAMPLES,
)
