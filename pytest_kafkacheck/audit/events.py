"""What may happen to a cluster or to a client. `matrix.scenarios` brings these events about on real clusters, or a
claim of `kafkacheck scenarios`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AuditEvent:
    """name   as in a matrix of scenarios.
    title  in a table.
    what   what exactly happens. Rules speak of this, and of no other faults at the same time.
    kept   why nothing is lost or refused where no rule applies.
    claim  the claim of `kafkacheck scenarios` that brings it about, where no scenario of a matrix does.
    """

    name: str
    title: str
    what: str
    kept: str
    claim: str | None = None

    @property
    def shown_by(self) -> str:
        """Which scenario shows it."""
        return self.name if self.claim is None else f"kafkacheck scenarios -k {self.claim}"


_EVENTS = (
    AuditEvent(
        name="leader-killed",
        title="leader killed",
        what="The leader's process is killed while its followers are in sync, which allows them to be up to "
        "replica.lag.time.max.ms behind. It is started again with its disk.",
        kept="an in-sync follower has every acknowledged record, and is elected",
    ),
    AuditEvent(
        name="leader-isolated",
        title="leader cut off",
        what="The leader reaches neither brokers nor controllers, and clients still reach it. The cut heals.",
        kept="alone, the old leader acknowledges nothing; an in-sync follower is elected",
    ),
    AuditEvent(
        name="isr-of-one-killed",
        title="ISR shrunk, leader killed",
        what="The followers leave the ISR one after another, because they lag, and go on running. Then the leader's "
        "process is killed. It is started again with its disk.",
        kept="a replica with every acknowledged record is elected",
    ),
    AuditEvent(
        name="isr-of-one-wiped",
        title="ISR shrunk, leader's disk lost",
        what="The followers leave the ISR one after another, because they lag, and go on running. Then the leader "
        "loses its disk. It is started again with an empty one.",
        kept="a replica with every acknowledged record is elected",
    ),
    AuditEvent(
        name="leader-wiped",
        title="leader's disk lost",
        what="The leader loses its disk while its followers are in sync. It is started again with an empty one.",
        kept="an in-sync follower has every acknowledged record, and is elected",
    ),
    AuditEvent(
        name="power-loss-one",
        title="power lost on one",
        what="The leader loses power, and with it what is not synced to its disk, while its followers are in sync. "
        "It is started again.",
        kept="an in-sync follower has every acknowledged record, and is elected",
    ),
    AuditEvent(
        name="last-replica-power-loss",
        title="replicas stopped, power lost on the last",
        what="The followers are stopped one after another. The leader, alone in the ISR, loses power, and with it "
        "what is not synced to its disk. Then all are started, the leader last.",
        kept="a replica with every acknowledged record is elected",
    ),
    AuditEvent(
        name="power-loss",
        title="power lost on all",
        what="All brokers lose power at the same moment, and with it what is not synced to their disks. All are "
        "started again.",
        kept="every record is on disks before it is acknowledged",
    ),
    AuditEvent(
        name="rack-lost",
        title="a rack lost",
        what="All brokers of one rack lose power at the same moment. They are started again.",
        kept="enough in-sync replicas lie in other racks, and one of them is elected",
    ),
    AuditEvent(
        name="rolling-restart",
        title="rolling restart",
        what="Brokers are stopped and started one after another, each once all replicas are in sync again.",
        kept="leadership moves to an in-sync follower before a broker stops",
    ),
    AuditEvent(
        name="consumer-crash",
        title="consumer crash",
        what="A consumer's process ends without warning between a poll and the processing of the records.",
        kept="the successor begins at the committed position, behind nothing that is not processed",
        claim="A10",
    ),
    AuditEvent(
        name="leader-moved",
        title="planned change of leader",
        what="An election of the preferred leader or a reassignment moves leadership to another replica that is in "
        "sync. Nothing is killed or stopped.",
        kept="the new leader has every acknowledged record",
    ),
    AuditEvent(
        name="two-killed",
        title="two nodes killed at once",
        what="The leader's process and that of a broker with another replica are killed at the same moment, while "
        "all replicas are in sync. They are started again with their disks.",
        kept="an in-sync replica elsewhere has every acknowledged record, and is elected",
    ),
    AuditEvent(
        name="group-away",
        title="group away for long",
        what="All members of a group are away for longer than offsets.retention.minutes, and come back.",
        kept="the group begins with the first record that is there, behind nothing that is not processed",
        claim="A7",
    ),
)

EVENTS = {event.name: event for event in _EVENTS}
"""By name, in the order of tables."""

CONSUMER_EVENTS = ("consumer-crash", "group-away")

BROKER_EVENTS = tuple(event.name for event in _EVENTS if event.claim is None)
