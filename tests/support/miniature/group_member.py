"""A client that polls and commits as a member of a consumer group."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tests.support.miniature.client import Client
from tests.support.miniature.group import Group, Member
from tests.support.miniature.partition import Partition
from tests.support.miniature.scheduler import Steps
from tests.support.miniature.state import State
from tests.support.miniature.transactions import TRANSACTION_TIMEOUT


class GroupMember(Client):
    """Polls the partitions that it is assigned, commits, and revokes them when a rebalance begins."""

    def __init__(self, state: State, process: int, group: Group, instance: str | None = None) -> None:
        super().__init__(state, process, "member")
        self.group, self.instance = group, instance
        self.positions: dict[int, int] = {}
        """Of the partitions that it owns."""
        self._logs: dict[int, Partition] = {}
        """To which the positions belong."""
        self._outcomes: dict[int, str] = {}
        """Of its transactions by op, as the coordinator decided."""
        self._is_refused = False

    def work(self) -> Steps:
        while self.state.is_loaded:
            member = yield from self._join()
            yield from self._serve(member)
            if member.is_replaced:
                # FencedInstanceId is fatal.
                self.state.counts["replaced"] += 1
                return

    def _join(self) -> Steps:
        row = self._begin_event("joined", None)
        member = self.group.join(self.process, self.now, self.instance)
        yield self.delay()
        self.complete(row)
        return member

    def _begin_event(self, event: str, partition: int | None, **columns: Any) -> dict[str, Any]:
        value = {"event": event, "member": f"m{self.process}", "auto_offset_reset": self.group.policy}
        if self.instance is not None:
            value["instance"] = self.instance
        return self.begin("member", partition=partition, value=value, group=self.group.name, **columns)

    def _serve(self, member: Member) -> Steps:
        """Until it leaves, or learns that its session timed out."""
        self._is_refused = False
        while True:
            member.last_heartbeat = self.now
            # It learns of its removal from a refused commit or, some time, from a heartbeat; until then it polls.
            chance = 0.02 if "fenced" in self.state.flaws else 0.2
            if member.is_removed and (self._is_refused or self.random.random() < chance):
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
                member.is_assigned = False
                self.assignment += 1
                yield from self._take_up(member, member.owned)
            elif any(changes := self.group.reconcile(member)):
                yield from self._change_over(member, *changes)
            elif self.positions and not member.has_joined:
                yield from self._poll(member)
            yield self.delay(10)

    def _end_ownership(self, event: str, member: Member, of: Collection[int] | None = None) -> Steps:
        """Of some partitions; None: of all."""
        lost = sorted(self.positions if of is None else self.positions.keys() & of)
        rows = [self._begin_event(event, number, generation=member.generation) for number in lost]
        if rows:
            yield self.delay(5)
        for row in rows:
            self.complete(row)
        for number in lost:
            del self.positions[number]

    def _change_over(self, member: Member, surplus: list[int], added: list[int]) -> Steps:
        """Give up or take up single partitions, and keep the others."""
        if surplus:
            yield from self._commit(member)
            yield from self._end_ownership("revoked", member, surplus)
            self.group.give_up(member, surplus)
        yield from self._take_up(member, added)

    def _take_up(self, member: Member, added: Collection[int]) -> Steps:
        generation = member.generation
        rows = {number: self._begin_event("assigned", number, generation=generation) for number in added}
        yield self.delay(5)
        for number, row in rows.items():
            while (start := self.group.start_offset(self.state.partitions[number])) is None:
                self.state.counts["unstable"] += 1
                yield self.delay(5)
            self._logs[number], self.positions[number] = self.state.partitions[number], start
            self.complete(row, start_offset=start)

    def _follow_topic(self) -> None:
        """Read a topic that was created again from its beginning."""
        for number in self.positions:
            if self._logs[number] is not self.state.partitions[number]:
                self._logs[number], self.positions[number] = self.state.partitions[number], 0

    def _poll(self, member: Member) -> Steps:
        self._follow_topic()
        number = self.random.choice(sorted(self.positions))
        partition = self.state.partitions[number]
        if self.positions[number] < partition.log_start and self.group.policy == "latest":
            # Without a reset, it would go on at the log end and leave records out.
            yield from self._seek(member, number, partition.log_start)
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
            yield from self._seek(member, number, self.random.randint(0, position))

    def _seek(self, member: Member, number: int, position: int) -> Steps:
        self.assignment += 1
        self.positions[number] = position
        yield from self._commit(member, reset=number)

    def _commit(self, member: Member, *, reset: int | None = None) -> Steps:
        """Commit all positions, or deliberately reset that of one partition."""
        if not self.positions:
            return
        self._follow_topic()
        generation = member.generation
        transaction = self._begin_transaction() if reset is None and self.random.random() < 0.2 else None
        rows = []
        for number, position in sorted(self.positions.items()):
            if reset is not None and number != reset:
                continue
            value: dict[str, Any] = {"member": f"m{self.process}"}
            if reset is not None:
                value["reset"] = True
            if transaction is not None:
                value["transaction"] = transaction["op"]
            offset = position + 2 if "beyond" in self.state.flaws else position
            columns = {"group": self.group.name, "generation": generation, "end_offset": offset}
            rows.append(self.begin("commit", partition=number, value=value, **columns))
        yield self.delay()
        # A transaction that timed out takes no more offsets.
        is_open = transaction is None or transaction["op"] not in self._outcomes
        is_accepted = is_open and self.group.accepts(member, generation)
        if is_accepted:
            for row in rows:
                if self._logs.get(row["partition"]) is not self.state.partitions[row["partition"]]:
                    continue
                self.group.commit(
                    row["partition"], row["end_offset"], None if transaction is None else transaction["op"]
                )
        member.last_heartbeat = self.now
        if transaction is not None:
            is_accepted = yield from self._end_transaction(transaction, is_accepted)
        yield self.delay(5)
        for row in (*rows, *([] if transaction is None else [transaction])):
            self.complete(row, "ok" if is_accepted else "fail")
        self.state.counts["refusals"] += 0 if is_accepted else len(rows)
        self._is_refused |= not is_accepted

    def _begin_transaction(self) -> dict[str, Any]:
        value = {"transactional_id": f"m{self.process}", "epoch": 0, "outcome": "commit", "ending": None}
        row = self.begin("txn", value=value)
        self.state.scheduler.start(self._coordinate(row))
        return row

    def _end_transaction(self, row: dict[str, Any], is_accepted: bool) -> Steps:
        """Request the end of a transaction that has only offsets. Whether it was committed."""
        row["value"] |= {"ending": self.now, "outcome": "commit" if is_accepted else "abort"}
        yield self.delay(5)
        self._outcomes.setdefault(row["op"], row["value"]["outcome"])
        return self._outcomes[row["op"]] == "commit"

    def _coordinate(self, row: dict[str, Any]) -> Steps:
        """The transaction coordinator: it writes the marker some time after the end was decided."""
        deadline = self.now + TRANSACTION_TIMEOUT
        while row["op"] not in self._outcomes and self.now < deadline:
            yield self.delay(5)
        outcome = self._outcomes.setdefault(row["op"], "abort")
        yield self.delay(60)
        self.group.settle(row["op"], outcome)
