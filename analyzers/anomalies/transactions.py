"""The anomalies of transactions."""

from __future__ import annotations

from analyzers.anomalies.anomaly import POLLER, WRITER, Anomaly

PART = {
    **WRITER,
    "offset": "the offset that was acknowledged",
    "transaction": "the transaction it belongs to",
}
CYCLE = {
    "transaction": "the transaction of the cycle that began first",
    "other": "the next transaction of a shortest cycle through it",
    "length": "the number of transactions in that cycle",
    "size": "the number of transactions that reach one another",
}
SET = (
    "Transactions that reach one another over edges of these kinds, of which no part does so by fewer kinds; "
    "counted per largest such set."
)

TRANSACTIONS: tuple[Anomaly, ...] = (
    Anomaly(
        name="torn-transaction",
        sentence="record(s) of transactions hidden from a reader that saw another record of the same transaction",
        definition=(
            "A record sent within a transaction, acknowledged at an offset that a reader with "
            "isolation.level=read_committed passed over without ever finding its value in the partition, although "
            "the same reader polled another record of the transaction, in this partition or another; counted per "
            "record. A reader is a process, all final reads together being one. It passed over what lies between "
            "the first and the last offset that it polled in one assignment, and over what a completed read of "
            "it covered. Aborted transactions count as well: then what was seen is a G1a too."
        ),
        evidence=PART | {"reader": "a process that did not find it; -1: the final reads"},
    ),
    Anomaly(
        name="precommitted-read",
        jepsen="precommitted-read",
        sentence="value(s) read as committed before their transaction was to be committed",
        definition=(
            "A poll with isolation.level=read_committed returned a value of the very transaction in which it "
            "polled, or had completed before the end of the value's transaction was asked for; counted per "
            "value. Jepsen knows only the former, and counts it per transaction and partition."
        ),
        evidence=PART | {"ending": "when the end of the transaction was asked for (s)"},
    ),
    Anomaly(
        name="future-read",
        sentence="value(s) read before they were sent",
        definition=(
            "A poll of any completion type that returned a value had completed before any send of the value "
            "was invoked; counted per value."
        ),
        evidence={**POLLER, "offset": "the lowest offset it was polled at"},
    ),
    Anomaly(
        name="G0",
        jepsen="G0",
        severity="note",
        sentence="set(s) of transactions whose records lie in opposite orders",
        definition=(
            f"{SET} Edges: write-write, from each record of a transaction to the next one in its log. Kafka does "
            "not order the writes of transactions that overlap, so this is no broken promise."
        ),
        evidence=CYCLE,
    ),
    Anomaly(
        name="G0-realtime",
        jepsen="G0-realtime",
        severity="note",
        sentence="set(s) of transactions whose records lie in an order against that of time",
        definition=(
            f"{SET} Edges: write-write, and realtime, from a transaction that ended to each that began later. "
            "With a third transaction that overlaps both this is no broken promise; of two records in one "
            "partition realtime-order tells."
        ),
        evidence=CYCLE,
    ),
    Anomaly(
        name="G1c-wr",
        jepsen="G1c",
        sentence="set(s) of transactions each of which read what another wrote, in a circle",
        definition=(
            f"{SET} Edges: write-read, to a transaction that polled the record with "
            "isolation.level=read_committed from the one that sent it. Each would have committed before the next."
        ),
        evidence=CYCLE,
    ),
    Anomaly(
        name="G1c",
        jepsen="G1c, G1c-realtime",
        severity="note",
        sentence="set(s) of transactions in a circle of reads and of the order of their records",
        definition=(
            f"{SET} Edges: write-read and write-write, with or without realtime. As Kafka does not order the "
            "writes of transactions that overlap, this is no broken promise."
        ),
        evidence=CYCLE,
    ),
    Anomaly(
        name="G1c-realtime",
        jepsen="G1c-realtime",
        sentence="set(s) of transactions in a circle of reads against the order of time",
        definition=(
            f"{SET} Edges: write-read and realtime. Somebody read what was committed only after it had read; "
            "where Jepsen also needs the order of records for the circle, it is a G1c here."
        ),
        evidence=CYCLE,
    ),
    Anomaly(
        name="read-above-lso",
        sentence="poll(s) with read_committed that went beyond the last stable offset",
        definition=(
            "A poll with isolation.level=read_committed returned an offset, and a question for the last stable "
            "offset of the partition that was asked after the poll had completed was answered with that offset or "
            "a lower one; counted per poll of a partition. Only answers of the leader count, in the last leader "
            "epoch that was observed of the partition, and only with a high watermark that has reached the "
            "lowest log end observed of that leader in that epoch: before, it may fall back behind an earlier one."
        ),
        evidence={
            **POLLER,
            "offset": "the highest offset polled",
            "last_stable": "the lowest last stable offset told later",
        },
    ),
    Anomaly(
        name="zombie-write",
        sentence="record(s) of a fenced producer that were accepted",
        definition=(
            "A send within a transaction whose producer epoch is below that of an ok init of the same "
            "transactional id by another process, invoked after that init had completed, was acknowledged (also "
            "where its transaction was aborted later) or is read by anybody; counted per value. An init counts "
            "only where the sending process did not begin one of its own later: epochs start anew in the end."
        ),
        evidence=PART | {"fenced": "when the init had completed (s)"},
    ),
)
