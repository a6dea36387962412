"""A client that polls and commits as a member of a consumer group."""

from __future__ import annotations

from typing import Any

from tests.support.miniature.client import Client
from tests.support.miniature.group import Group, Member
from tests.support.miniature.scheduler import Steps
from tests.support.miniature.state import State


class GroupMember(Client):
    """Polls the partitions that it is assigned, commits, and revokes them when a rebalance begins."""

    def __init__(self, state: State, process: int, group: Group) -> None:
        super().__init__(state, process, "member")
        self.group = group
        self.positions: dict[int, int] = {}
        self._is_refused = False

    def work(self) -> Steps:
        while self.state.is_loaded:
            member = yield from self._join()
            yield from self._serve(member)

    def _join(self) -> Steps:
        row = self._begin_event("joined", None)
        member = self.group.join(self.process, self.now)
        yield self.delay()
        self.complete(row)
        return member

    def _begin_event(self, event: str, partition: int | None, **columns: Any) -> dict[str, Any]:
        value = {"event": event, "member": f"m{self.process}"}
        return self.begin("member", partition=partition, value=value, group=self.group.name, **columns)

    def _serve(self, member: Member) -> Steps:
        """Until it leaves, or learns that its session timed out."""
        self._is_refused = False
        while True:
            member.last_heartbeat = self.now
            # It learns of its removal from a refused commit or, some time, from a heartbeat; until then it polls.
            if member.is_removed and (self._is_refused or self.random.random() < 0.2):
                yield from self._end_ownership("lost", member)
                self.state.counts["removals"] += 1
                return
            if not self.state.is_loaded or self.random.random() < 0.01:
                yield from self._commit(member)
                yield from self._end_ownership("revoked", member)
                row = self._begin_event("left", None)
                yield self.delay(5)
                self.group.leave(member)
                self.complete(row)
                return
            if member.must_revoke:
                if self.random.random() < 0.7:
                    yield from self._commit(member)
                yield from self._end_ownership("revoked", member)
                # An assignment of the generation that ends now is void if the member has not taken it up.
                member.must_revoke, member.has_joined, member.is_assigned = False, True, False
            elif member.is_assigned:
                yield from self._take_assignment(member)
            elif self.positions and not member.has_joined:
                yield from self._poll(member)
            yield self.delay(10)

    def _end_ownership(self, event: str, member: Member) -> Steps:
        rows = [
            self._begin_event(event, number, generation=member.generation)
            for number in sorted(self.positions)
        ]
        if rows:
            yield self.delay(5)
        for row in rows:
            self.complete(row)
        self.positions.clear()

    def _take_assignment(self, member: Member) -> Steps:
        member.is_assigned = False
        self.assignment += 1
        generation = member.generation
        rows = {
            number: self._begin_event("assigned", number, generation=generation) for number in member.owned
        }
        yield self.delay(5)
        for number, row in rows.items():
            self.positions[number] = self.group.start_offset(number)
            self.complete(row, start_offset=self.positions[number])

    def _poll(self, member: Member) -> Steps:
        number = self.random.choice(sorted(self.positions))
        partition = self.state.partitions[number]
        position = yield from self.poll(
            partition,
            self.positions[number],
            committed=self.group.read_committed,
            generation=member.generation,
        )
        self.positions[number] = position
        if self.random.random() < 0.3:
            yield from self._commit(member)
        elif self.random.random() < 0.03 and not (member.is_removed or member.must_revoke):
            self.assignment += 1
            self.positions[number] = self.random.randint(0, position)
            yield from self._commit(member, reset=number)

    def _commit(self, member: Member, *, reset: int | None = None) -> Steps:
        """Commit all positions, or deliberately reset that of one partition."""
        if not self.positions:
            return
        generation = member.generation
        rows = []
        for number, position in sorted(self.positions.items()):
            if reset is not None and number != reset:
                continue
            value: dict[str, Any] = {"member": f"m{self.process}"}
            if reset is not None:
                value["reset"] = True
            columns = {"group": self.group.name, "generation": generation, "end_offset": position}
            rows.append(self.begin("commit", partition=number, value=value, **columns))
        yield self.delay()
        accepted = [
            self.group.commit(member, generation, row["partition"], row["end_offset"]) for row in rows
        ]
        member.last_heartbeat = self.now
        yield self.delay(5)
        for row, is_accepted in zip(rows, accepted, strict=True):
            self.complete(row, "ok" if is_accepted else "fail")
            self.state.counts["refusals"] += not is_accepted
            self._is_refused |= not is_accepted
