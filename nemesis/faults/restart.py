"""Restart: the process ends and begins again at once; and the same for many nodes, one after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.kill import KILLED, LIMIT, halt
from nemesis.faults.serving import LIMIT as SERVING_LIMIT
from nemesis.faults.serving import serving


@dataclass(frozen=True, kw_only=True)
class Restart(Fault):
    """clean: by a controlled shutdown; otherwise by SIGKILL."""

    clean: bool = True

    name: ClassVar[str] = "restart"
    momentary: ClassVar[bool] = True
    halts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.clean, bool):
            raise ValueError(f"restart clean={self.clean!r}: expected True or False")

    def inject(self, context: FaultContext) -> None:
        halt(context, gently=self.clean)
        context.notes["exit_code"] = context.process.exit_code()
        context.processes.release(context.event, context.node)

    def verify_injected(self, context: FaultContext) -> Proof:
        process = context.process
        new = context.until(lambda: process.incarnation() != context.notes["incarnation"], LIMIT)
        asked = not self.clean or context.notes["exit_code"] != KILLED
        return Proof(new and asked, {"exit_code": context.notes["exit_code"], "new_incarnation": new})

    def heal(self, context: FaultContext) -> None:
        context.processes.release(
            context.event, context.node
        )  # nothing happens unless the injection failed half-way

    def verify_healed(self, context: FaultContext) -> Proof:
        if context.processes.desired(context.node) != "running":
            return Proof(True, {"held_by": list(context.others)})
        return serving(context)


@dataclass(frozen=True, kw_only=True)
class RollingRestart(Fault):
    """Controlled restarts of the target's nodes, each when the one before serves again."""

    name: ClassVar[str] = "rolling-restart"
    together: ClassVar[bool] = True
    in_turn: ClassVar[bool] = True
    momentary: ClassVar[bool] = True
    halts: ClassVar[bool] = True

    def inject(self, context: FaultContext) -> None:
        seen = context.notes.setdefault("restarted", {})
        for node in context.nodes:
            process = context.cluster.nodes[node]
            before = process.incarnation()
            context.processes.want(context.event, node, "stopped", gently=True)
            gently = process.state() == "stopped" and process.exit_code() != KILLED
            context.processes.release(context.event, node)
            served = context.until(lambda node=node: context.cluster.serving(node), SERVING_LIMIT)  # type: ignore[misc]
            new = process.incarnation() != before
            seen[node] = {"ended_by_itself": gently, "new_incarnation": new, "serving": served}
            if not served:  # the next one would make it two
                return

    def verify_injected(self, context: FaultContext) -> Proof:
        seen = context.notes["restarted"]
        whole = len(seen) == len(context.nodes) and all(all(each.values()) for each in seen.values())
        return Proof(whole, {"restarted": {str(node): each for node, each in seen.items()}})

    def heal(self, context: FaultContext) -> None:
        problems = []
        for node in context.nodes:  # nothing happens unless the injection failed half-way
            try:
                context.processes.release(context.event, node)
            except Exception as problem:
                problem.add_note(f"while starting node {node}")
                problems.append(problem)
        if problems:
            raise ExceptionGroup("not every node could be started", problems)

    def verify_healed(self, context: FaultContext) -> Proof:
        states = {
            node: context.cluster.nodes[node].state()
            for node in context.nodes
            if context.processes.desired(node) == "running"
        }
        running = all(state == "running" for state in states.values())
        return Proof(running, {"states": {str(node): state for node, state in states.items()}})
