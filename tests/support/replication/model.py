"""One partition: logs, ISR, eligible replicas, elections and truncation, as Kafka has them; it knows no rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_kafkacheck.audit.configuration import Configuration


@dataclass
class Replica:
    log: list[str] = field(default_factory=list)
    synced: int = 0
    up: bool = True
    """Reachable for the controller."""
    fetches: bool = True
    """From the leader."""


class Partition:
    """Replica 0 leads at first. Records that the producer takes for written are in `acknowledged`."""

    def __init__(self, configuration: Configuration) -> None:
        self.c = configuration
        self.replicas = [Replica() for _ in range(configuration.replication)]
        self.isr = list(range(configuration.replication))
        self.eligible: set[int] = set()
        self.leader: int | None = 0
        self.acknowledged: list[str] = []

    def send(self, record: str, *, to: int | None = None, replicate: bool = True) -> bool:
        """Whether the producer takes it for written. to: a broker that the client believes to lead."""
        to = self.leader if to is None else to
        if self.c.acks == 0:
            self.acknowledged.append(record)
        if to is None or (self.c.acks == "all" and len(self.isr) < self.minimum):
            return self.c.acks == 0
        self.replicas[to].log.append(record)
        if self.c.flush_messages == 1:
            self.replicas[to].synced = len(self.replicas[to].log)
        if replicate and to == self.leader:
            self.replicate()
        has_it = all(record in self.replicas[each].log for each in self.isr)
        if self.c.acks == 1 or (self.c.acks == "all" and has_it and to == self.leader):
            self.acknowledged.append(record)
            return True
        return self.c.acks == 0

    @property
    def minimum(self) -> int:
        return min(self.c.min_isr, self.c.replication)

    def replicate(self) -> None:
        """Followers that can fetch make their logs those of the leader."""
        if self.leader is None:
            return
        source = self.replicas[self.leader].log
        for number, replica in enumerate(self.replicas):
            if number != self.leader and replica.up and replica.fetches:
                common = 0
                while common < min(len(source), len(replica.log)) and source[common] == replica.log[common]:
                    common += 1
                replica.log[:] = source
                replica.synced = len(source) if self.c.flush_messages == 1 else min(replica.synced, common)

    def rejoin(self) -> None:
        self.replicate()
        if self.leader is not None:
            self.isr = [number for number, each in enumerate(self.replicas) if each.up and each.fetches]
            if len(self.isr) >= self.minimum:
                self.eligible = set()

    def leave_isr(self, number: int) -> None:
        """With eligible leader replicas the ISR may become empty; without, the last one stays."""
        if number not in self.isr or (not self.c.elr and self.isr == [number]):
            return
        self.isr.remove(number)
        if self.c.elr and len(self.isr) < self.minimum:
            self.eligible.add(number)

    def down(self, number: int) -> None:
        """The controller does not reach it."""
        self.replicas[number].up = False
        self.leave_isr(number)
        if self.leader == number:
            self.last_leader, self.leader = number, None
            self.elect()

    def returns(self, number: int, *, uncleanly: bool) -> None:
        self.replicas[number].up = True
        if uncleanly:
            self.eligible.discard(number)
        self.elect()

    def elect(self) -> None:
        """ISR, then eligible replicas, then the last leader where nothing else is known, then unclean."""
        if self.leader is not None:
            return
        living = [number for number, each in enumerate(self.replicas) if each.up]
        choices = [number for number in living if number in self.isr]
        choices = choices or [number for number in living if number in self.eligible]
        if not choices and self.c.elr and not self.isr and not self.eligible:
            choices = [number for number in living if number == self.last_leader]
        works = self.c.mode == "zookeeper" or self.c.number >= (3, 9, 0)
        if not choices and self.c.unclean and works:
            choices = living
        if choices:
            self.leader = choices[0]
            self.isr = [self.leader] if self.leader not in self.isr else self.isr
            self.eligible.discard(self.leader)

    def lost(self) -> set[str]:
        assert self.leader is not None, "the partition is to be whole again at the end"
        return set(self.acknowledged) - set(self.replicas[self.leader].log)

    def lose_power(self, number: int) -> None:
        replica = self.replicas[number]
        del replica.log[replica.synced :]

    def wipe(self, number: int) -> None:
        self.replicas[number].log.clear()
        self.replicas[number].synced = 0
