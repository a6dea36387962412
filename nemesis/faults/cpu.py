"""CPU limit: the process gets little of the processors' time, and stands still for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.cluster import Node
from nemesis.desired import Resource
from nemesis.faults.checked import number
from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.faults.serving import serving


def _left(node: Node) -> str | None:
    cores = node.cpu()[0] if node.state() == "running" else None
    return None if cores is None else f"it is still limited to {cores:g} cores"


CPU = Resource("cpu", min, lambda node, cores: node.limit_cpu(cores), _left)
"""Cores' time."""

LIMIT = 10.0
"""Seconds in which the kernel must have held the process back."""


@dataclass(frozen=True, kw_only=True)
class Cpu(Fault):
    """cores: how much of the processors' time, such as 0.1 for a tenth of one."""

    cores: float = 0.1

    name: ClassVar[str] = "cpu"
    ours: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def __post_init__(self) -> None:
        number("cpu cores", self.cores, least=0.01, most=4096)

    def inject(self, strike: Strike) -> None:
        strike.notes |= {"before": strike.process.cpu()[1], "incarnation": strike.process.incarnation()}
        strike.desired.want(strike.event, strike.node, CPU, self.cores)

    def verify_injected(self, strike: Strike) -> Proof:
        process, before = strike.process, strike.notes["before"]
        held = strike.until(lambda: process.cpu()[1] > before, LIMIT)
        cores, throttled = process.cpu()
        as_wanted = _same(cores, strike.desired.now(CPU, strike.node))
        return Proof(held and as_wanted, {"cores": cores, "held_back": throttled - before})

    def heal(self, strike: Strike) -> None:
        process, notes = strike.process, strike.notes
        try:
            # A process that does not run cannot be asked, and a new one counts anew.
            if process.state() == "running" and process.incarnation() == notes.get("incarnation"):
                notes["held_back"] = process.cpu()[1] - notes["before"]
        finally:
            strike.desired.release(strike.event, strike.node, CPU)

    def verify_healed(self, strike: Strike) -> Proof:
        wanted = strike.desired.now(CPU, strike.node)
        evidence: dict[str, object] = {"held_back": strike.notes.get("held_back")}
        if (state := strike.processes.desired(strike.node)) != "running":
            return Proof(True, {**evidence, "not_asked": f"{', '.join(strike.others)} wants it {state}"})
        evidence["cores"] = cores = strike.process.cpu()[0]
        if not _same(cores, wanted):
            return Proof(False, evidence)
        served = serving(strike)
        return Proof(served.effective, {**evidence, **served.evidence})


def _same(cores: float | None, wanted: float | None) -> bool:
    """But for what the kernel rounds."""
    return cores == wanted or (cores is not None and wanted is not None and abs(cores - wanted) < 0.001)
