"""Corrupted and wiped replicas: what a node finds on its disk after a crash is not what it had written."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.kill import halt, halted, rouse, roused
from nemesis.targets import Groups, Target
from nemesis.topology import Topology
from nemesis.validation import brokers_only, choice, count

How = Literal["truncate", "flip"]

SEGMENT = "ls /k/data/{}/*.log | tail -n 1"

KEPT = ("meta.properties", "bootstrap.checkpoint", "__cluster_metadata-0", "lost+found")
"""What a wiped node keeps: who it is, and the cluster's metadata."""

LARGEST = 2**31 - 1
"""Bytes: no segment has more."""


@dataclass(frozen=True, kw_only=True)
class Corrupt(Fault):
    """The process is killed, the end of a partition's last segment damaged, and the process started at the end.

    how   "truncate" cuts the last `size` bytes off, "flip" turns the bits of the byte that many from the end.
    size  bytes.
    The partition is the one the target speaks of, such as ``follower:orders-1``; else the workload's first.
    """

    how: How = "truncate"
    size: int = 100

    name: ClassVar[str] = "corrupt"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choice("corrupt how", self.how, get_args(How))
        count("corrupt size", self.size, most=LARGEST)

    def check(self, topology: Topology, target: Target | Groups) -> None:
        _need_topic(topology)
        brokers_only(topology, target, "have no partition of a topic")

    def inject(self, context: FaultContext) -> None:
        halt(context)
        topic, partition = context.log
        segment = SEGMENT.format(shlex.quote(f"{topic}-{partition}"))
        damage = f"truncate -s -{self.size} $f"
        if self.how == "flip":
            damage = (
                f"at=$(($(stat -c %s $f) - {self.size})); old=$(od -An -tu1 -j $at -N 1 $f); "
                f'printf "\\\\$(printf %o $((old ^ 255)))" | dd of=$f bs=1 seek=$at conv=notrunc status=none'
            )
        script = (
            f"f=$({segment}) && [ $(stat -c %s $f) -gt {self.size} ] && stat -c %s $f && md5sum < $f "
            f"&& {damage} && stat -c %s $f && md5sum < $f"
        )
        context.notes["status"], context.notes["output"] = context.process.disk.run(script)

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when the file is another one than before."""
        proof, said = halted(context), context.notes["output"].split()
        if context.notes["status"] or len(said) < 6:
            reason = context.notes["output"].strip() or f"the segment has no more than {self.size} bytes"
            return Proof(False, {**proof.evidence, "not_damaged": reason})
        size, digest, _, size_after, digest_after, _ = said
        evidence = {**proof.evidence, "bytes_before": int(size), "bytes_after": int(size_after)}
        return Proof(proof.effective and digest != digest_after, evidence)

    def heal(self, context: FaultContext) -> None:
        rouse(context)

    def verify_healed(self, context: FaultContext) -> Proof:
        return roused(context)


@dataclass(frozen=True, kw_only=True)
class Wipe(Fault):
    """The process is killed, all its partitions are removed from its disk, and it is started at the end."""

    name: ClassVar[str] = "wipe"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True

    def check(self, topology: Topology, target: Target | Groups) -> None:
        brokers_only(topology, target, "have no replicas")

    def inject(self, context: FaultContext) -> None:
        halt(context)
        keep = " ".join(f"! -name {name}" for name in KEPT)
        find = f"find /k/data -mindepth 1 -maxdepth 1 {keep}"
        script = f"{find} | wc -l; {find} -exec rm -rf {{}} +; {find} | wc -l"
        context.notes["status"], context.notes["output"] = context.process.disk.run(script)

    def verify_injected(self, context: FaultContext) -> Proof:
        proof, said = halted(context), context.notes["output"].split()
        if context.notes["status"] or len(said) != 2:
            return Proof(False, {**proof.evidence, "not_wiped": context.notes["output"].strip()})
        removed, left = map(int, said)
        return Proof(proof.effective and removed > 0 and not left, {**proof.evidence, "removed": removed})

    def heal(self, context: FaultContext) -> None:
        rouse(context)

    def verify_healed(self, context: FaultContext) -> Proof:
        return roused(context)


def _need_topic(topology: Topology) -> None:
    if not topology.topics:
        raise ValueError("the workload has no topic whose segments could be damaged")
