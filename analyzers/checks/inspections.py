"""A broker that knows a later change of the cluster knows the earlier ones."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Operation, Text
from analyzers.catalogue.live import NotLive
from analyzers.catalogue.subject import TOPIC_NAME

FORGOTTEN_CHANGE = Check(
    anomaly=Anomaly(
        name="forgotten-change",
        family="metadata",
        rank=10,
        subject=TOPIC_NAME,
        evidence={
            "process": Number("the process that asked"),
            "op": Operation("its inspection"),
            "node": Number("the broker that answered"),
            "expected": Text("what had been acknowledged"),
            "reported": Text("what the broker reported"),
        },
        sentence="description(s) of a topic that lack an acknowledged change",
        definition=(
            "After the last change of a topic had been acknowledged, a client created another topic, the marker. A "
            "broker that reported the marker did not report the topic in the same answer although its last "
            "creation had been acknowledged, reported it although its deletion was the last change, reported fewer "
            "partitions than the last creation or enlargement had stated, or reported another value of retention.ms "
            "than the last change of it; counted per topic, broker and inspection. A topic does not count if any "
            "change of it has an unknown outcome, or was under way."
        ),
        means=(
            "A topic was created, deleted, enlarged or configured, the controller acknowledged that, and a broker "
            "that knows of later changes does not report it."
        ),
        promised=(
            "In KRaft mode, all changes of the cluster are records of one log, which a quorum of controllers holds "
            "and every broker replays in order. An acknowledged change is committed there and stays. The controller "
            "of ZooKeeper mode deletes topics in the background; nothing is judged there."
        ),
        causes=(
            "Controllers that lost their metadata log; an election of a controller with an older log; a snapshot "
            "that lacks a record; a cache of metadata that is updated in part."
        ),
        look_further=(
            "The metadata log of the broker and of the controllers (`kafka-dump-log --cluster-metadata-decoder`), "
            "and the elections of controllers since the acknowledgement."
        ),
    ),
    over="inspections",
    where=(
        "not unclear and ((deleted and there) or (not deleted and (not there or partitions < wanted or "
        "retention != wanted_retention)))"
    ),
    time="time",
    live=NotLive("The row of an earlier change with an unknown outcome may come later."),
)
