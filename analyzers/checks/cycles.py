"""Checks."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import CycleCheck
from analyzers.catalogue.evidence import Number, Operation

G0 = CycleCheck(
    anomaly=Anomaly(
        name="G0",
        family="transactions",
        rank=40,
        severity="note",
        jepsen="G0",
        evidence={
            "transaction": Operation("the transaction of the cycle that began first"),
            "other": Operation("the next transaction of a shortest cycle through it"),
            "length": Number("the number of transactions in that cycle"),
            "size": Number("the number of transactions that reach one another"),
        },
        sentence="set(s) of transactions whose records lie in opposite orders",
        definition=(
            "Transactions that reach one another over edges of these kinds, of which no part does so "
            "by fewer kinds; counted per largest such set. Edges: write-write, from each record of a "
            "transaction to the next one in its log. Kafka does not order the writes of transactions "
            "that overlap, so this is no broken promise."
        ),
        means=(
            "The records of two or more transactions lie in one order in one place and in another "
            "order in another."
        ),
        promised=(
            "Nothing: transactions that overlap append when they like, and isolation is about reading "
            "alone. A note."
        ),
        causes="Producers at work at the same time; nothing needs to be wrong.",
        look_further="Only where an application takes the order in the log for the order of transactions.",
    ),
    edges=frozenset({"ww"}),
)

G0_REALTIME = CycleCheck(
    anomaly=Anomaly(
        name="G0-realtime",
        family="transactions",
        rank=50,
        severity="note",
        jepsen="G0-realtime",
        evidence={
            "transaction": Operation("the transaction of the cycle that began first"),
            "other": Operation("the next transaction of a shortest cycle through it"),
            "length": Number("the number of transactions in that cycle"),
            "size": Number("the number of transactions that reach one another"),
        },
        sentence="set(s) of transactions whose records lie in an order against that of time",
        definition=(
            "Transactions that reach one another over edges of these kinds, of which no part does so "
            "by fewer kinds; counted per largest such set. Edges: write-write, and realtime, from a "
            "transaction that ended to each that began later. With a third transaction that overlaps "
            "both this is no broken promise; of two records in one partition realtime-order tells."
        ),
        means=("As G0, where the circle is closed by one transaction having ended before another began."),
        promised=(
            "Nothing, as long as a third transaction overlaps both. That a record sent after another "
            "was acknowledged lies behind it *in the same partition* is promised, and "
            "`realtime-order` tells. A note."
        ),
        causes="As of `G0`: a long transaction that overlaps two others which follow one another.",
        look_further="Only where an application takes the order in the log for the order of time.",
    ),
    edges=frozenset({"ww", "realtime"}),
)

G1C_WR = CycleCheck(
    anomaly=Anomaly(
        name="G1c-wr",
        family="transactions",
        rank=60,
        jepsen="G1c",
        evidence={
            "transaction": Operation("the transaction of the cycle that began first"),
            "other": Operation("the next transaction of a shortest cycle through it"),
            "length": Number("the number of transactions in that cycle"),
            "size": Number("the number of transactions that reach one another"),
        },
        sentence="set(s) of transactions each of which read what another wrote, in a circle",
        definition=(
            "Transactions that reach one another over edges of these kinds, of which no part does so "
            "by fewer kinds; counted per largest such set. Edges: write-read, to a transaction that "
            "polled the record with isolation.level=read_committed from the one that sent it. Each "
            "would have committed before the next."
        ),
        means=(
            "Each transaction read what the next one had committed, in a circle: each committed "
            "before the other."
        ),
        promised="Impossible with `read_committed`; only such polls count.",
        causes="As of `precommitted-read`, of which this is the proof without clocks.",
        look_further="The commits of the transactions named, and the elections between them.",
    ),
    edges=frozenset({"wr"}),
)

G1C = CycleCheck(
    anomaly=Anomaly(
        name="G1c",
        family="transactions",
        rank=70,
        severity="note",
        jepsen="G1c, G1c-realtime",
        evidence={
            "transaction": Operation("the transaction of the cycle that began first"),
            "other": Operation("the next transaction of a shortest cycle through it"),
            "length": Number("the number of transactions in that cycle"),
            "size": Number("the number of transactions that reach one another"),
        },
        sentence="set(s) of transactions in a circle of reads and of the order of their records",
        definition=(
            "Transactions that reach one another over edges of these kinds, of which no part does so "
            "by fewer kinds; counted per largest such set. Edges: write-read and write-write, with or "
            "without realtime. As Kafka does not order the writes of transactions that overlap, this "
            "is no broken promise."
        ),
        means=(
            "A circle of reads and of the order of records. It is a note: a transaction may write, "
            "then read what another one wrote behind it and committed meanwhile."
        ),
        promised="Nothing, as of G0. Jepsen reports it by the same name and lets it pass by default.",
        causes="Transactions that read and write the same partitions at the same time.",
        look_further="Whether there is a `G1c-wr` or a `G1c-realtime` as well: these are broken promises.",
    ),
    edges=frozenset({"ww", "wr", "realtime"}),
)

G1C_REALTIME = CycleCheck(
    anomaly=Anomaly(
        name="G1c-realtime",
        family="transactions",
        rank=80,
        jepsen="G1c-realtime",
        evidence={
            "transaction": Operation("the transaction of the cycle that began first"),
            "other": Operation("the next transaction of a shortest cycle through it"),
            "length": Number("the number of transactions in that cycle"),
            "size": Number("the number of transactions that reach one another"),
        },
        sentence="set(s) of transactions in a circle of reads against the order of time",
        definition=(
            "Transactions that reach one another over edges of these kinds, of which no part does so "
            "by fewer kinds; counted per largest such set. Edges: write-read and realtime. Somebody "
            "read what was committed only after it had read; where Jepsen also needs the order of "
            "records for the circle, it is a G1c here."
        ),
        means=("A circle of reads and of the order of time, without any help of the order of records."),
        promised=(
            "Impossible with `read_committed`: what is read was committed before, and time does not go back."
        ),
        causes="As of `precommitted-read` and `future-read`.",
        look_further=(
            "When the transactions named began and ended, and the polls by which each read the other."
        ),
    ),
    edges=frozenset({"wr", "realtime"}),
)
