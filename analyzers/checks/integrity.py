"""What is read is undamaged, from this run, and in the partition to which it was written."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.live import Live
from analyzers.catalogue.suspicion import per_record

FOREIGN_RECORD = Check(
    anomaly=Anomaly(
        name="foreign-record",
        family="log",
        rank=90,
        evidence={
            "process": Number("the process that polled it"),
            "op": Operation("its poll"),
            "offset": Offset("the offset polled"),
            "value": Value("what was polled"),
            "misrouted": Number(
                "1: a record of this run from another partition; 0: not a record of this run",
                "if(error = 'misrouted', 1, 0)",
            ),
        },
        sentence="record(s) read that (was|were) not written to that partition by this run",
        definition=(
            "A polled record has a payload that is not of this run, or that names another topic-partition "
            "than the one it was polled from; counted per poll of it."
        ),
        means=(
            "A record was read that this run did not write to that partition: it is of another run, of "
            "another program, or (`misrouted`) of another partition of this run."
        ),
        promised="A log holds only what was written to it.",
        causes=(
            "A topic that is not new; another program that writes to it; mixed-up directories on a broker; a "
            "topic that was deleted and created again under the same name while clients hold the old id."
        ),
        look_further="The payload, topic ids, and other users of the cluster.",
    ),
    over="steps",
    where="error = 'foreign' or error = 'misrouted'",
    time="time",
    suspicion=per_record("error = 'foreign' or error = 'misrouted'"),
    live=Live(because="One row suffices.", per=("op", "offset")),
)

CORRUPT_RECORD = Check(
    anomaly=Anomaly(
        name="corrupt-record",
        family="log",
        rank=100,
        evidence={
            "process": Number("the process that polled it"),
            "op": Operation("its poll"),
            "offset": Offset("the offset polled"),
            "value": Value("what was polled"),
        },
        sentence="record(s) read with a damaged payload",
        definition="A polled record has a payload that fails its checksum; counted per poll of it.",
        means="The payload of a record does not match its checksum.",
        promised="Batches carry a CRC, which brokers check on writing and consumers on reading.",
        causes="Damage after the check, by disks or memory; consumers with `check_crcs` off.",
        look_further="The same offset on the other replicas, with the log dump tool.",
    ),
    over="steps",
    where="error = 'corrupt'",
    time="time",
    suspicion=per_record("error = 'corrupt'"),
    live=Live(because="One row suffices.", per=("op", "offset")),
)
