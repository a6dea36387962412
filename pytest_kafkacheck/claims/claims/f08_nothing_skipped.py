"""Members that commit every few polls join a group, crash and leave it, and its coordinator is killed, while records
are written.

Exercised: after each of these events every partition was read again, members lost their partitions, and the crash
left records that were handled and not committed.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.handling import Handler, uncommitted
from pytest_kafkacheck.claims.steps import killed

PARTITIONS = 4
LEFT_OVER = 5
"""Records that the member which crashes has handled and not committed shortly before."""

READ_LIMIT = 25.0
"""Seconds until every partition is read again."""


class Group:
    """Its members, and what all of them have done."""

    def __init__(self, context: ScenarioContext, topic: str, folder: Path, stack: ExitStack) -> None:
        self.members: list[Handler] = []
        self._context, self._topic, self._folder, self._stack = context, topic, folder, stack

    def join(self) -> Handler:
        settings = self._context.group_settings(f"{self._topic}-group")
        path = self._folder / f"member-{len(self.members)}"
        self.members.append(Handler(settings, self._topic, path))
        self._stack.callback(self.members[-1].crash)
        return self.members[-1]

    def handled(self) -> Counter[tuple[int, int]]:
        """How often each record was handled, by partition and offset."""
        return Counter(
            (line.partition, line.offset)
            for member in self.members
            for line in member.lines()
            if line.kind == "handled"
        )

    def goes_on(self, after: str) -> None:
        """Wait until records of every partition are handled that were not before. Raises NotExercised."""
        before = _ends(self.handled())
        self._context.require(
            lambda: all(_ends(self.handled())[each] > before[each] for each in range(PARTITIONS)),
            READ_LIMIT,
            f"every partition is read after {after}",
        )

    @property
    def losses(self) -> int:
        return sum(line.kind == "lost" for member in self.members for line in member.lines())


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(*[context.brokers] * PARTITIONS, config={"min.insync.replicas": 2})
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkacheck-members-")))
        group = Group(context, topic, folder, stack)
        writer = context.writer(topic, partitions=PARTITIONS)
        group.join()
        second = group.join()
        group.goes_on("two members have joined")
        third = group.join()
        group.goes_on("a third one has joined")
        context.require(
            lambda: uncommitted(second.lines()) >= LEFT_OVER,
            20,
            f"{LEFT_OVER} records that are not committed",
        )
        second.crash()
        left_over = uncommitted(second.lines())
        group.goes_on("the second one has crashed")
        coordinator = context.cluster.coordinator("group", f"{topic}-group")
        exercised(coordinator is not None, "the group has no coordinator")
        with killed(context, coordinator or 0):
            group.goes_on("the coordinator was killed")
        context.cluster.wait_settled()
        third.leave()
        group.goes_on("the third one has left")
        acked = writer.stop()
        written = {
            (number, offset)
            for number in range(PARTITIONS)
            for offset in context.read(topic, partition=number)
        }
        context.wait(lambda: set(group.handled()) >= written, READ_LIMIT)
        handled = group.handled()
        bound = sum(uncommitted(member.lines()) for member in group.members)
        losses = group.losses
    exercised(losses > 0, "no member lost partitions")
    exercised(left_over > 0, "all that the crashed member had handled was committed")
    skipped = len(written - set(handled))
    twice = handled.total() - len(handled)
    return Answer(
        holds=not skipped and twice <= bound,
        seen=f"of {len(written)} records ({len(acked)} acknowledged) {skipped} were skipped; {twice} were handled "
        f"again, of {bound} that were handled and not committed when a member lost its partitions",
        figures={"skipped": skipped, "handled again": twice, "not committed": bound},
    )


def _ends(records: Counter[tuple[int, int]]) -> dict[int, int]:
    """The highest offset by partition; -1 without one."""
    found = dict.fromkeys(range(PARTITIONS), -1)
    for partition, offset in records:
        found[partition] = max(found[partition], offset)
    return found


CLAIM = Claim(
    id="F8",
    title="nothing is skipped over a rebalance",
    text="No record is skipped when members join, leave and crash. Records are handled again, at most those that "
    "were handled and not committed.",
    source="https://kafka.apache.org/documentation/#design_consumerposition",
    cases=CURRENT,
    show=show,
)
