"""CPU limit: the process gets little of the processors' time, and stands still for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource
from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.serving import serving
from nemesis.validation import number


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

    def inject(self, context: FaultContext) -> None:
        context.notes |= {"before": context.process.cpu()[1], "incarnation": context.process.incarnation()}
        context.desired.want(context.event, context.node, CPU, self.cores)

    def verify_injected(self, context: FaultContext) -> Proof:
        process, before = context.process, context.notes["before"]
        held = context.until(lambda: process.cpu()[1] > before, LIMIT)
        cores, throttled = process.cpu()
        as_wanted = _same(cores, context.desired.now(CPU, context.node))
        return Proof(held and as_wanted, {"cores": cores, "held_back": throttled - before})

    def heal(self, context: FaultContext) -> None:
        process, notes = context.process, context.notes
        try:
            # A process that does not run cannot be asked, and a new one counts anew.
            if process.state() == "running" and process.incarnation() == notes.get("incarnation"):
                notes["held_back"] = process.cpu()[1] - notes["before"]
        finally:
            context.desired.release(context.event, context.node, CPU)

    def verify_healed(self, context: FaultContext) -> Proof:
        wanted = context.desired.now(CPU, context.node)
        evidence: dict[str, object] = {"held_back": context.notes.get("held_back")}
        if (state := context.processes.desired(context.node)) != "running":
            return Proof(True, {**evidence, "not_asked": f"{', '.join(context.others)} wants it {state}"})
        evidence["cores"] = cores = context.process.cpu()[0]
        if not _same(cores, wanted):
            return Proof(False, evidence)
        served = serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})


def _same(cores: float | None, wanted: float | None) -> bool:
    """But for what the kernel rounds."""
    return cores == wanted or (cores is not None and wanted is not None and abs(cores - wanted) < 0.001)
