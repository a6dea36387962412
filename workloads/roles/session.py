"""The session: one user who writes a record and then expects to read it, through changing clients."""

from __future__ import annotations

import json
import time
from functools import partial

from workloads.clients import requests
from workloads.clients.connection import ask
from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Consumer, Log, LostPosition, ReportedEnd
from workloads.load import in_turn
from workloads.recording import Reads, Records
from workloads.roles.context import WorkerContext
from workloads.roles.reader import LostPositions, starts
from workloads.roles.sending import Sending

SEND_LIMIT = 10.0
"""Seconds until a session gives up a send."""

READ_LIMIT = 10.0
"""Seconds until a session gives up a read."""

SEEN_LIMIT = 10.0
"""Seconds for which a session repeats its read until it has its own write."""

ROUNDS = 20
"""Reads before a session goes on with another consumer."""

PAUSE = 0.02
"""Seconds between rounds at least: sessions check an order, they are not meant as load."""

DRAIN_LIMIT = 5.0

TIMEOUT = 1.0
"""Seconds for one broker to describe the racks, or a partition."""

ASK_AGAIN = 0.2
"""Seconds between two questions about them."""

START_LIMIT = 60.0
"""Seconds for a broker to name the racks, and a partition's leader and followers, when the session begins."""


def write_and_read(context: WorkerContext) -> None:
    """Write to a log, read it to its end, continue with the next log, until `context.stop` is set."""
    records = context.records()
    sending = Sending(context, records)
    reader = SessionReader(context, records, sending)
    if sending.connect():
        context.ready()
    for count, log in enumerate(in_turn(lambda: context.logs), start=1):
        _write(context, sending, log)
        if context.stop.wait(PAUSE):
            break
        reader.read(log)
        if count % ROUNDS == 0:
            reader.renew()
    sending.finish(DRAIN_LIMIT)
    reader.close()


def write_read_and_move(context: WorkerContext) -> None:
    """Read a log; write to it and read it at once, until the write is there, several times; then go on with the next
    log by a new producer and a new consumer, until `context.stop` is set.

    Options: read_from ("leader" or "follower"), writes_per_client, first (number of the log to begin with), and those
    of `Sending` and `LostPositions`.
    """
    records, options = context.records(), context.options
    sending = Sending(context, records)
    racks = FollowerRacks(context) if options["read_from"] == "follower" else None
    reader = SessionReader(context, records, sending, racks=racks)
    if sending.connect():
        context.ready()
    first = options["first"] % len(context.logs)
    for log in in_turn(lambda: (*context.logs[first:], *context.logs[:first])):
        if context.stop.is_set() or not reader.move(log):
            break
        # The new consumer connects, which took up to 0.5 s: no measure of how late it would get the session's write.
        reader.read(log)
        for _ in range(options["writes_per_client"]):
            if context.stop.wait(PAUSE):
                break
            end = _write(context, sending, log)
            _read_own(context, reader, log, end)
        sending.replace()
        context.counts["moves"] += 1
    sending.finish(DRAIN_LIMIT)
    reader.close()


def _write(context: WorkerContext, sending: Sending, log: Log) -> int:
    """Send a record and wait for its acknowledgement. Returns the offset behind the last acknowledged one."""
    sending.send([log])
    deadline = time.monotonic() + SEND_LIMIT
    while sending.in_flight and time.monotonic() < deadline and not context.stop.is_set():
        sending.collect(0.1)
    if sending.in_flight and not context.stop.is_set():
        sending.drop()
    return sending.acknowledged_end(log)


def _read_own(context: WorkerContext, reader: SessionReader, log: Log, end: int) -> None:
    """Read, and again until the session has its own write, which ends at `end`."""
    deadline = time.monotonic() + SEEN_LIMIT
    reader.read(log)
    while reader.position(log) < end and time.monotonic() < deadline and not context.stop.wait(PAUSE):
        reader.read(log)


class SessionReader:
    """The reads of one session, through one consumer after another: from where it stopped to the end of a log, as the
    leader or as a follower reports it.

    racks  chooses the rack of each consumer, so that a follower serves it; None: it reads from leaders.
    """

    def __init__(
        self,
        context: WorkerContext,
        records: Records,
        sending: Sending,
        *,
        racks: FollowerRacks | None = None,
    ) -> None:
        self._context = context
        self._records = records
        self._sending = sending
        self._racks = racks
        self._reads: Reads = context.reads("read")
        self._leaders: Leaders = context.leaders()
        self._positions = starts(context)
        self._consumer: Consumer = context.consumer(self._positions)
        self._lost_positions = LostPositions(context, self._leaders)

    def position(self, log: Log) -> int:
        """The next offset to read."""
        return self._consumer.positions[log]

    def read(self, log: Log) -> None:
        """One read, ``ok`` when it reached the end. A read that `context.stop` ended is not ``ok``."""
        if log not in self._consumer.positions:
            self._continue_with((*self._consumer.positions, log), rack=None)
        context, consumer = self._context, self._consumer
        op, invoked, start = context.op(), time.monotonic_ns(), consumer.positions[log]
        deadline = time.monotonic() + READ_LIMIT
        reported: ReportedEnd | None = None
        end, error = (None, None) if self._racks is not None else self._leaders_end(log)
        consumer.only((log,))
        while error is None and (end is None or consumer.positions[log] < end):
            if context.stop.is_set() or time.monotonic() > deadline:
                aim = "end not reached" if end is not None else "no broker reported an end"
                why = "stopped" if context.stop.is_set() else f"{aim} within {READ_LIMIT:g} s"
                error = f"{why}, at offset {consumer.positions[log]}"
                break
            asked = time.monotonic_ns()
            polled = consumer.poll(0.2)
            now = time.monotonic_ns()
            self._records.polled(op, polled, invoked=asked, completed=now, assignment=consumer.assignment)
            context.counts["polled"] += len(polled)
            self._lost_positions.mend(consumer, consumer.lost())
            if end is None and (reported := consumer.reported_end(log, since=invoked)) is not None:
                end = reported.offset
        self._reads.record(
            op, log, invoked=invoked, completed=time.monotonic_ns(), start=start, end=end, error=error,
            value=None if reported is None else json.dumps({"node": reported.node}),
        )  # fmt: skip
        context.counts["reads" if error is None else "reads given up"] += 1
        if self._racks is None and end is not None and start > end:
            self._lost_positions.mend(consumer, [LostPosition(log, start)])

    def renew(self) -> None:
        """Continue with a new consumer at the same positions."""
        self._continue_with(tuple(self._consumer.positions), rack=None)

    def move(self, log: Log) -> bool:
        """Continue with a new consumer, of this log only. False when `context.stop` is set before."""
        rack = None
        if self._racks is not None and (rack := self._racks.choose(log)) is None:
            return False
        self._continue_with((log,), rack=rack)
        return True

    def close(self) -> None:
        self._consumer.close()

    def _continue_with(self, logs: tuple[Log, ...], *, rack: str | None) -> None:
        """A partition that was added is read from offset 0."""
        before = self._consumer
        before.close()
        self._positions = {**self._positions, **before.positions}
        self._consumer = self._context.consumer(
            {log: self._positions.get(log, 0) for log in logs}, assignment=before.assignment + 1, rack=rack
        )

    def _leaders_end(self, log: Log) -> tuple[int | None, str | None]:
        # The session has seen that this epoch exists. A leader of an older epoch would report an outdated end.
        epoch, least = self._sending.leader_epoch(log), 0
        if epoch < 0:
            # It may be the session's own acknowledgement that an outdated end lacks. What it has seen shows that.
            least = max(self._sending.acknowledged_end(log), self._consumer.positions[log])
        epoch = max(epoch, self._consumer.leader_epoch(log))
        try:
            return self._leaders.offset(log, epoch=epoch, least=least, limit=READ_LIMIT / 2), None
        except TimeoutError as error:
            return None, str(error)


class FollowerRacks:
    """Chooses racks from which a consumer reads from a follower, because the leader is in another one (KIP-392). The
    racks of the brokers are requested when it is made. Raises TimeoutError when no broker answers, and ValueError
    when no broker has a rack."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._chosen = 0
        deadline = time.monotonic() + START_LIMIT
        while (racks := self._racks()) is None:
            if time.monotonic() > deadline or context.stop.wait(ASK_AGAIN):
                raise TimeoutError(f"no broker named the racks within {START_LIMIT:g} s")
        if not racks:
            raise ValueError("no broker has a rack (broker.rack), so no client can read from a follower")
        self._rack_of = racks

    def choose(self, log: Log) -> str | None:
        """A rack with a follower in sync and without the leader; the next one each time. It waits until there is one:
        None when `context.stop` is set before."""
        while not (racks := self._without_leader(log)):
            if self._context.stop.wait(ASK_AGAIN):
                return None
        self._chosen += 1
        return racks[self._chosen % len(racks)]

    def _without_leader(self, log: Log) -> list[str]:
        for node in self._context.brokers:
            try:
                state = requests.metadata(self._way(node), [log[0]]).get(log)
            except OSError:
                continue
            if state is not None and state.leader >= 0:
                of_leader = self._rack_of.get(state.leader)
                racks = {self._rack_of.get(each) for each in state.isr} - {of_leader, None}
                if racks:
                    return sorted(rack for rack in racks if rack is not None)
        return []

    def _racks(self) -> dict[int, str] | None:
        for node in self._context.brokers:
            try:
                return requests.racks(self._way(node))
            except OSError:
                continue
        return None

    def _way(self, node: int) -> requests.Ask:
        return partial(ask, self._context.brokers[node], timeout=TIMEOUT)
