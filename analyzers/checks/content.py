"""A log holds what was written to it: undamaged, not taken back, one record at an offset, and no deleted key."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Number, Offset, Operation, Value
from analyzers.catalogue.check import Check, Live, NotLive

PHANTOM_READ = Check(
    anomaly=Anomaly(
        name="phantom-read",
        family="log",
        rank=70,
        evidence={
            "process": Number("the process that polled it", "poller"),
            "op": Operation("its poll", "poll"),
            "offset": Offset("the lowest offset it was polled at", "polled_offset"),
            "value": Value("what was polled"),
        },
        sentence="value(s) read that (was|were) not written to that partition",
        definition=(
            "A poll of any completion type returned an intact value of this run that no send of any "
            "completion type wrote to that topic-partition; counted per value."
        ),
        means="A value of this run was read, but no send wrote it to that log.",
        promised="Kafka neither invents nor moves records.",
        causes=(
            "An incomplete history, for example a missing file of a producer; otherwise a defect in the "
            "broker or the client."
        ),
        look_further="Whether all segments of the value's writer are in the history.",
    ),
    over="values",
    where="polled and not sent",
    time="polled_at",
    live=NotLive("The send may lie in a segment that is still open, or in one that was left out."),
)

G1A = Check(
    anomaly=Anomaly(
        name="G1a",
        family="log",
        rank=80,
        jepsen="G1a",
        evidence={
            "process": Number("the process that polled it", "poller"),
            "op": Operation("its poll", "poll"),
            "offset": Offset("the lowest offset it was polled at", "polled_offset"),
            "value": Value("what was polled"),
        },
        sentence="value(s) read although the write had failed",
        definition=(
            "A poll of any completion type returned a value whose send completed with fail, which means that "
            "it certainly did not happen. If the send was part of a transaction, only polls with "
            "isolation.level=read_committed count. Counted per value, whereas Jepsen counts per ok read at "
            "any isolation level."
        ),
        means=(
            "A value was read although its write had failed: it was refused, or its transaction was aborted."
        ),
        promised=(
            "A refused send is in no log. An aborted transaction is hidden from `read_committed` readers "
            "(since 0.11)."
        ),
        causes=(
            "An error that leaves open whether the write happened, taken for a refusal (NotLeaderOrFollower "
            "is one). A delayed EndTxn that decides the next transaction of the same producer (KAFKA-17754; "
            "fixed by transaction.version 2, that is, by brokers from 4.0 together with clients that support "
            "it; kafka-python does not)."
        ),
        look_further=(
            "The attempts in the send's error, the outcome of the transaction, and when its end was "
            "requested."
        ),
    ),
    over="values",
    # A read_uncommitted reader may get records of a transaction that aborts later.
    where="failed and polled and (not transactional or read_committed)",
    time="polled_at",
    live=Live(
        because=(
            "Two rows suffice, and more rows only add such pairs: neither the failure of a send nor a read of its "
            "value is ever revised."
        ),
        per=("value",),
    ),
)

FUTURE_READ = Check(
    anomaly=Anomaly(
        name="future-read",
        family="transactions",
        rank=30,
        evidence={
            "process": Number("the process that polled it", "poller"),
            "op": Operation("its poll", "poll"),
            "offset": Offset("the lowest offset it was polled at", "polled_offset"),
            "value": Value("what was polled"),
        },
        sentence="value(s) read before (it was|they were) sent",
        definition=(
            "A poll of any completion type that returned a value had completed before any send of the value "
            "was invoked; counted per value."
        ),
        means="A poll completed before the value that it returned was sent.",
        promised="Causality forbids it in every version. All times are of one clock.",
        causes=(
            "A mistake in a client or in the recording: a value that was used twice, times of two hosts. "
            "Examine these first."
        ),
        look_further="`phantom-read` and `duplicate` of the same value.",
    ),
    over="values",
    where="returned_at < begun_at",
    time="returned_at",
    live=Live(
        because=(
            "Two rows suffice, and more rows only add such pairs: a completion only moves the send to a later time."
        ),
        per=("value",),
    ),
)

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
    live=Live(because="One row suffices.", per=("op", "offset")),
)

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
    live=_ONE_OF_TWO,
)

RISEN_KEY = Check(
    anomaly=Anomaly(
        name="risen-key",
        family="log",
        rank=18,
        evidence={
            "process": Number("the process that polled it"),
            "op": Operation("its poll"),
            "offset": Offset("the offset of the value"),
            "value": Value("what the reader has of the key"),
            "key": Number("the key"),
            "deleted": Offset("the offset of the key's tombstone, behind the value"),
            "passed": Offset("the highest offset that the reader polled after it"),
        },
        sentence="deleted key(s) that a reader still had after it had passed the tombstone",
        definition=(
            "In a topic whose recorded settings allow compaction, the last record of a key, without those of aborted "
            "transactions, is a tombstone, "
            "and a process polled a value of the key below the tombstone and some record above it, in one "
            "assignment (and generation), and no record of the key between the value and the end of that "
            "assignment; counted per key and assignment of a process. Final reads count, too. The tombstone "
            "was acknowledged, or polled by some process; in a transaction of unknown outcome, and for polls with "
            "isolation.level=read_committed: acknowledged, or polled with it. Left out are keys of which a send "
            "with unknown outcome or offset was never polled, because its record may be behind the tombstone, and "
            "tombstones that may have been removed from the beginning of the log (see lost-write)."
        ),
        means=(
            "A reader keeps the value of a key that was deleted, and does not learn of the deletion. In a "
            "final read, the log itself has the value without its tombstone."
        ),
        promised=(
            "A reader that gets from the beginning of a log to its end within `delete.retention.ms` gets all "
            "tombstones. Kafka counts this time from when it first cleaned the log behind the tombstone. When "
            "the tombstone goes, the earlier records of the key are gone."
        ),
        causes=(
            "A `delete.retention.ms` that is shorter than a reader is slow or away, or than a replica lags: "
            "it then has the value and never gets the tombstone; a tombstone that was lost like any other "
            "write; a clock that jumped."
        ),
        look_further=(
            "`delete.retention.ms` of the topic, how long the reader took from the value to `passed`, and "
            "which broker led the partition. `lost-write` of the tombstone."
        ),
    ),
    over="deleted_keys",
    where="offset < deleted and not coalesce(tombstone, false)",
    time="time",
    live=NotLive("A later record of the key may replace the tombstone."),
)
