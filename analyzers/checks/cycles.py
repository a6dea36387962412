"""Transactions can be ordered so that each reads only from earlier ones."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly, Number, Operation
from analyzers.catalogue.check import CYCLE, CycleCheck

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
            "A set of transactions that reach one another over edges of these kinds, where no part of the set "
            "does so over fewer kinds; counted per largest such set. Edges: write-write, from each record of "
            "a transaction to the next one in its log. Kafka does not order the writes of overlapping "
            "transactions, so no promise is broken."
        ),
        means=(
            "The records of two or more transactions lie in one order in one place and in another order in "
            "another place."
        ),
        promised="Nothing: overlapping transactions append at any time, and isolation concerns only reading.",
        causes="Producers that work at the same time; this is normal.",
        look_further=(
            "Only relevant where an application takes the order in the log for the order of transactions."
        ),
    ),
    edges=frozenset({"ww"}),
    live=CYCLE,
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
        sentence="set(s) of transactions whose records lie in an order that contradicts real time",
        definition=(
            "A set of transactions that reach one another over edges of these kinds, where no part of the set "
            "does so over fewer kinds; counted per largest such set. Edges: write-write, and realtime, from a "
            "transaction that ended to each that began later. If a third transaction overlaps both, no "
            "promise is broken. Two records in one partition are covered by realtime-order."
        ),
        means="As G0, where one transaction ended before another one of the cycle began.",
        promised=(
            "Nothing, as long as a third transaction overlaps both. Kafka does promise that a record sent "
            "after another one was acknowledged lies behind it in the same partition; `realtime-order` "
            "reports violations of that."
        ),
        causes="As for `G0`: a long transaction that overlaps two others, one of which follows the other.",
        look_further="Only relevant where an application takes the order in the log for the order of time.",
    ),
    edges=frozenset({"ww", "realtime"}),
    live=CYCLE,
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
        sentence="set(s) of transactions that read from one another in a cycle",
        definition=(
            "A set of transactions that reach one another over edges of these kinds, where no part of the set "
            "does so over fewer kinds; counted per largest such set. Edges: write-read, from the transaction "
            "that sent a record to a transaction that polled it with isolation.level=read_committed. Each "
            "transaction would have committed before the next one."
        ),
        means=(
            "Each transaction read what the next one had committed, in a cycle: each would have committed "
            "before the other."
        ),
        promised="This is impossible with `read_committed`; only such polls count.",
        causes="As for `precommitted-read`, which this proves without clocks.",
        look_further="The commits of these transactions, and the elections between them.",
    ),
    edges=frozenset({"wr"}),
    live=CYCLE,
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
        sentence="set(s) of transactions in a cycle of reads and of the order of their records",
        definition=(
            "A set of transactions that reach one another over edges of these kinds, where no part of the set "
            "does so over fewer kinds; counted per largest such set. Edges: write-read and write-write, with "
            "or without realtime. Kafka does not order the writes of overlapping transactions, so no promise "
            "is broken."
        ),
        means=(
            "Transactions form a cycle of reads and of the order of records. For example, a transaction "
            "writes, and then reads what another one wrote behind it and committed meanwhile."
        ),
        promised="Nothing, as for G0. Jepsen reports it under the same name and permits it by default.",
        causes="Transactions that read and write the same partitions at the same time.",
        look_further="Whether there is a `G1c-wr` or a `G1c-realtime` as well: these are broken promises.",
    ),
    edges=frozenset({"ww", "wr", "realtime"}),
    live=CYCLE,
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
        sentence="set(s) of transactions in a cycle of reads that contradicts real time",
        definition=(
            "A set of transactions that reach one another over edges of these kinds, where no part of the set "
            "does so over fewer kinds; counted per largest such set. Edges: write-read and realtime. A "
            "transaction read what was committed only after it had read. If the cycle also needs the order of "
            "records, which Jepsen counts here, it is a G1c."
        ),
        means="Transactions form a cycle of reads and of the order of time, without the order of records.",
        promised="This is impossible with `read_committed`: what is read was committed before.",
        causes="As for `precommitted-read` and `future-read`.",
        look_further=(
            "When these transactions began and ended, and the polls by which each read from the other."
        ),
    ),
    edges=frozenset({"wr", "realtime"}),
    live=CYCLE,
)
