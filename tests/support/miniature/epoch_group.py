"""A consumer group of the next-generation protocol (KIP-848): members change over one by one, each with its epoch."""

from __future__ import annotations

from tests.support.miniature.group import Group, Member


class EpochGroup(Group):
    """The generation is the epoch of the group; that of a member follows once it gave up what it has to."""

    def hands_over(self, _former: Member, _member: Member, /) -> bool:
        return False

    def rebalance(self, now: int, session_timeout: int) -> bool:
        """Compute the target assignment again whenever the members changed."""
        self.remove_silent(now, session_timeout)
        if not self.is_rebalancing:
            return False
        self.generation += 1
        self.is_rebalancing = False
        return True

    def reconcile(self, member: Member, /) -> tuple[list[int], list[int]]:
        if member not in self.members or self.is_rebalancing:
            return [], []
        target = self.share(self.members.index(member))
        surplus = [each for each in member.owned if each not in target]
        if surplus and "held" not in self.flaws:
            return surplus, []
        member.generation = self.generation
        others = {each for other in self.members if other is not member for each in other.owned}
        if self.flaws & {"held", "double"}:
            others = set()
        added = [each for each in target if each not in member.owned and each not in others]
        member.owned = (*member.owned, *added)
        return [], added

    def current(self, member: Member, /) -> int | None:
        return member.generation
