"""Corrupt: after a crash, the end of a log on the node's disk is not what the broker had written."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal, get_args

from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext, Proof
from nemesis.steps.processes import EndsProcess, end_process
from nemesis.targets import Groups, Target, brokers_only
from nemesis.topology import Topology
from nemesis.validation import choice, count

How = Literal["truncate", "flip"]

LAST_SEGMENT = "ls /k/data/{}/*.log | tail -n 1"

LARGEST = 2**31 - 1
"""Bytes. No segment is larger."""


@dataclass(frozen=True, kw_only=True)
class Corrupt(EndsProcess):
    """The process is killed, and the end of a partition's last segment is damaged.

    how   "truncate" removes the last `size` bytes; "flip" inverts the byte that many from the end.
    size  bytes.
    The partition is the one that the target names, such as ``follower:orders-1``; otherwise partition 0 of the
    workload's main topic.
    """

    how: How = "truncate"
    size: int = 100

    name = "corrupt"
    family = "storage"
    proved_by = "the file differs from what it was"
    requires = "a target that is, or can be, a broker"
    draw = Draw(options=({}, {"how": "flip"}))
    changes_cluster = True
    destroys_records = True

    def __post_init__(self) -> None:
        choice("corrupt how", self.how, get_args(How))
        count("corrupt size", self.size, most=LARGEST)

    def check(self, topology: Topology, target: Target | Groups) -> None:
        brokers_only(topology, target, "have no partition of a topic")
        if topology.topics:
            return
        if not topology.any_topic:
            raise ValueError("the workload has no topic whose segments could be damaged")
        if not isinstance(target, Target) or target.topic is None:
            raise ValueError(
                "name the partition, such as 'follower:orders-0'; a test's own code has no main topic"
            )

    def inject(self, context: FaultContext) -> None:
        end_process(context)
        context.notes["status"], context.notes["output"] = context.node.disk.run(self._script(context))

    def _script(self, context: FaultContext) -> str:
        """Prints size and digest of the segment, each before and after the damage."""
        topic, partition = context.log
        segment = LAST_SEGMENT.format(shlex.quote(f"{topic}-{partition}"))
        damage = f"truncate -s -{self.size} $f"
        if self.how == "flip":
            damage = (
                f"at=$(($(stat -c %s $f) - {self.size})); old=$(od -An -tu1 -j $at -N 1 $f); "
                f'printf "\\\\$(printf %o $((old ^ 255)))" | dd of=$f bs=1 seek=$at conv=notrunc status=none'
            )
        return (
            f"f=$({segment}) && [ $(stat -c %s $f) -gt {self.size} ] && stat -c %s $f && md5sum < $f "
            f"&& {damage} && stat -c %s $f && md5sum < $f"
        )

    def verify_injected(self, context: FaultContext) -> Proof:
        proof, output = super().verify_injected(context), context.notes["output"].split()
        if context.notes["status"] or len(output) < 6:
            reason = context.notes["output"].strip() or f"the segment has no more than {self.size} bytes"
            return Proof(False, {**proof.evidence, "not_damaged": reason})
        size, digest, _, size_after, digest_after, _ = output
        evidence = {**proof.evidence, "bytes_before": int(size), "bytes_after": int(size_after)}
        return Proof(proof.effective and digest != digest_after, evidence)


def corrupt(
    target: str | int,
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
    how: How = "truncate",
    size: int = 100,
) -> Event:
    """Killed; the last ``size`` bytes of the partition's last segment are removed, or with ``how="flip"`` the byte
    that many from the end is inverted; started again at the end."""
    return Event.of(Corrupt(how=how, size=size), target, at=at, after=after, lasting=lasting)
