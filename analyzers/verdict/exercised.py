"""What a run exercised: a promise that was never put to the test cannot be called kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from analyzers.history.fault_events import spoken


@dataclass(frozen=True, kw_only=True)
class WorkAtFault:
    """What one of the clients that a fault of clients acted on had to do as the fault began."""

    client: str
    """Its name, such as ``app:0``, ``producer 1`` or ``group readers``."""
    met: bool | None
    """Whether it was at work; None: nobody can say."""
    in_flight: int = 0
    """Of an application and of members of groups: acknowledged records of their partitions that they had not answered
    or committed. Of share consumers: records that were delivered and not acknowledged. Of others: their sends without
    an outcome."""
    reason: str = ""
    """Why it had nothing to do, as a clause; empty where it had."""


@dataclass(frozen=True, kw_only=True)
class FaultExercised:
    """One fault event, and the acknowledgements around it. Times in s since the run's first operation."""

    event: str
    fault: str
    target: str
    nodes: tuple[int, ...] = ()
    processes: tuple[int, ...] = ()
    """Client processes, if the fault acted on clients."""
    clients: tuple[str, ...] = ()
    """Their names, such as ``app:0``; empty where their roles are not recorded."""
    work: tuple[WorkAtFault, ...] = ()
    """Of a fault of clients: what they had to do as it began; one for each client whose role is recorded."""
    effective: bool
    """The injection was verified: the fault was present."""
    healed: bool
    """The healing was verified: the fault was gone."""
    began: float | None = None
    ended: float | None = None
    """When the heal was verified."""
    whole: float | None = None
    """When, from then on, every partition had a leader and all its replicas in sync; None if no sample shows it."""
    acks_before: int = 0
    """Sends acknowledged before the injection began."""
    acks_during: int = 0
    """Sends invoked and acknowledged while the fault was certainly present: from the end of the injection to the
    beginning of the healing. A send invoked earlier may have been replicated before the fault, however late its
    acknowledgement came."""
    acks_after: int = 0
    """Sends acknowledged after the healing ended."""
    silent: tuple[str, ...] = ()
    """Partitions to which clients sent after the healing had ended, and that acknowledged no send since then."""
    copies_after: int = 0
    """Those of copies, which have a source."""
    acknowledgements_after: int = 0
    """Records of share groups that were acknowledged, with a confirmation, after the healing ended."""
    reads_after: int = 0
    """Session reads completed after the healing ended."""
    transactions_after: int = 0
    """Transactions whose commit was acknowledged after the healing ended."""
    idle_groups: tuple[str, ...] = ()
    """Consumer groups of which no commit was acknowledged after the healing ended."""

    @property
    def name(self) -> str:
        """As in the schedule: ``kill app:0``."""
        return f"{self.verb} {self.target}"

    @property
    def verb(self) -> str:
        """The name of the fault as the schedule has it."""
        return spoken(self.fault, self.clients)

    @property
    def met_work(self) -> bool:
        """Whether one of its clients was at work as it began; also where nobody can say, and for faults of others."""
        return not self.work or any(each.met is not False for each in self.work)

    @property
    def in_flight(self) -> int:
        """Of all of its clients together."""
        return sum(each.in_flight for each in self.work)


@dataclass(frozen=True, kw_only=True)
class ReaderExercised:
    """A client that follows logs on its own: neither a session that reads, nor a group member, nor a final read."""

    process: int
    polls: int
    """Records polled."""
    last: float | None = None
    """When it got its last record, s since the run's first operation."""
    behind: tuple[str, ...] = ()
    """Partitions of which it got no record after the last heal, or the last one long before another reader, although
    it had not read them to the end. In a run without faults, the second half of the load counts. Those of which it
    never got a record count only for a reader that polls all of them."""


@dataclass(frozen=True, kw_only=True)
class GroupExercised:
    """A consumer group."""

    group: str
    commits: int
    """Acknowledged commits, one per partition."""
    silent: tuple[str, ...] = ()
    """Partitions with acknowledged records of the topics to which its members subscribed, of which it never
    committed a position."""


@dataclass(frozen=True, kw_only=True)
class Exercised:
    """The operations, faults and cluster changes of one run, counted."""

    sends: Mapping[str, int] = field(default_factory=dict)
    """By completion type."""
    polls: int = 0
    """Records polled, including those of final reads."""
    transactions: Mapping[str, int] = field(default_factory=dict)
    """By completion type; committed and aborted transactions together."""
    committed: int = 0
    """Transactions whose commit was acknowledged."""
    copies: Mapping[str, int] = field(default_factory=dict)
    """Sends of copies, which have a source, by completion type."""
    transfers: Mapping[str, int] = field(default_factory=dict)
    """Sends of halves of transfers, which have an amount, by completion type."""
    snapshots: int = 0
    """Snapshots of all accounts, completed or not."""
    whole_snapshots: int = 0
    """Those that reached the ends of all logs."""
    snapshots_of_transfers: int = 0
    """Those of them that began after a commit had been acknowledged."""
    commits: Mapping[str, int] = field(default_factory=dict)
    """Commits of group offsets by completion type; one per partition."""
    final_reads: Mapping[str, int] = field(default_factory=dict)
    """By completion type; one per attempt on a partition."""
    session_reads: Mapping[str, int] = field(default_factory=dict)
    """By completion type."""
    rereads: Mapping[str, int] = field(default_factory=dict)
    """Steps back in a log to read it again, by completion type."""
    searches: Mapping[str, int] = field(default_factory=dict)
    """Searches for an offset by time, by completion type."""
    inspections: Mapping[str, int] = field(default_factory=dict)
    """Descriptions of topics by brokers, by completion type."""
    comparisons: Mapping[str, int] = field(default_factory=dict)
    """Partitions whose replicas were compared at the end, by whether that was possible."""
    outputs: int = 0
    """Names of inputs in the records that an application wrote."""
    pipelines: Mapping[str, int] = field(default_factory=dict)
    """Partitions that an application reads, by whether all of its outputs are known."""
    deliveries: int = 0
    """Records that consumers of share groups got."""
    acknowledgements: int = 0
    """Those of them that brokers confirmed as accepted, released or rejected."""
    queues: Mapping[str, int] = field(default_factory=dict)
    """Partitions of share groups, by whether it is known how far the group had got at the end."""
    unqueued: tuple[str, ...] = ()
    """Partitions with acknowledged records of topics that a share group consumes, of which it is not recorded how far
    a share group had got at the end."""
    faults: tuple[FaultExercised, ...] = ()
    leader_changes: int = 0
    isr_changes: int = 0
    smallest_isr: int | None = None
    """The fewest in-sync replicas that any broker reported of any partition; None if nothing was observed."""
    phase: str | None = None
    """The last phase of the run that began; None if none is recorded."""
    failed_steps: tuple[str, ...] = ()
    """Steps of the run that failed; the reasons are among the verdict's unknowns."""
    readers: tuple[ReaderExercised, ...] = ()
    """Without those that a fault killed."""
    groups: tuple[GroupExercised, ...] = ()
    brokers: tuple[int, ...] = ()
    """Those that any sample names as a replica in sync."""
    sampled: tuple[int, ...] = ()
    """The brokers that answered with the state of a partition."""
    leader_samples: int = 0
    """Answers of leaders with their high watermark and the end of their log."""
    unmeasured: tuple[str, ...] = ()
    """Partitions that were written and of which no leader gave such an answer."""
    controller_samples: int = 0
    """Answers that named the active controller."""
    group_samples: int = 0
    """Answers of coordinators with the state of a group."""
    transaction_samples: int = 0
    """Answers of coordinators with the state of a transaction."""
    eligible_samples: int = 0
    """Answers that named eligible leader replicas, or no replica in sync."""
    compacted: int | None = None
    """Acknowledged records of compacted topics that the final reads did not find; None without such a topic."""

    @property
    def acks(self) -> int:
        return self.sends.get("ok", 0)


NOTHING = Exercised()
"""Of a run without any operation."""
