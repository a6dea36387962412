"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.suspicion import per_value

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
            "Two or more values at one offset of one log, by polls of any completion type and "
            "acknowledgements, unless all of it is an offset-reuse; counted per offset."
        ),
        means=(
            "One offset of a log showed two values, in one leader epoch, in turns, or without an "
            "epoch that tells them apart."
        ),
        promised=(
            "An offset names one record for ever. Replicas that disagree below the high watermark "
            "break replication itself, whatever the settings."
        ),
        causes=(
            "Divergent replicas (truncation by high watermark, formats before 0.11; races fixed in "
            "3.9.1 and 4.0.1), damaged disks, a zombie leader that is still being read."
        ),
        look_further=(
            "Which broker served each of the polls, and their leader epochs. When one value simply "
            "replaced the other, it is `offset-reuse`."
        ),
    ),
    over="conflicts",
    where="not reused",
    time="settled",
    suspicion=per_value("shared is not null"),
    live=("two rows that are there; more rows only add such pairs; but which of the two it is, see `EITHER`"),
    live_either=frozenset({"inconsistent-offsets", "offset-reuse"}),
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
        sentence="offset(s) that were written anew after the log had been cut off",
        definition=(
            "An offset of one log whose value changed in the course of time: of its values, in the "
            "order in which polls and acknowledgements first showed them, each was first seen after "
            "the one before it was last seen, and polled with a later leader epoch than any poll of "
            "that one; where that one was only acknowledged, which tells no epoch, with an epoch "
            "above 0; counted per offset. Two values in one epoch, in turns, or without epochs are "
            "inconsistent-offsets."
        ),
        means=(
            "The log was cut off and written anew: the offset held one value, and under a later "
            "leader epoch another, for everybody."
        ),
        promised=(
            "With clean elections only what no reader was shown and no `acks=all` write was "
            "acknowledged for can be cut off. With `acks=1`, or unclean elections, acknowledged "
            "records can."
        ),
        causes=(
            "An unclean election (also one asked for by hand); `acks=1` and a leader that died before "
            "its followers had fetched."
        ),
        look_further=(
            "The election between the two epochs; `lost-write` names what was lost. A consumer that "
            "tracks epochs (2.3 and later) is told of the truncation."
        ),
    ),
    over="conflicts",
    where="reused",
    time="time",
    suspicion=per_value("shared is not null"),
    live=("two rows that are there; more rows only add such pairs; but which of the two it is, see `EITHER`"),
    live_either=frozenset({"inconsistent-offsets", "offset-reuse"}),
)
