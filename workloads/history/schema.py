"""The tables of the history: the contract between running an experiment and judging it.

Every time is CLOCK_MONOTONIC of the harness host in nanoseconds; ``environment.json`` of the run
holds one wall-clock anchor. Every table has a ``run`` column, so that many runs can be judged in
one job. A *process* is one client identity and is never used again after a crash; a *session*
groups processes that act for one user one after another.

While a run is going, rows go into Arrow IPC segments, one file per table and process. There a
send has two rows: ``type='invoke'``, on disk before the client gets the record, and the
completion, with the same index, topic and partition. Compaction joins them, and a send without
completion becomes ``info``. So the Parquet tables hold only completions: ``ok`` happened,
``fail`` did not happen, ``info`` is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

FORMAT = 2

NEMESIS = -1
HARNESS = -2
"""Process numbers of the writers that are not clients."""

VALUE_BITS = 40
"""A value is ``process << VALUE_BITS | sequence``: it is unique in its run and identifies its writer."""

RECORDS = pa.schema(
    [
        ("run", pa.string()),
        # Unique in the run. The op of a send is its value; all records of a poll share its op.
        ("op", pa.int64()),
        ("index", pa.int64()),  # position among the rows of the process, from 0
        ("process", pa.int32()),
        ("session", pa.int32()),  # null: the process is its own session
        ("f", pa.string()),  # send | poll
        ("type", pa.string()),  # invoke (segments only) | ok | fail | info
        ("invoked", pa.int64()),  # ns
        ("completed", pa.int64()),  # ns; null while unknown
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),  # null if no broker reported one
        ("value", pa.int64()),  # null for a poll whose payload is not of this run (see error)
        ("leader_epoch", pa.int32()),  # of the polled batch; null for sends
        ("assignment", pa.int32()),  # polls: grows with each assignment and seek of the process; sends: 0
        # Offset of the previous row of the same process, f, topic, partition, assignment and generation (of sends: of
        # the previous ok one); null for the first. Filled by compaction, so that order checks need no shuffle.
        ("previous", pa.int64()),
        ("final", pa.bool_()),  # polled by a final read
        ("error", pa.string()),  # sends: error classes of the attempts; polls: foreign | corrupt | misrouted
        ("key", pa.int64()),  # of the record; null if it has none
        ("transaction", pa.int64()),  # op of the `txn` in which it was sent or polled; null if none
        ("committed", pa.bool_()),  # polls: with isolation.level=read_committed; null for sends
        ("generation", pa.int32()),  # polls by a group member: of its assignment; otherwise null
        # Whether the row of `previous` belongs to the same operation (of sends: to the same transaction); null
        # without a previous row. Filled by compaction.
        ("within", pa.bool_()),
        ("node", pa.int32()),  # polls: the broker that served the fetch; null if unknown, and for sends
        # Polls: ns, when the response with the record arrived. The poll may return it much later: `completed`.
        ("fetched", pa.int64()),
        # Sends at a rate: ns, when it was due. `invoked` is later while brokers keep the client waiting.
        ("intended", pa.int64()),
        # Value of the record from which this one was made, as a copier does; null if from none.
        ("source", pa.int64()),
        ("tombstone", pa.bool_()),  # whether it deletes its key; null without a key
        # What it adds to its account, which is its log; negative for a debit. Null if it is no part of a transfer.
        ("amount", pa.int64()),
    ]
)
"""One row per record sent or polled. In segments, a send has two: its invocation and its completion, which compaction
joins.

A send in a transaction completes with the transaction: ``ok`` once the commit was acknowledged, ``fail`` if the send
was refused or the transaction aborted, ``info`` if the outcome is unknown. So ``ok`` always means that consumers must
see the record. Its offset is the one that a broker acknowledged, also if the transaction was aborted later.
"""

OPERATIONS = pa.schema(
    [
        ("run", pa.string()),
        ("op", pa.int64()),
        ("process", pa.int32()),  # a client, NEMESIS or HARNESS
        ("session", pa.int32()),
        # read | final-read | position-lost | rewind | search | alter | deletion | inspect | txn | init |
        # subscribe | member | commit | output | pipeline | delivery | acknowledgement | queue |
        # <fault name> | comparison | divergence | phase | worker | topic | recovery | problem | unread
        ("f", pa.string()),
        ("type", pa.string()),  # ok | fail | info
        ("invoked", pa.int64()),  # ns
        ("completed", pa.int64()),  # ns; null while unknown
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("start_offset", pa.int64()),  # read: first offset to read; final-read: start of the log at that time
        # read, final-read: end of the log (exclusive) as the leader reported it; of a read with `node` in its value,
        # as that broker did
        ("end_offset", pa.int64()),
        ("value", pa.string()),  # JSON; the keys for each f are listed below
        ("error", pa.string()),
        # subscribe, member, commit: the consumer group; delivery, acknowledgement, queue: the share group
        ("group", pa.string()),
        ("generation", pa.int32()),  # member, commit: of the group; null if unknown
    ]
)
"""One row per operation that is not a record: reads as a whole, transactions, group events, faults, steps of the run.
A ``deletion`` and an ``acknowledgement`` have two.

``read``        a session reads a partition from where it last stopped to the reported end; ``ok`` if it got
                there. Its records have the same ``op``. With isolation.level=read_committed, the end is the last
                stable offset, and the value is ``{"committed": true}``. A session that reads from followers does not
                ask the leader: the end is the high watermark in the first response to a fetch of this read, and the
                value names the broker that served it, ``{"node": int}``. A read without such a response is ``info``.
                ``"snapshot": int``: it is the part of one log of a snapshot of all logs; those of a process are
                numbered from 0. A snapshot holds what the process polled below `end_offset` of each log, in this
                read or before. `end_offset` is null where no leader reported it.
``final-read``  a new client reads a whole partition after all faults are healed; ``ok`` if it reached ``end_offset``.
                The value is as for ``read``.
``position-lost``  the position of a reader or session, `start_offset`, is not in its log any more, so it goes on from
                `end_offset`. ``{"divergence": int}``: the log was truncated; before this offset it is as it was
                read. ``{"log_start": int, "log_end": int, "auto_offset_reset": "earliest"|"latest"}``: the leader
                confirmed that the position is outside of its log.
``rewind``      a reader goes back to `start_offset`, and polls again, in another assignment, what it had polled
                before, up to its position at that time, `end_offset` (exclusive). ``ok`` if it got records below
                that, and got there.
``search``      a client asks a leader for the first offset whose record is not older than the record that it had
                polled at `start_offset`; `end_offset` is the answer, null for none: ``{"timestamp": of the known
                record, ms since the epoch, "value": of the known record, "found": ms}``. `found` is the timestamp of
                the record at `end_offset`, which the client then polled; null if it polled no record there.
``alter``       an administrator requested a change of a topic: ``{"change": "create"|"delete"|"partitions"|"config"|
                "replicas"}``, and what is set of ``"partitions": int``, the number of partitions after it, and
                ``"retention_ms": int``, the setting retention.ms after it, and ``"config": {setting: text or null}``,
                settings after it; null: the brokers' default again. ``fail``: the controller refused it.
``deletion``    an administrator asks the leader of a log to delete its records below `end_offset`; `start_offset` was
                the start of the log before. Two rows with the same `op`. The first one, ``info`` and without
                `completed`, is on disk before the request is sent. The second one has the answer: ``{"node": id,
                "low_watermark": int}``, of which the latter is set if ``ok``. ``fail``: the leader refused it before
                it deleted anything. Without an answer, or with ``info``, the records may go at any time later.
``inspect``     a broker described a topic after it had reported another topic that an administrator created for this
                purpose, requested at `invoked`: ``{"node": id, "exists": bool, "partitions": int, "retention_ms":
                int}``; without the last two where it did not report them. ``info``: it did not report the other topic
                in time.
``txn``         a transaction as a whole; its records have its `op` as `transaction`: ``{"transactional_id": text,
                "epoch": of the producer, "outcome": "commit"|"abort", "ending": ns}``. `ending` is when the client
                requested the outcome; null if it never did. ``ok``: the outcome was acknowledged; ``fail``: nothing
                of it may ever be visible; ``info``: unknown, for example because the process ended during it. A row
                with `completed` and without `ending`, or with ``"requested": false`` in an imported history, says
                that the client gave up and did not request an end.
``init``        a producer claimed its transactional id, which fences earlier producers: ``{"transactional_id": text,
                "epoch": int}``, and ``"producer_id": int`` where known.
``subscribe``   a client begins to take part in `group`, one row per topic that it subscribes to; before it joins, so
                that a group that never gets a partition is known. ``{}``.
``member``      an event of a group member, one row per partition: ``{"event": "assigned"|"revoked"|"lost",
                "member": id}``; `start_offset` of ``assigned`` is the first offset to read. With topic and
                partition null: ``{"event": "joined"|"left"|"fenced", "member": id}``. ``assigned`` also has what is
                set of ``"auto_offset_reset": "earliest"|"latest"|"none"`` and ``"instance": group.instance.id``.
``commit``      a member commits a position of a group, one row per partition: `end_offset` is the next offset
                to read; ``{"member": id}``, and ``"reset": true`` if it was deliberately set to another offset
                than the member's position. In a transaction it completes with the transaction, and has its op:
                ``"transaction": int``. All that the member had polled before, and its assignments, are on disk before
                the request is sent (see `workloads.recording`). Sent within a poll: ``"revoked": true`` for
                partitions that a rebalance takes away, ``"auto": true`` for an automatic commit, which the library
                reports only when it has ended. `invoked` of an automatic commit is when the library was first allowed
                to make it, and the polls below its offsets were on disk then; `generation` is null if a rebalance
                came between.
``output``      a committed record that an application of the user wrote, read after it had ended: `topic`,
                `partition` and `start_offset` are its own; one row per input that it names, with the input's value:
                ``{"source": int or null, "written": ns}``. `source` is null if it names none, or no record of the
                run; `written` is its timestamp on the clock of the history, null if it has none. Where the headers of
                the batches were read, ``"producer": id of its producer or null, "transactional": bool`` as well.
``pipeline``    what is known of the application at the end, one row per partition of its source: ``{"sink": topic,
                "guarantee": "at-least-once"|"at-most-once"|"exactly-once"|"order-per-key"|"aggregate",
                "isolation": "read_committed"|"read_uncommitted"}``; `isolation` is that of its consumers, absent if
                unknown; `end_offset` is the position that `group` had committed, null if unknown. ``info``: not all
                of its outputs are known.
``delivery``    a consumer of the share group `group` got the record at `start_offset` in a poll: ``{"value": int or
                null, "deliveries": int, "since": ns}``. `value` is the record's; null with the `error` foreign or
                corrupt. `deliveries` is how often it was delivered, this time included, as the broker counts; null
                if unknown. It was not acquired before `since`, unless connections failed. On disk before it is
                acknowledged.
``acknowledgement``  a consumer acknowledges that record, by its `start_offset`: ``{"delivery": op of that row,
                "kind": "accept"|"release"|"reject"}``. Two rows with the same `op`: ``info`` and without `completed`,
                on disk before the request is sent, and one with the answer. ``info`` there: the broker refused it, or
                did not answer. ``fail``: it was not sent.
``queue``       how far a share group has got at the end, one row per partition: `end_offset`: all records below are
                accepted or archived. ``{"lock": ns, "delivery_limit": int}``: the duration of its locks, and
                deliveries after which a record is archived; and ``"isolation": "read_committed"|"read_uncommitted"``,
                its share.isolation.level, ``"began": int``, the offset at which it began: it never has to get a
                record below, and ``"policy": "earliest"|"latest"``, its share.auto.offset.reset: where `began` is
                absent, a group with latest began at the first record whose acknowledgement a broker confirmed, and at
                `end_offset` if there is none; others began at the first record. Each is absent if unknown. ``info``:
                the end is unknown.
``<fault>``     by NEMESIS, one row for inject and one for heal: ``{"event": id, "stage": "inject"|"heal",
                "target": as in the schedule, "nodes": [ids], "effective": bool, "evidence": {...}}``; type ``info``.
                ``"options"`` are those of the fault as the schedule has them; absent if all have their defaults.
                ``"planned": ns`` is when it was due; absent if it had no time, because its trigger did not come or
                the run was stopped before.
                The row of heal also has ``"active": {"possibly": [ns, ns], "surely": [ns, ns]}``: the time in which
                the fault may have been active, and, if verified, in which it certainly was; and
                ``"had_effect": true`` if it showed the effect of an injection whose verification had not ended.
                A fault on clients has
                ``"processes": [numbers]``, and one that may remove records that were acknowledged or read, as
                deletion and retention do, has ``"removes_records": true``.
``comparison``  by HARNESS: after the final reads, the in-sync replicas of a partition were compared from
                `start_offset` to `end_offset` (exclusive), the high watermark: ``{"nodes": [those compared],
                "equal": records, "bytes": of equal batches}``. ``info``: not compared, see `error`.
``divergence``  by HARNESS: besides, where they differ, first at `start_offset`: ``{"different": number of offsets,
                "copies": {node: copy}}``. A copy is null where the node has no record, or ``{"epoch": of its
                leader, "timestamp": ms, "size": bytes, "digest": text, "value": of a record of the run}``; where it
                cannot be decoded, `timestamp` is null and `digest` says why.
``phase``       by HARNESS: ``{"phase": "steady"|"faults"|"recovery"|"final"|"end", "skipped": int}`` began. `skipped`
                sends of the workload's rate were left out before; absent if not counted.
``worker``      by HARNESS: ``{"role": ..., "process": number, "event": "started"|"stopped"|"crashed"|"killed"}``.
                Ends are recorded a moment later; ``killed`` means by a fault, which may have asked it to end.
                ``"problem": text`` is what it reported about its work. ``started`` has ``"poll_limit": s`` for
                a role that polls all of its logs until it is stopped: it gets records that it can read within this
                time, however long its connections were cut before; and ``"reads_own": true`` for one that reads what
                it has written, of which the verdict reports the staleness; and ``"observes": true`` for one that
                faults of clients spare: it only watches the cluster, or begins once the load has stopped;
                and ``"acks": "all"|"1"|"0"`` for one that sends with this setting, with others in
                ``"config": {setting: text}``; and ``"instance": int`` for an instance of a user's application: a
                process that replaces it has the same.
``topic``       by HARNESS: the run, or one of its faults, created or deleted a topic, between its request and the
                answer: ``{"event": "created"|"deleted"|"recreated", "id": text, "partitions": int,
                "replication_factor": int, "config": {setting: text}}``. A recreated topic has a ``deleted`` row
                and a ``recreated`` one. `id` is the topic id, which differs after a recreation; null where the
                release has none. `config` are the effective settings, the brokers' defaults included, as a broker
                described them; empty if none did. All of this is as after a creation, and as before a deletion.
``recovery``    by HARNESS: whether all brokers agreed again after the faults, within `limit` seconds:
                ``{"problem": text or null, "limit": s}``; ``ok`` or ``info``.
``problem``     by HARNESS: a step of the run failed, and the run went on: ``{"step": "load"|"faults"|"recovery"|
                "stop"|"final-read"|"replicas"|"delete-topics", "error": text}``; ``info``.
``unread``      by HARNESS: the final read of a partition could not begin: ``{"reason": text}``; ``info``.
"""

OBSERVATIONS = pa.schema(
    [
        ("run", pa.string()),
        ("process", pa.int32()),
        ("time", pa.int64()),  # ns, when the response had arrived
        ("node", pa.int32()),  # the broker that answered; null for ZooKeeper, and if any could have
        # partition | quorum | controller | controller_view | eligible | settings | group_state | transaction, see
        # `workloads.probes` | group and group_log (of an application, see `workloads.roles.group_watch`) |
        # application (what an instance of it did, see `workloads.roles.application`) | unanswered: `node` did not
        # answer the probe that `value` names
        ("kind", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        # partition: -1 for none; quorum, controller, controller_view: the active controller, -1 for none
        ("leader", pa.int32()),
        ("leader_epoch", pa.int32()),  # partition: leader epoch; quorum, controller: controller epoch
        ("isr", pa.list_(pa.int32())),
        ("log_start", pa.int64()),  # of the replica on `node`
        ("high_watermark", pa.int64()),
        ("log_end", pa.int64()),
        # The last stable offset of the replica on `node`, as reported to a read_committed consumer; null if not
        # reported.
        ("last_stable", pa.int64()),
        # ns, before the request was sent: the response has to reflect every operation that had completed by then.
        ("asked", pa.int64()),
        # JSON object of what the other columns have no place for; its keys are documented by the probe of that kind.
        # unanswered: ``{"probe": kind, "error": class of the error}``
        ("value", pa.string()),
        ("replicas", pa.list_(pa.int32())),  # partition: as assigned, in their order
        # The connection over which the probe asked `node`, counted from 0. While it is the same, so is the process of
        # the broker. controller: the session in ZooKeeper. Null if not known.
        ("connection", pa.int32()),
    ]
)
"""One row per sample of the cluster's state, as reported by one broker."""

LATER: Mapping[str, frozenset[str]] = {
    "records": frozenset({"node", "fetched", "intended", "source", "tombstone", "amount"}),
    "observations": frozenset({"value", "replicas", "connection"}),
}
"""Columns that files of `FORMAT` may lack, because they were added later. There they count as null."""


def later_columns(schema: pa.Schema) -> frozenset[str]:
    """The columns of `LATER` of the table that has this schema; none for a schema of no table."""
    return next(
        (LATER.get(table, frozenset()) for table, known in TABLES.items() if known == schema), frozenset()
    )


def required_columns(table: str) -> list[str]:
    """The columns that every file of a table has, in the order of its schema."""
    return [name for name in TABLES[table].names if name not in LATER.get(table, ())]


TABLES: dict[str, pa.Schema] = {"records": RECORDS, "operations": OPERATIONS, "observations": OBSERVATIONS}
