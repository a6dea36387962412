"""Full and stalled disks, failing and forgetful ones: all need a file system of the node's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource
from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.kill import halt, halted, rouse, roused
from nemesis.faults.serving import serving

FULL = Resource(
    "disk space",
    any,
    lambda node, full: node.disk.fill() if full else node.disk.empty(),
    lambda node: None if node.disk.available() else "its disk is still full",
)


def _stall(node: Node, limit: float | None) -> None:
    node.disk.thaw()  # what stands already takes no new limit
    if limit is not None:
        node.disk.freeze(limit)


STALL = Resource(
    "disk",
    max,
    _stall,
    lambda node: "its disk still stands" if node.disk.frozen() else None,
)

SPARE = 15.0
"""Seconds after the fault's end in which a stalled disk goes on by itself, should nobody let it."""

FAILURE_LIMIT = 30.0
"""Seconds for a broker to notice that its disk has failed, and to end."""

RECORDED = "du -cb /k/data/*/*.log 2>/dev/null | tail -n 1 | cut -f 1"
"""Bytes of all logs."""


@dataclass(frozen=True, kw_only=True)
class DiskFull(Fault):
    """Not a byte is free. A broker whose only log directory is full ends itself; it is started at the end."""

    name: ClassVar[str] = "disk-full"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"disks"})

    def inject(self, context: FaultContext) -> None:
        context.notes["before"] = context.process.disk.available()
        context.desired.want(context.event, context.node, FULL, True)

    def verify_injected(self, context: FaultContext) -> Proof:
        # A write that is refused: what is left may be less than a block.
        status, said = context.process.disk.run(
            "head -c 1M /dev/zero > /k/data/.probe; s=$?; rm -f /k/data/.probe; exit $s"
        )
        available = context.process.disk.available()
        evidence = {
            "bytes_before": context.notes["before"],
            "bytes_available": available,
            "write": said.strip(),
        }
        return Proof(status != 0 and "No space" in said, evidence)

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["end"] = context.process.state()
        finally:
            context.desired.release(context.event, context.node, FULL)
        if context.desired.now(FULL, context.node) is None:
            # It may have ended itself: whoever wants nothing of it lets it run.
            context.processes.release(context.event, context.node)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, object] = {"state_before_heal": context.notes.get("end")}
        if context.desired.now(FULL, context.node) is not None:
            return Proof(True, {**evidence, "held_by": list(context.others)})
        evidence["bytes_available"] = available = context.process.disk.available()
        if context.processes.desired(context.node) != "running":
            return Proof(available > 0, {**evidence, "others": list(context.others)})
        served = serving(context)
        return Proof(available > 0 and served.effective, {**evidence, **served.evidence})


@dataclass(frozen=True, kw_only=True)
class DiskStall(Fault):
    """Every write waits, as on a disk that does not answer. Reads from memory go on."""

    name: ClassVar[str] = "disk-stall"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True  # a process that waits for such a disk cannot be killed
    needs: ClassVar[frozenset[str]] = frozenset({"disks"})

    def inject(self, context: FaultContext) -> None:
        context.desired.want(context.event, context.node, STALL, context.lasting + SPARE)

    def verify_injected(self, context: FaultContext) -> Proof:
        frozen = context.process.disk.frozen()
        return Proof(frozen, {"write_waits": frozen})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["end"] = context.process.disk.frozen()
        finally:
            context.desired.release(context.event, context.node, STALL)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, object] = {"write_waited_until_heal": context.notes.get("end")}
        if context.effective and not context.notes.get("end"):
            return Proof(False, {**evidence, "ended_early": "the disk went on before the fault's end"})
        if context.desired.now(STALL, context.node) is not None:
            return Proof(True, {**evidence, "held_by": list(context.others)})
        evidence["write_waits"] = frozen = context.process.disk.frozen()
        if frozen:
            return Proof(False, evidence)
        served = serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})


@dataclass(frozen=True, kw_only=True)
class PowerLoss(Fault):
    """The node loses power: its process is gone, and so is all that was not synced to its disk."""

    name: ClassVar[str] = "power-loss"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"disks"})

    def inject(self, context: FaultContext) -> None:
        context.notes["bytes"] = _recorded(context)
        context.process.disk.shut_down()
        # Without this, a mere kill would look the same.
        status, _ = context.process.disk.run("touch /k/data/.probe && rm /k/data/.probe")
        context.notes["refused"] = status != 0
        halt(context)

    def verify_injected(self, context: FaultContext) -> Proof:
        proof, refused = halted(context), context.notes["refused"]
        kept = _recorded(context) if proof.effective else None
        logs = {"log_bytes_written": context.notes["bytes"], "log_bytes_on_disk": kept}
        return Proof(proof.effective and refused, {**proof.evidence, "access_refused": refused, **logs})

    def heal(self, context: FaultContext) -> None:
        rouse(context)

    def verify_healed(self, context: FaultContext) -> Proof:
        return roused(context)


@dataclass(frozen=True, kw_only=True)
class LogDirFailure(Fault):
    """Every access to the data fails. A broker with one log directory ends itself; it is started at the end."""

    name: ClassVar[str] = "log-dir-failure"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"disks"})

    def inject(self, context: FaultContext) -> None:
        process = context.process
        context.notes |= {"before": process.state(), "incarnation": process.incarnation()}
        process.disk.shut_down()
        context.notes["by_itself"] = context.until(lambda: process.state() == "stopped", FAILURE_LIMIT)
        context.processes.want(context.event, context.node, "stopped")

    def verify_injected(self, context: FaultContext) -> Proof:
        proof = halted(context)
        by_itself = context.notes["by_itself"]
        return Proof(proof.effective and by_itself, {**proof.evidence, "ended_by_itself": by_itself})

    def heal(self, context: FaultContext) -> None:
        rouse(context)

    def verify_healed(self, context: FaultContext) -> Proof:
        return roused(context)


def _recorded(context: FaultContext) -> int | None:
    _, output = context.process.disk.run(RECORDED)
    return int(output) if output.strip().isdigit() else None
