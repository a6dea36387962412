"""An offset names one record, for every reader and at all times."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.live import Live
from analyzers.catalogue.suspicion import per_value

_ONE_OF_TWO = Live(
    because=(
        "Two rows suffice, and more rows only add such pairs. Which of the two anomalies it is may show only later."
    ),
    per=("offset",),
    either=frozenset({"inconsistent-offsets", "offset-reuse"}),
)

INCONSISTENT_OFFSETS = Check(
    anomaly=Anomaly(
        name="inconsistent-offsets",
        family="log",
        rank=50,
        jepsen="inconsistent-offsets",
        evidence={
            "process": Number("the process that wrote the other value", "shiftright(high, 40)"),
            "op": Operation("the send of the other value", "high"),
            "offset": Offset("the offset"),
            "value": Value("the smallest value there", "low"),
            "other_value": Value("the largest value there", "high"),
        },
        sentence="offset(s) that held more than one value",
        definition=(
            "Polls of any completion type and acknowledgements show two or more values at one offset of one "
            "log, and it is not an offset-reuse; counted per offset."
        ),
        means=(
            "One offset of a log had two values: in one leader epoch, alternately, or without epochs that "
            "tell them apart."
        ),
        promised=(
            "An offset identifies one record permanently. Replicas that disagree below the high watermark "
            "violate replication itself, whatever the settings."
        ),
        causes=(
            "Divergent replicas (truncation by high watermark in formats before 0.11; races fixed in 3.9.1 "
            "and 4.0.1), damaged disks, a zombie leader that is still being read."
        ),
        look_further=(
            "Which broker served each of the polls, and their leader epochs. If one value simply replaced the "
            "other, it is `offset-reuse`."
        ),
    ),
    over="conflicts",
    where="not reused",
    time="settled",
    suspicion=per_value("shared is not null"),
    live=_ONE_OF_TWO,
)

OFFSET_REUSE = Check(
    anomaly=Anomaly(
        name="offset-reuse",
        family="log",
        rank=60,
        jepsen="inconsistent-offsets",
        evidence={
            "process": Number("the process that wrote the value there now", "shiftright(latest, 40)"),
            "op": Operation("the send of the value there now", "latest"),
            "offset": Offset("the offset"),
            "value": Value("the value that was there first", "earliest"),
            "other_value": Value("the value that was there last", "latest"),
            "epoch": Number("the leader epoch of the value that was there last"),
        },
        sentence="offset(s) that (was|were) written again after the log had been truncated",
        definition=(
            "The value at an offset of one log changed over time. Take its values in the order in which polls "
            "and acknowledgements first showed them: each was first seen after the one before it was last "
            "seen, and was polled with a later leader epoch than any poll of that one. If that one was only "
            "acknowledged, which shows no epoch, the later epoch must be above 0. Counted per offset. Two "
            "values in one epoch, alternating values, and values without epochs are inconsistent-offsets."
        ),
        means=(
            "The log was truncated and written again: an offset had one value and later, under a later leader "
            "epoch, another one for all readers."
        ),
        promised=(
            "With clean elections, a truncation removes only records that no reader got and no `acks=all` "
            "write was acknowledged for. With `acks=1` or unclean elections, it may remove acknowledged "
            "records."
        ),
        causes=(
            "An unclean election, also a requested one; `acks=1` with a leader that died before its followers "
            "had fetched."
        ),
        look_further=(
            "The election between the two epochs. `lost-write` lists what was lost. Consumers that track "
            "epochs (2.3 and later) detect the truncation."
        ),
    ),
    over="conflicts",
    # The log was truncated and written again: all readers agreed on one value first, and on another one later.
    where="reused",
    time="time",
    suspicion=per_value("shared is not null"),
    live=_ONE_OF_TWO,
)
