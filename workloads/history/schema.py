"""The history, as tables: the contract between running and judging.

Every time is CLOCK_MONOTONIC of the harness host in nanoseconds; ``environment.json`` of the run
holds one wall-clock anchor. Every table has a ``run`` column, so that many runs can be judged in
one job. A *process* is one client identity and never comes back after it crashed; a *session*
groups processes that act for one user one after another.

While a run is going, rows go into Arrow IPC segments, one file per table and process. There a
send has two rows: ``type='invoke'``, written out before the client sees the record, and the
completion, with the same index, topic and partition. Compaction joins them: a send without
completion becomes ``info``, so the Parquet tables hold completions only (``ok`` happened,
``fail`` did not happen, ``info`` unknown).
"""

from __future__ import annotations

import pyarrow as pa

FORMAT = 2

NEMESIS = -1
HARNESS = -2
"""Process numbers of those that are not clients."""

VALUE_BITS = 40
"""A value is ``process << VALUE_BITS | sequence``: unique in its run, and it names its writer."""

RECORDS = pa.schema(
    [
        ("run", pa.string()),
        (
            "op",
            pa.int64(),
        ),  # unique in the run; of a send it is the value, of a poll all its records share it
        ("index", pa.int64()),  # order in which the process recorded its rows, from 0
        ("process", pa.int32()),
        ("session", pa.int32()),  # null: the process stands for itself
        ("f", pa.string()),  # send | poll
        ("type", pa.string()),  # invoke (segments only) | ok | fail | info
        ("invoked", pa.int64()),  # ns
        ("completed", pa.int64()),  # ns; null while unknown
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),  # null where no broker named one
        ("value", pa.int64()),  # null on a poll whose payload is not one of this run (see error)
        ("leader_epoch", pa.int32()),  # of the batch polled; null on sends
        ("assignment", pa.int32()),  # polls: grows whenever the process is assigned or seeks anew; sends: 0
        ("previous", pa.int64()),  # offset of the row before it of this process, f, topic, partition,
        #                            assignment and generation (sends: of the last ok one); null for the
        #                            first. Filled on compaction, so that order checks need no shuffle.
        ("final", pa.bool_()),  # polled by a final read
        ("error", pa.string()),  # sends: error classes of the attempts; polls: foreign | corrupt | misrouted
        ("key", pa.int64()),  # of the record; null without one
        ("transaction", pa.int64()),  # the operation `txn` within which it was sent or polled; null for none
        ("committed", pa.bool_()),  # polls: with isolation.level=read_committed; null on sends
        ("generation", pa.int32()),  # polls by a member of a group: of its assignment; null otherwise
        ("within", pa.bool_()),  # whether the row of `previous` is of the same operation (sends: of the same
        #                          transaction); null where there is none. Filled on compaction.
    ]
)
"""One row per record sent or polled.

A send within a transaction completes with the transaction: ``ok`` once its commit was acknowledged, ``fail``
when it was refused or the transaction aborted, ``info`` when the outcome is unknown. So ``ok`` always means
that it shall be read. Its offset is the one at which a broker acknowledged it, whatever came of it then.
"""

OPERATIONS = pa.schema(
    [
        ("run", pa.string()),
        ("op", pa.int64()),
        ("process", pa.int32()),  # a client, NEMESIS or HARNESS
        ("session", pa.int32()),
        (
            "f",
            pa.string(),
        ),  # read | final-read | txn | init | member | commit | <fault name> | phase | worker
        ("type", pa.string()),  # ok | fail | info
        ("invoked", pa.int64()),  # ns
        ("completed", pa.int64()),  # ns; null while unknown
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("start_offset", pa.int64()),  # read, final-read: first offset wanted; final-read: the log start then
        ("end_offset", pa.int64()),  # read, final-read: end of the log as the leader told it (exclusive)
        ("value", pa.string()),  # JSON; its keys by f are listed below
        ("error", pa.string()),
        ("group", pa.string()),  # member, commit: the consumer group
        ("generation", pa.int32()),  # member, commit: of the group; null where it was not told
    ]
)
"""One row per operation that is not itself a record: reads as a whole, faults, phases, workers.

``read``        a session reads a partition from where it last stopped to the end it was told; ``ok`` when it
                got there. Its records carry the same ``op``.
``final-read``  a fresh client reads a whole partition after healing; ``ok`` when it reached ``end_offset``.
``txn``         a transaction as a whole; its records carry its `op` as `transaction`: ``{"transactional_id": text,
                "epoch": of the producer, "outcome": "commit"|"abort", "ending": ns, when that was asked for; null
                where it never was}``. ``ok``: the outcome was acknowledged; ``fail``: nothing of it shall ever be
                visible; ``info``: unknown, as where the process ended in it.
``init``        a producer claimed its transactional id, which fences those before it: ``{"transactional_id": text,
                "epoch": int}``.
``member``      what a group told its member, one row per partition: ``{"event": "assigned"|"revoked"|"lost",
                "member": id}``; `start_offset` of ``assigned`` is where it begins to read. With topic and
                partition null: ``{"event": "joined"|"left"|"fenced", "member": id}``.
``commit``      a member commits a position of a group, one row per partition: `end_offset` is the next offset
                to read; ``{"member": id}``, and ``"reset": true`` where it was set on purpose to another place
                than where the member had got to. Within a transaction it completes with the transaction.
``<fault>``     by NEMESIS, one row for inject and one for heal: ``{"event": id, "stage": "inject"|"heal",
                "target": as asked, "nodes": [ids], "effective": bool, "evidence": {...}}``; type ``info``.
                That of heal also has ``"active": {"possibly": [ns, ns], "surely": [ns, ns]}``: from when to when
                the fault may have been at work, and where it was verified, was for certain. A fault of clients has
                ``"processes": [numbers]``.
``phase``       by HARNESS: ``{"phase": "steady"|"faults"|"recovery"|"final"|"end"}``, when it began.
``worker``      by HARNESS: ``{"role": ..., "process": number, "event": "started"|"stopped"|"crashed"|"killed"}``, a
                moment after it ended; killed is by a fault.
"""

OBSERVATIONS = pa.schema(
    [
        ("run", pa.string()),
        ("process", pa.int32()),
        ("time", pa.int64()),  # ns, when the answer was there
        ("node", pa.int32()),  # the broker that answered; null where it did not matter
        ("kind", pa.string()),  # partition | quorum
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("leader", pa.int32()),  # partition: -1 for none; quorum: the active controller
        ("leader_epoch", pa.int32()),  # partition: leader epoch; quorum: controller epoch
        ("isr", pa.list_(pa.int32())),
        ("log_start", pa.int64()),  # of the replica on `node`
        ("high_watermark", pa.int64()),
        ("log_end", pa.int64()),
        (
            "last_stable",
            pa.int64(),
        ),  # the last stable offset of the replica on `node`, as a read_committed consumer is told it; null: not told
        ("asked", pa.int64()),  # ns, before the question: what was over by then, the answer has to reflect
    ]
)
"""One row per sample of the cluster's own state, as one broker saw it."""

TABLES: dict[str, pa.Schema] = {"records": RECORDS, "operations": OPERATIONS, "observations": OBSERVATIONS}
