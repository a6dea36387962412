"""The beginning of a log moves forward only, and only where something removes records."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset
from analyzers.catalogue.live import SAMPLES
from analyzers.catalogue.suspicion import per_epoch, per_mark

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
    suspicion=per_epoch("start > deleted_to"),
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
    suspicion=per_mark("start < start_in_epoch"),
    live=SAMPLES,
)
