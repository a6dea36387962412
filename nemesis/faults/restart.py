"""Restart: the process ends, and a new one is started at once."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import Event
from nemesis.fault import Draw, Fault, FaultContext, Proof
from nemesis.steps.processes import KILLED, LIMIT, end_process
from nemesis.steps.serving import served_before, verify_serving


@dataclass(frozen=True, kw_only=True)
class Restart(Fault):
    """clean: whether the process ends by a controlled shutdown; otherwise by SIGKILL."""

    clean: bool = True

    name = "restart"
    family = "process"
    proved_by = (
        "the node served just before, and a new process runs; with `clean` the old one ended by itself"
    )
    end_proved_by = "the node serves"
    draw = Draw(weight=1, options=({}, {"clean": False}))
    momentary = True
    blocks_process = True
    strikes_serving = True

    def __post_init__(self) -> None:
        if not isinstance(self.clean, bool):
            raise ValueError(f"restart clean={self.clean!r}: expected True or False")

    def inject(self, context: FaultContext) -> None:
        end_process(context, gently=self.clean)
        context.notes["exit_code"] = context.node.exit_code()
        context.processes.release(context.event, context.node_id)

    def verify_injected(self, context: FaultContext) -> Proof:
        node, exit_code = context.node, context.notes["exit_code"]
        is_new = context.wait_until(lambda: node.incarnation() != context.notes["incarnation"], LIMIT)
        ended_as_wanted = not self.clean or exit_code != KILLED
        served = served_before(context, context.node_id)
        evidence = {"exit_code": exit_code, "new_incarnation": is_new, **served.evidence}
        return Proof(is_new and ended_as_wanted and served.effective, evidence)

    def heal(self, context: FaultContext) -> None:
        # This has an effect only if the injection failed half-way.
        context.processes.release(context.event, context.node_id)

    def verify_healed(self, context: FaultContext) -> Proof:
        if context.processes.wanted(context.node_id) != "running":
            return Proof(True, {"held_by": list(context.others)})
        return verify_serving(context)


def restart(target: str | int, *, at: float = 0, after: str | None = None, clean: bool = True) -> Event:
    """Stopped and started again at once; with ``clean=False`` killed and started."""
    return Event.of(Restart(clean=clean), target, at=at, after=after)
