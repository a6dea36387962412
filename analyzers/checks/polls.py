"""What one process polls from a log goes forward and leaves no record out."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Operation, Value
from analyzers.catalogue.live import Live
from analyzers.catalogue.suspicion import per_record
from analyzers.checks.neighbours import GAP_IS_CERTAIN, KEY_OF_BOTH, NOTHING_WAS_REMOVED, STEP_IS_CERTAIN

_NEIGHBOURS = {
    "process": Number("the process that polled it"),
    "op": Operation("its poll"),
    "offset": Offset("the offset polled"),
    "previous": Offset("the offset polled before it"),
    "value": Value("what was polled"),
}
_STEP = {**_NEIGHBOURS, "key": KEY_OF_BOTH}
_GAP = {
    **_NEIGHBOURS,
    "skipped": Offset("the highest offset between them that was polled", "below"),
}

KEPT = (
    "A member kept a partition if it was assigned it before, and no event between both polls says that it was "
    "assigned it again, that it was revoked or lost, or that the member left the group or was fenced."
)

_STEP_DEFINITION = (
    "A process polled an offset not above the one that it had polled before it, in the same "
    "topic-partition and assignment (a member of a group continues in the next generation with the "
    "partitions that it kept), or not above that of the last record with the same "
    "key, in one generation, by {operation}; counted per record. "
    f"{KEPT}"
)
_GAP_DEFINITION = (
    "A process polled an offset and next a later one, in the same topic-partition and assignment (a "
    "member of a group continues in the next generation with the partitions that it kept), although "
    "some process polled a record between the two, by {operation}; counted per gap. Offsets "
    "at which no process polled a record count as holes (transaction markers, compaction). For polls with "
    "isolation.level=read_committed, so do offsets that no such poll returned (aborted transactions), unless a send "
    "was acknowledged there, in a transaction with its commit, and some poll returned its value there. Jepsen also "
    "takes acknowledged sends for records; here, a write that was never polled is a lost-write. Records that may "
    "have been removed from the beginning of the log (see lost-write) do not count, because a reader then goes on at "
    "the log start. Topics whose recorded settings allow compaction are left out. "
    f"{KEPT}"
)

POLL_SKIP = Check(
    anomaly=Anomaly(
        name="poll-skip",
        family="order",
        rank=10,
        jepsen="poll-skip",
        evidence=_GAP,
        sentence="poll(s) that skipped records",
        definition=_GAP_DEFINITION.format(operation="another operation"),
        means=(
            "A consumer went from one offset to a later one, although another reader got a record between the "
            "two."
        ),
        promised=(
            "Within one assignment, a consumer gets every record of a log. Offsets may be missing: "
            "transaction markers, compaction, and aborted records under `read_committed` leave holes, which "
            "are not reported."
        ),
        causes=(
            "A consumer that silently jumped: `auto.offset.reset` after an out-of-range answer, truncation "
            "without epochs (clients before 2.3), reading from divergent replicas."
        ),
        look_further="Who polled the `skipped` offset, from which broker and in which leader epoch.",
    ),
    over="gaps",
    # Offsets need not be dense (transaction markers, compaction): a gap counts only where a record is known to be.
    # `below` is lower than `offset`, so that it also rules out steps backwards.
    where="f = 'poll' and not within and below > previous",
    time="time",
    suspicion=per_record("f = 'poll' and (offset > previous + 1 or generation is not null)"),
    live=Live(because=f"{GAP_IS_CERTAIN} {NOTHING_WAS_REMOVED}", per=("op", "offset"), if_records_stay=True),
)

NONMONOTONIC_POLL = Check(
    anomaly=Anomaly(
        name="nonmonotonic-poll",
        family="order",
        rank=20,
        jepsen="nonmonotonic-poll",
        evidence=_STEP,
        sentence="poll(s) that went back in the log",
        definition=_STEP_DEFINITION.format(operation="another operation"),
        means=(
            "A consumer got a record at the offset of the record before it or at a lower one; with `key`, "
            "compared with the last record of that key."
        ),
        promised=(
            "Within one assignment, the position only grows. Records of one key in one partition come in "
            "order."
        ),
        causes=(
            "A client that lost its position; an automatic reset; a seek that is missing from the history."
        ),
        look_further="The assignment and the generation of both polls, and the client's log between them.",
    ),
    over="steps",
    where="f = 'poll' and not within and offset <= previous",
    time="time",
    suspicion=per_record("f = 'poll' and (offset <= previous or generation is not null)"),
    live=Live(because=STEP_IS_CERTAIN, per=("op", "offset")),
)

INT_POLL_SKIP = Check(
    anomaly=Anomaly(
        name="int-poll-skip",
        family="order",
        rank=30,
        jepsen="int-poll-skip",
        evidence=_GAP,
        sentence="gap(s) inside one poll where records were skipped",
        definition=_GAP_DEFINITION.format(operation="the same operation"),
        means="The same as poll-skip, between two records of one poll operation.",
        promised="One poll returns consecutive records of a partition.",
        causes="A defect in fetching or in merging fetched batches; a fetch from two replicas.",
        look_further="As for poll-skip. The application cannot interfere within one poll.",
    ),
    over="gaps",
    where="f = 'poll' and within and below > previous",
    time="time",
    suspicion=per_record("f = 'poll' and within and offset > previous + 1"),
    live=Live(because=f"{GAP_IS_CERTAIN} {NOTHING_WAS_REMOVED}", per=("op", "offset"), if_records_stay=True),
)

INT_NONMONOTONIC_POLL = Check(
    anomaly=Anomaly(
        name="int-nonmonotonic-poll",
        family="order",
        rank=40,
        jepsen="int-nonmonotonic-poll",
        evidence=_STEP,
        sentence="record(s) that went back in the log inside one poll",
        definition=_STEP_DEFINITION.format(operation="the same operation"),
        means="The same as nonmonotonic-poll, between two records of one poll operation.",
        promised="One poll returns the records of a partition in order.",
        causes="A defect in fetching; batches that overlap after a truncation.",
        look_further="As for nonmonotonic-poll.",
    ),
    over="steps",
    where="f = 'poll' and within and offset <= previous",
    time="time",
    suspicion=per_record("f = 'poll' and offset <= previous"),
    live=Live(because=STEP_IS_CERTAIN, per=("op", "offset")),
)
