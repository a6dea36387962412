"""High watermarks and ends of logs only grow, in an epoch and across elections, and bound what readers get."""

from __future__ import annotations

from analyzers.catalogue.anomaly import REPLICA, Anomaly, Listing, Number, Offset, Operation, Value
from analyzers.catalogue.check import SAMPLES, Check, NotLive

READ_ABOVE_WATERMARK = Check(
    anomaly=Anomaly(
        name="read-above-watermark",
        family="log",
        rank=75,
        evidence={
            "process": Number("the process that polled it"),
            "op": Operation("its poll"),
            "value": Value("what was polled"),
            "offset": Offset("the highest offset polled"),
            "watermark": Offset("the lowest high watermark reported later"),
            "node": Number("the broker that served the poll and reported the high watermark"),
            "epoch": Number("the leader epoch of both", "leader_epoch"),
        },
        sentence="poll(s) that returned records at or above the leader's high watermark",
        definition=(
            "A broker served a record to a poll, and a request for the high watermark that was sent to the same "
            "broker after the response had arrived was answered with the offset of the record or a lower one; "
            "counted per poll of a partition, broker and leader epoch. The broker must have called itself the "
            "leader in the leader epoch of the record, both with this answer and with its next one. So it was "
            "the leader in this epoch all the time: the record was written in that epoch, and a broker's epoch "
            "does not go back. Polls of an unknown broker do not count."
        ),
        means=(
            "A reader got a record before all in-sync replicas had it: later, the same leader in the same epoch "
            "still reported a high watermark that does not include the record."
        ),
        promised=(
            "Consumers read below the high watermark, and a leader's high watermark does not go back within its "
            "epoch. A new leader's may lie behind that of the previous one for a moment, so answers of other "
            "brokers and epochs prove nothing. This holds with any `acks`, and with unclean elections, too."
        ),
        causes="An off-by-one error at the high watermark; a leader that serves what it has not replicated.",
        look_further="`lost-read` on the same log: such a record is lost if the leader fails.",
    ),
    over="leader_polls",
    where="watermark <= offset",
    time="time",
    live=NotLive("The next answer of the broker may lie in a segment that is still open."),
)

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
    live=SAMPLES,
)

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
    live=SAMPLES,
)

_LOOK_FURTHER = "`lost-write` on the same log, and the broker's own log about segments that it deleted."

UNEXPLAINED_LOG_START = Check(
    anomaly=Anomaly(
        name="unexplained-log-start",
        family="replication",
        rank=46,
        evidence={
            "node": Number("the leader"),
            "epoch": Number("its leader epoch", "leader_epoch"),
            "offset": Offset("the start of its log", "log_start"),
            "allowed": Offset("the offset below which records may have been removed", "allowed_to"),
        },
        sentence="answer(s) of a leader whose log starts above all that may have been removed",
        definition=(
            "A leader reported a log start above what retention, faults and requests to delete records can have "
            "removed in this run; counted per answer. Topics do not count that were compacted, limited in bytes or "
            "kept records for less than an hour at any time, or whose settings are unknown; nor do runs with a fault "
            "that changes clocks."
        ),
        means="A log lost its first records, and nothing that was observed removes records.",
        promised="A broker removes records from the beginning of a log by its retention or on request, only.",
        causes=(
            "A replica that starts at the wrong offset after it fell behind; records with timestamps that are older "
            "than the retention; somebody else who deletes records."
        ),
        look_further=_LOOK_FURTHER,
    ),
    over="log_starts",
    where="log_start > allowed_to",
    time="time",
    live=SAMPLES,
)

LOG_START_REGRESSION = Check(
    anomaly=Anomaly(
        name="log-start-regression",
        family="replication",
        rank=47,
        evidence={
            "node": Number("the leader"),
            "epoch": Number("its leader epoch", "leader_epoch"),
            "offset": Offset("the start of its log", "log_start"),
            "newest": Offset("the highest start that it had reported before", "before"),
        },
        sentence="answer(s) of a leader whose log start had gone back within its epoch",
        definition=(
            "A leader reported a lower log start than in an answer of the same epoch that had arrived before this "
            "one was asked for, over the same connection, so by the same process; counted per answer."
        ),
        means="Records that had been removed are back, or a leader forgot what it had removed.",
        promised=(
            "A leader only raises the start of its log. After an election or a restart it may lie lower for a while: "
            "followers learn of it later, and it is written to disk once a minute."
        ),
        causes="A log that was replaced under its leader.",
        look_further=_LOOK_FURTHER,
    ),
    over="log_starts",
    where="log_start < before",
    time="time",
    live=SAMPLES,
)
