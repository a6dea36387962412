"""Full and stalled disks, failing and forgetful ones: all need a file system of the node's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.cluster import Node
from nemesis.desired import Resource
from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.faults.kill import halt, halted, rouse, roused
from nemesis.faults.serving import serving
from nemesis.ground import Ground
from nemesis.targets import Groups, Target

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


def need_disks(ground: Ground, target: Target | Groups) -> None:
    """Raises ValueError where nodes have no file systems of their own; ZooKeeper's never have."""
    if not ground.disks:
        raise ValueError("the nodes have no disks of their own; start them with ClusterSpec(disk_mb=256)")
    named = set(target.nodes) if isinstance(target, Groups) or target.kind == "node" else set()
    if without := named & set(ground.zookeepers):
        raise ValueError(
            f"ZooKeeper nodes {', '.join(map(str, sorted(without)))} have no disks of their own; brokers have: "
            f"{', '.join(map(str, ground.brokers))}"
        )


@dataclass(frozen=True, kw_only=True)
class DiskFull(Fault):
    """Not a byte is free. A broker whose only log directory is full ends itself; it is started at the end."""

    name: ClassVar[str] = "disk-full"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"disks"})

    def check(self, ground: Ground, target: Target | Groups) -> None:
        need_disks(ground, target)

    def inject(self, strike: Strike) -> None:
        strike.notes["before"] = strike.process.disk.available()
        strike.desired.want(strike.event, strike.node, FULL, True)

    def verify_injected(self, strike: Strike) -> Proof:
        # A write that is refused: what is left may be less than a block.
        status, said = strike.process.disk.run(
            "head -c 1M /dev/zero > /k/data/.probe; s=$?; rm -f /k/data/.probe; exit $s"
        )
        available = strike.process.disk.available()
        evidence = {
            "bytes_before": strike.notes["before"],
            "bytes_available": available,
            "write": said.strip(),
        }
        return Proof(status != 0 and "No space" in said, evidence)

    def heal(self, strike: Strike) -> None:
        try:
            strike.notes["end"] = strike.process.state()
        finally:
            strike.desired.release(strike.event, strike.node, FULL)
        if strike.desired.now(FULL, strike.node) is None:
            # It may have ended itself: whoever wants nothing of it lets it run.
            strike.processes.release(strike.event, strike.node)

    def verify_healed(self, strike: Strike) -> Proof:
        evidence: dict[str, object] = {"state_before_heal": strike.notes.get("end")}
        if strike.desired.now(FULL, strike.node) is not None:
            return Proof(True, {**evidence, "held_by": list(strike.others)})
        evidence["bytes_available"] = available = strike.process.disk.available()
        if strike.processes.desired(strike.node) != "running":
            return Proof(available > 0, {**evidence, "others": list(strike.others)})
        served = serving(strike)
        return Proof(available > 0 and served.effective, {**evidence, **served.evidence})


@dataclass(frozen=True, kw_only=True)
class DiskStall(Fault):
    """Every write waits, as on a disk that does not answer. Reads from memory go on."""

    name: ClassVar[str] = "disk-stall"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True  # a process that waits for such a disk cannot be killed
    needs: ClassVar[frozenset[str]] = frozenset({"disks"})

    def check(self, ground: Ground, target: Target | Groups) -> None:
        need_disks(ground, target)

    def inject(self, strike: Strike) -> None:
        strike.desired.want(strike.event, strike.node, STALL, strike.lasting + SPARE)

    def verify_injected(self, strike: Strike) -> Proof:
        frozen = strike.process.disk.frozen()
        return Proof(frozen, {"write_waits": frozen})

    def heal(self, strike: Strike) -> None:
        try:
            strike.notes["end"] = strike.process.disk.frozen()
        finally:
            strike.desired.release(strike.event, strike.node, STALL)

    def verify_healed(self, strike: Strike) -> Proof:
        evidence: dict[str, object] = {"write_waited_until_heal": strike.notes.get("end")}
        if strike.effective and not strike.notes.get("end"):
            return Proof(False, {**evidence, "ended_early": "the disk went on before the fault's end"})
        if strike.desired.now(STALL, strike.node) is not None:
            return Proof(True, {**evidence, "held_by": list(strike.others)})
        evidence["write_waits"] = frozen = strike.process.disk.frozen()
        if frozen:
            return Proof(False, evidence)
        served = serving(strike)
        return Proof(served.effective, {**evidence, **served.evidence})


@dataclass(frozen=True, kw_only=True)
class PowerLoss(Fault):
    """The node loses power: its process is gone, and so is all that was not synced to its disk."""

    name: ClassVar[str] = "power-loss"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"disks"})

    def check(self, ground: Ground, target: Target | Groups) -> None:
        need_disks(ground, target)

    def inject(self, strike: Strike) -> None:
        strike.notes["bytes"] = _recorded(strike)
        strike.process.disk.shut_down()
        # Without this, a mere kill would look the same.
        status, _ = strike.process.disk.run("touch /k/data/.probe && rm /k/data/.probe")
        strike.notes["refused"] = status != 0
        halt(strike)

    def verify_injected(self, strike: Strike) -> Proof:
        proof, refused = halted(strike), strike.notes["refused"]
        kept = _recorded(strike) if proof.effective else None
        logs = {"log_bytes_written": strike.notes["bytes"], "log_bytes_on_disk": kept}
        return Proof(proof.effective and refused, {**proof.evidence, "access_refused": refused, **logs})

    def heal(self, strike: Strike) -> None:
        rouse(strike)

    def verify_healed(self, strike: Strike) -> Proof:
        return roused(strike)


@dataclass(frozen=True, kw_only=True)
class LogDirFailure(Fault):
    """Every access to the data fails. A broker with one log directory ends itself; it is started at the end."""

    name: ClassVar[str] = "log-dir-failure"
    ours: ClassVar[bool] = True
    halts: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"disks"})

    def check(self, ground: Ground, target: Target | Groups) -> None:
        need_disks(ground, target)

    def inject(self, strike: Strike) -> None:
        process = strike.process
        strike.notes |= {"before": process.state(), "incarnation": process.incarnation()}
        process.disk.shut_down()
        strike.notes["by_itself"] = strike.until(lambda: process.state() == "stopped", FAILURE_LIMIT)
        strike.processes.want(strike.event, strike.node, "stopped")

    def verify_injected(self, strike: Strike) -> Proof:
        proof = halted(strike)
        by_itself = strike.notes["by_itself"]
        return Proof(proof.effective and by_itself, {**proof.evidence, "ended_by_itself": by_itself})

    def heal(self, strike: Strike) -> None:
        rouse(strike)

    def verify_healed(self, strike: Strike) -> Proof:
        return roused(strike)


def _recorded(strike: Strike) -> int | None:
    _, output = strike.process.disk.run(RECORDED)
    return int(output) if output.strip().isdigit() else None
