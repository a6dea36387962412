"""The kinds of lines that no client writes: faults, settings of topics, samples of brokers, the course of a run."""

from __future__ import annotations

from workloads.history.lines.fields import (
    ANY,
    BOOLEAN,
    COUNT,
    LOG,
    NAME,
    NODE,
    OBJECT,
    OF_OTHERS,
    OFFSET,
    SECONDS,
    SETTINGS,
    SMALL,
    SPANS,
    TEXT,
    TIME,
    TOKEN,
    TOPIC,
    Kind,
    choice,
    field,
    inside,
    list_of,
    needed,
)

CONTROL = (
    Kind(
        f="topic",
        by="harness",
        means="The settings of a topic.",
        fields=(
            *OF_OTHERS,
            TOPIC,
            inside("event", choice("created", "deleted", "recreated"), "absent: created"),
            inside(
                "config",
                SETTINGS,
                'effective settings by name, such as {"cleanup.policy": "compact", "min.compaction.lag.ms": "0"}',
            ),
            inside("id", TEXT, "the topic id; absent: unknown"),
            inside("partitions", COUNT, "their number; absent: unknown"),
            inside("replication_factor", COUNT, "absent: unknown"),
        ),
    ),
    Kind(
        f="fault",
        by="nemesis",
        means="A fault began (inject) or ended (heal).",
        needs="two lines with the same event, and an acknowledged send after the end, or the verdict is unknown",
        fields=(
            *OF_OTHERS,
            needed("fault", NAME, "its name, such as isolate", column="f"),
            field("error", TEXT, "why it is not known to be there, or to be gone; absent: it is known"),
            field("topic", NAME, "the topic that it concerns; absent: none alone"),
            field("partition", COUNT, "the partition that it concerns; absent: none alone"),
            inside("event", NAME, "which fault of the schedule", required=True),
            inside("stage", choice("inject", "heal"), "which of both", required=True),
            inside("target", ANY, "what it was aimed at", required=True),
            inside("effective", BOOLEAN, "whether it was proved to be there, or to be gone", required=True),
            inside("nodes", list_of(NODE), "the brokers that it hit; absent: none"),
            inside("processes", list_of(TOKEN), "the clients that it hit; absent: none", refers="process"),
            inside("evidence", OBJECT, "what proves it"),
            inside("options", OBJECT, "of the fault; absent: its defaults"),
            inside("planned", TIME, "when it was due; absent: it had no time"),
            inside("active", SPANS, "of heal: when the fault was possibly, and when surely active"),
            inside(
                "had_effect",
                BOOLEAN,
                "of heal: whether it showed the effect that inject had not proved in time",
            ),
            inside("removes_records", BOOLEAN, "whether it may remove records that were acknowledged"),
        ),
    ),
    Kind(
        f="sample",
        by="probe",
        means="A broker reported the state of a partition, of the quorum, or of an application's group.",
        fields=(
            needed("time", TIME, "when the response had arrived"),
            field("asked", TIME, "before the request was sent; absent: unknown"),
            field("process", TOKEN, "who asked; absent: nobody in particular", refers="process"),
            field("kind", TEXT, "partition, quorum, settings, group, or another one; absent: partition"),
            field("node", NODE, "the broker that answered; absent: unknown"),
            field("topic", NAME, "the topic"),
            field("partition", COUNT, "the partition"),
            field("leader", NODE, "-1 for none"),
            field("leader_epoch", SMALL, "of the partition, or of the controller"),
            field("isr", list_of(NODE), "the replicas in sync"),
            field("replicas", list_of(NODE), "the replicas as assigned"),
            field("log_start", OFFSET, "of the replica on node"),
            field("high_watermark", OFFSET, "of the replica on node"),
            field("log_end", OFFSET, "of the replica on node"),
            field("last_stable", OFFSET, "of the replica on node"),
            field(
                "connection",
                SMALL,
                "by which node was asked; while it is the same, so is the broker's process",
            ),
            field(
                "value",
                OBJECT,
                "anything else; of kind settings: the effective ones of the topic by name, of which those that are "
                "left out are as before; of kind group: owner, the instance of an application that has the "
                "partition, and position, which its group has committed",
            ),
        ),
    ),
    Kind(
        f="comparison",
        by="harness",
        means="The in-sync replicas of a partition were compared at the end. info: they could not be.",
        fields=(
            *OF_OTHERS,
            *LOG,
            field("error", TEXT, "why they could not be; absent: they were"),
            field("start_offset", OFFSET, "from which; absent: unknown"),
            field("end_offset", OFFSET, "up to which (exclusive); absent: unknown"),
            inside("nodes", list_of(NODE), "the brokers that have them; absent: unknown"),
            inside("equal", OFFSET, "records that are the same on all; absent: unknown"),
            inside("bytes", OFFSET, "of batches that are the same on all; absent: unknown"),
        ),
    ),
    Kind(
        f="divergence",
        by="harness",
        means="The in-sync replicas of a partition differ.",
        fields=(
            *OF_OTHERS,
            *LOG,
            needed("start_offset", OFFSET, "the first offset at which they do"),
            inside("different", OFFSET, "the number of these offsets; absent: unknown"),
            inside("copies", OBJECT, "the record of each broker at the first one, or null; absent: unknown"),
        ),
    ),
    Kind(
        f="phase",
        by="harness",
        means="A phase of the run began: steady, recovery, final, end.",
        needs=(
            "one line for each of the four, or the verdict is unknown. A file without any is not judged by phases"
        ),
        fields=(
            *OF_OTHERS,
            inside("phase", NAME, "which one", required=True),
            inside("skipped", OFFSET, "sends that a rate left out before"),
        ),
    ),
    Kind(
        f="worker",
        by="harness",
        means="A client started or ended.",
        needs=(
            "a line with stopped, crashed or killed for each client that has one with started, or the verdict is "
            "unknown"
        ),
        fields=(
            *OF_OTHERS,
            inside("process", TOKEN, "the client", required=True, refers="process"),
            field("session", TOKEN, "the user for whom it acts; absent: for none", refers="session"),
            inside("role", NAME, "what it does, such as producer", required=True),
            inside(
                "event",
                choice("started", "stopped", "crashed", "killed"),
                "killed: by a fault",
                required=True,
            ),
            inside(
                "poll_limit",
                SECONDS,
                "in which it gets what it can read; absent: it does not poll all logs",
            ),
            inside("reads_own", BOOLEAN, "whether it reads what it wrote"),
            inside(
                "observes",
                BOOLEAN,
                "whether faults of clients spare it: it only watches, or begins once the load has stopped",
            ),
            inside("acks", TEXT, "the setting with which it sends: all, 1 or 0; absent: unknown"),
            inside("config", SETTINGS, "others with which it sends, as Kafka spells them; absent: unknown"),
            inside(
                "config", OBJECT, "other settings with which it sends, as Kafka spells them; absent: unknown"
            ),
            inside("instance", OFFSET, "of an application: the number of its instance"),
            inside("trouble", TEXT, "why it crashed"),
        ),
    ),
    Kind(
        f="recovery",
        by="harness",
        means="Whether all brokers agreed again after the faults.",
        fields=(
            *OF_OTHERS,
            inside("problem", TEXT, "the reason against it; absent: there was none"),
            inside("limit", SECONDS, "for which they were awaited"),
        ),
    ),
    Kind(
        f="problem",
        by="harness",
        means="A step of the run failed: the verdict is unknown.",
        fields=(
            *OF_OTHERS,
            inside("step", NAME, "which one", required=True),
            inside("error", TEXT, "why", required=True),
        ),
    ),
    Kind(
        f="unread",
        by="harness",
        means="The final read of a partition could not begin.",
        fields=(
            *OF_OTHERS,
            TOPIC,
            needed("partition", COUNT, "the partition"),
            inside("reason", TEXT, "why", required=True),
        ),
    ),
)
