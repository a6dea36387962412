"""CPU limit: the process gets little processor time, and stands still for the rest."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource
from nemesis.event import OPEN, Event
from nemesis.fault import Draw, Fault, FaultContext, Proof
from nemesis.faults.cpu_app import cpu_app
from nemesis.steps.serving import verify_serving
from nemesis.targets import names_application
from nemesis.validation import number


def _remains(node: Node) -> str | None:
    cores = node.cpu_limit() if node.state() == "running" else None
    return None if cores is None else f"it is still limited to {cores:g} cores"


CPU = Resource("cpu", min, lambda node, cores: node.limit_cpu(cores), _remains)
"""Processor time, in cores."""

LIMIT = 10.0
"""Seconds in which the kernel must have throttled the process."""

HEAL_LIMIT = 5.0
"""Seconds after the heal in which the limit must be the one that is wanted."""


@dataclass(frozen=True, kw_only=True)
class Cpu(Fault):
    """cores: processor time of the process, such as 0.1 for a tenth of one core."""

    cores: float = 0.1

    name = "cpu"
    family = "resources"
    proved_by = "the limit is in force, and the kernel throttled the process"
    end_proved_by = "the limit is lifted, and the node serves"
    draw = Draw(weight=1, options=({"cores": 0.02}, {"cores": 0.05}))
    changes_cluster = True
    takes_nodes_down = False
    needs_process = True
    needs = frozenset({"limits"})

    def __post_init__(self) -> None:
        number("cpu cores", self.cores, least=0.01, most=4096)

    def inject(self, context: FaultContext) -> None:
        context.notes |= {"before": context.node.throttled(), "incarnation": context.node.incarnation()}
        context.resources.want(context.event, context.node_id, CPU, self.cores)

    def verify_injected(self, context: FaultContext) -> Proof:
        node, before = context.node, context.notes["before"]
        is_throttled = context.wait_until(lambda: node.throttled() > before, LIMIT)
        cores, throttled = node.cpu_limit(), node.throttled()
        is_as_wanted = _equal(cores, context.resources.wanted(CPU, context.node_id))
        return Proof(is_throttled and is_as_wanted, {"cores": cores, "held_back": throttled - before})

    def heal(self, context: FaultContext) -> None:
        context.resources.release(context.event, context.node_id, CPU)

    def verify_healed(self, context: FaultContext) -> Proof:
        node, notes = context.node, context.notes
        evidence: dict[str, object] = {"held_back": None}
        # A process that does not run has no counters, and those of a new process start at zero.
        if node.state() == "running" and node.incarnation() == notes.get("incarnation"):
            evidence["held_back"] = node.throttled() - notes["before"]
        if (state := context.processes.wanted(context.node_id)) != "running":
            return Proof(True, {**evidence, "not_checked": f"{', '.join(context.others)} keeps it {state}"})

        def is_as_wanted() -> bool:
            evidence["cores"] = cores = node.cpu_limit()
            return _equal(cores, context.resources.wanted(CPU, context.node_id))

        # Another fault may be changing the limit at this moment.
        if not context.wait_until(is_as_wanted, HEAL_LIMIT):
            return Proof(False, evidence)
        served = verify_serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})


def _equal(cores: float | None, wanted: float | None) -> bool:
    """Whether they are equal, apart from the kernel's rounding."""
    return cores == wanted or (cores is not None and wanted is not None and abs(cores - wanted) < 0.001)


def cpu(
    target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None, cores: float = 0.1
) -> Event:
    """The process gets the time of ``cores`` cores, and stands still for the rest. Of an application, all processes
    of an instance together."""
    if names_application(target):
        return cpu_app(str(target), at=at, after=after, lasting=lasting, cores=cores)
    return Event.of(Cpu(cores=cores), target, at=at, after=after, lasting=lasting)
