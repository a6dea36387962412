"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
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
                "1: of this run, but of another partition; 0: of no partition of this run",
                "if(error = 'misrouted', 1, 0)",
            ),
        },
        sentence="record(s) read that were not written to that partition by this run",
        definition=(
            "A polled record whose payload is none of this run, or names another topic-partition than "
            "it was polled from; counted per poll of it."
        ),
        means=(
            "A record was read that this run did not write to that partition: of another run, of a "
            "stranger, or (`misrouted`) of another partition of this run."
        ),
        promised="A log holds what was written to it.",
        causes=(
            "A topic that is not fresh; somebody else writing; directories mixed up on a broker; a "
            "topic deleted and made again under one name while clients hold the old id."
        ),
        look_further="The payload, topic ids, and what else used the cluster.",
    ),
    over="steps",
    where="error = 'foreign' or error = 'misrouted'",
    time="time",
    suspicion=per_record("error = 'foreign' or error = 'misrouted'"),
    live="a row says so by itself",
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
        definition="A polled record whose payload fails its checksum; counted per poll of it.",
        means="A record's payload does not match its checksum.",
        promised=(
            "Batches carry a CRC, which brokers check when they are written and consumers when they are read."
        ),
        causes="Damage after the check: disks, memory; consumers with `check_crcs` off.",
        look_further="The same offset on the other replicas, with the log dump tool.",
    ),
    over="steps",
    where="error = 'corrupt'",
    time="time",
    suspicion=per_record("error = 'corrupt'"),
    live="a row says so by itself",
)
