"""An application makes of each input what it promises: outputs, copies and aggregates, as often and in order."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Moment, Number, Offset, Operation, Text, Value
from analyzers.catalogue.check import END, Check, NotLive

OWNER = (
    "the instance that had the partition of the input {}, as the coordinator of its group reported it; a member's id "
    "where it is no known instance"
)

MISSING_OUTPUT = Check(
    anomaly=Anomaly(
        name="missing-output",
        family="applications",
        rank=10,
        evidence={
            "value": Value("the input: writer and sequence number"),
            "offset": Offset("the offset of the input"),
            "position": Offset("the position that the application's group had committed; null: unknown"),
            "sink": Text("the topic without an output of it"),
            "fed": Moment("when the input was sent"),
            "gone_on": Moment(
                "when the first output of a later input of its partition was written",
                "next_written",
                optional=True,
            ),
            "owner": Text(
                OWNER.format("when its group's position passed the input"), "passed_by", optional=True
            ),
        },
        since="fed",
        until="gone_on",
        sentence="input(s) that the application passed without an output",
        definition=(
            "A record that the final read found in the source of an application has no output in its sink, and the "
            "application has passed it: it lies below the position that its group had committed in its partition at "
            "the end or, where no position is known, below an input of its partition with an output; counted per "
            "input. The application does not promise at-most-once. An input of a transaction that was aborted or "
            "whose outcome is unknown does not count, unless a final read with read_committed found it, or the "
            "application is known to read uncommitted records. All committed records of the sink were read after it "
            "had ended. The time is that of the commit that passed it or, where none is known, of the next output of "
            "its partition, by its timestamp; the faults are those from its feeding to that output."
        ),
        means="The application went past an input for good, and nothing came of it.",
        promised=(
            "By the application: at-least-once, exactly-once or order-per-key. Kafka redelivers every record above "
            "the committed position."
        ),
        causes=(
            "Positions that are committed before the work is done, as automatic commits do with work that goes on "
            "elsewhere; results of sends that nobody waits for; errors that are logged and skipped; a filter."
        ),
        look_further=(
            "The faults between its feeding and the next output of its partition, and what the owner printed then "
            "(`logs/client-app-*.log`)."
        ),
    ),
    over="inputs",
    where="made = 0 and passed and guarantee in ('at-least-once', 'exactly-once', 'order-per-key')",
    time="coalesce(passed_at, greatest(fed, next_written))",
    live=END,
)

UNPROCESSED_INPUT = Check(
    anomaly=Anomaly(
        name="unprocessed-input",
        family="applications",
        rank=50,
        severity="unknown",
        evidence={
            "value": Value("the input: writer and sequence number"),
            "offset": Offset("the offset of the input"),
            "position": Offset("the position that the application's group had committed; null: unknown"),
            "sink": Text("the topic without an output of it"),
            "owner": Text(OWNER.format("at the end"), "last_by", optional=True),
        },
        sentence="input(s) that the application had not reached at the end",
        definition=(
            "A record that the final read found in the source of an application has no output in its sink, and the "
            "application had not passed it; counted per input. Inputs of transactions count as for missing-output."
        ),
        means="The application was stuck, too slow or gone, so that what becomes of the input is unknown.",
        promised="Nothing about time.",
        causes=(
            "An application that ended or hangs; instances that wait for the session of a killed member to expire, "
            "for longer than `quiet`; a rate that it cannot follow."
        ),
        look_further="What it printed (`logs/client-app-*.log`); a longer `quiet`, a lower `rate`.",
    ),
    over="inputs",
    where="made = 0 and not passed",
    time="fed",
    live=END,
)

DUPLICATE_OUTPUT = Check(
    anomaly=Anomaly(
        name="duplicate-output",
        family="applications",
        rank=20,
        evidence={
            "value": Value("the input: writer and sequence number"),
            "offset": Offset("the offset of the input"),
            "outputs": Number("the number of its outputs", "made"),
            "sink": Text("the topic with its outputs"),
            "first": Text("partition and offset of one", "concat(first.sink_partition, ' at ', first.at)"),
            "second": Text("those of another one", "concat(second.sink_partition, ' at ', second.at)"),
            "fed": Moment("when the input was sent"),
            "made": Moment("when the first one was written", "first.written"),
            "owner": Text(OWNER.format("when the first one was written"), "first_by", optional=True),
            "second_owner": Text(OWNER.format("when the second one was"), "second_by", optional=True),
        },
        since="made",
        sentence="input(s) with more than one output",
        definition=(
            "Two or more committed records in the sink of an application name the same record of its source, which "
            "lies there once; counted per input. The application promises exactly-once or at-most-once. The time is "
            "that of the second output, by its timestamp; the faults are those since the first one."
        ),
        means="An input was processed more than once, and readers of committed records get each result.",
        promised="By the application: exactly-once or at-most-once.",
        causes=(
            "Positions that are committed after the results, outside of their transaction; a crash in between; "
            "a member that goes on after its partitions were given to another one; retries of a producer without "
            "idempotence."
        ),
        look_further="The faults between the two outputs, and what the owners printed then.",
    ),
    over="inputs",
    where="made > 1 and offset = last_offset and guarantee in ('exactly-once', 'at-most-once')",
    time="second.written",
    live=END,
)

REORDERED_OUTPUT = Check(
    anomaly=Anomaly(
        name="reordered-output",
        family="applications",
        rank=30,
        evidence={
            "value": Value("the input: writer and sequence number"),
            "offset": Offset("the offset of the input"),
            "overtaker": Offset("the offset of a later input of the same key whose output comes first"),
            "key": Number("the number of the key"),
            "sink": Text("the topic of the outputs"),
            "output": Text("partition and offset of its output", "concat(sink_partition, ' at ', at)"),
            "fed": Moment("when the input was sent"),
            "owner": Text(OWNER.format("when the output was written"), "written_by", optional=True),
        },
        since="fed",
        sentence="input(s) whose output comes after that of a later one of the same key",
        definition=(
            "The first output of an input in a partition of the sink comes after the first output there of an input "
            "with the same key and a higher offset in the same partition of the source; counted per input and "
            "partition of the sink. The application promises order-per-key. Repetitions do not count. The time is "
            "that of the output, by its timestamp."
        ),
        means="A reader of the output learns of the events of a key in another order than they were fed.",
        promised="By the application: order-per-key. Kafka keeps the order of each partition.",
        causes=(
            "Several sends in flight that are retried without idempotence; work in parallel within a partition; an "
            "input that failed, was set aside and tried again later."
        ),
        look_further="The outputs of the key around it, and the settings of the application's producer.",
    ),
    over="output_order",
    where="is_overtaken",
    time="written",
    live=END,
)

INVENTED_OUTPUT = Check(
    anomaly=Anomaly(
        name="invented-output",
        family="applications",
        rank=40,
        evidence={"offset": Offset("the offset of the output")},
        sentence="output(s) of nothing that was fed",
        definition=(
            "A committed record in the sink of an application names no record of its source, or one that the run did "
            "not send there; counted per record of the sink. Not reported where no output names any input: the run "
            "is then unknown. The time is that of the output, by its timestamp."
        ),
        means="The application wrote something that it did not make from its inputs.",
        promised="By the application: each output belongs to an input.",
        causes=(
            "Records of errors, or of another kind, in the same topic; a token that the application changed; inputs "
            "of another topic. A function `identify` can leave records out."
        ),
        look_further="The record itself: its key, value and headers.",
    ),
    over="strange_outputs",
    where="true",
    time="written",
    live=END,
)

WRONG_AGGREGATE = Check(
    anomaly=Anomaly(
        name="wrong-aggregate",
        family="applications",
        rank=35,
        evidence={
            "key": Text("the key of the inputs"),
            "wrong": Text("what the function aggregate says of them"),
            "inputs": Number("the number of inputs with the key"),
            "outputs": Number("the number of outputs of the key"),
            "sink": Text("the topic of the outputs"),
            "last": Text("partition and offset of the last output", optional=True),
            "fed": Moment("when the first input was sent", optional=True),
        },
        since="fed",
        sentence="key(s) whose outputs are no right aggregate of the inputs",
        definition=(
            "The function `aggregate` of the test says that the outputs of a key are wrong for its inputs, all of "
            "which the application's group had passed at the end; counted per key. All inputs in the source and all "
            "committed records of the sink were read after it had ended. The time is that of the last output, by its "
            "timestamp; the faults are those since the first input."
        ),
        means="A sum, a count or a window has lost inputs, or has some of them twice.",
        promised="By the application: what the function states.",
        causes=(
            "State that is not restored, or restored twice, after a crash; positions that are committed before the "
            "state is stored; retries without idempotence; inputs that come late for their window."
        ),
        look_further="The outputs of the key, from the first wrong one on, and what the application printed then.",
    ),
    over="aggregates",
    where="wrong is not null",
    time="written",
    live=END,
)

LOST_COPY = Check(
    anomaly=Anomaly(
        name="lost-copy",
        family="groups",
        rank=60,
        evidence={
            "process": Number("the member that committed", "passed.process"),
            "op": Operation("its commit", "passed.op"),
            "group": Text("the consumer group"),
            "offset": Offset("the offset of the record without a copy"),
            "value": Value("what was written: writer and sequence number"),
            "position": Offset("the position that the group committed", "passed.position"),
        },
        sentence="record(s) that a group committed and did not copy",
        definition=(
            "A record has no copy by a member of a group that readers get, although the group committed an offset "
            "above it with ok, in a transaction with its commit; counted per group and record. A completed final "
            "read found the record, and it was sent without a transaction, acknowledged, or polled with "
            "isolation.level=read_committed. It lies at or above the lowest offset at which a member began to read. "
            "A group counts if a member of it sent a record with a source. Readers get a copy if its send was "
            "acknowledged, in a transaction with its commit, or if a poll returned it, in a transaction one with "
            "isolation.level=read_committed. Readers do not get a copy whose send failed; or that no poll returned, "
            "although a final read of its partition was completed, and nothing was removed from it; or in a "
            "transaction if a reader of committed records passed its offset without it (see torn-transaction). With "
            "any other copy, nothing is reported. Logs of which the group's position was reset are left out."
        ),
        means=(
            "A group has committed past a record, so that nobody reads it again, and its copy is not in the output."
        ),
        promised=(
            "Copies and positions in one transaction take effect together, since 0.11; since 2.5 (KIP-447) the "
            "members of a group may have transactional ids of their own. Positions that are committed after the "
            "copies were acknowledged lose none either. Positions that are committed before lose copies when a "
            "member crashes."
        ),
        causes=(
            "A commit before the copy was acknowledged; a transaction whose positions were committed and whose "
            "records were aborted; a copier that ignores failed sends."
        ),
        look_further=(
            "The commit that passed the record and its transaction, who polled the record, and "
            "`lost-write` of its copies. A record that no member ever polled is a `group-skip` as well."
        ),
    ),
    over="copies",
    where="kept and passed is not null and offset >= start and not moved and not coalesce(possible, false)",
    time="passed.time",
    live=NotLive("Its copy may be polled later."),
)

DUPLICATE_COPY = Check(
    anomaly=Anomaly(
        name="duplicate-copy",
        family="groups",
        rank=70,
        evidence={
            "process": Number("the process that sent the second copy", "shiftright(second.value, 40)"),
            "op": Operation("its send", "second.value"),
            "group": Text("the consumer group"),
            "offset": Offset("the offset of the record that was copied"),
            "value": Value("what was written: writer and sequence number"),
            "first_copy": Value("the first copy", "first.value"),
            "copies": Number("the number of its copies", "copied"),
        },
        sentence="record(s) with more than one copy by the same group",
        definition=(
            "Members of one group sent two or more copies of one record to one topic, and readers get each of them "
            "(see lost-copy); counted per group and record. Records that were polled at several offsets, which are a "
            "duplicate, and logs of which the group's position was reset are left out."
        ),
        means="A record was copied twice, and readers get both copies.",
        promised=(
            "Copies and positions in one transaction take effect together, and a member that the group has replaced "
            "can commit neither. Without transactions, a crash between the copies and the commit of the positions "
            "repeats the copies."
        ),
        causes=(
            "Positions that are committed outside of the transaction of the copies; members that start before the "
            "transactions of earlier owners are decided, because they do not ask for stable positions; positions "
            "that are sent to a transaction without the membership, so that a zombie is not fenced; lost positions."
        ),
        look_further=(
            "Who sent both copies, in which transactions, and where the second one's assignment had started. With "
            "at-least-once copying, allow this anomaly."
        ),
    ),
    over="copies",
    where="second is not null and not coalesce(moved, false) and not coalesce(offset < last_offset, false)",
    time="second.time",
    live=NotLive("A reset explains it, and another process records the reset when it has ended."),
)
