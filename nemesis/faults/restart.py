"""Restart: the process ends and begins again at once; and the same for many nodes, one after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, Proof, Strike
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

    def inject(self, strike: Strike) -> None:
        halt(strike, gently=self.clean)
        strike.notes["exit_code"] = strike.process.exit_code()
        strike.processes.release(strike.event, strike.node)

    def verify_injected(self, strike: Strike) -> Proof:
        process = strike.process
        new = strike.until(lambda: process.incarnation() != strike.notes["incarnation"], LIMIT)
        asked = not self.clean or strike.notes["exit_code"] != KILLED
        return Proof(new and asked, {"exit_code": strike.notes["exit_code"], "new_incarnation": new})

    def heal(self, strike: Strike) -> None:
        strike.processes.release(
            strike.event, strike.node
        )  # nothing happens unless the injection failed half-way

    def verify_healed(self, strike: Strike) -> Proof:
        if strike.processes.desired(strike.node) != "running":
            return Proof(True, {"held_by": list(strike.others)})
        return serving(strike)


@dataclass(frozen=True, kw_only=True)
class RollingRestart(Fault):
    """Controlled restarts of the target's nodes, each when the one before serves again."""

    name: ClassVar[str] = "rolling-restart"
    together: ClassVar[bool] = True
    in_turn: ClassVar[bool] = True
    momentary: ClassVar[bool] = True
    halts: ClassVar[bool] = True

    def inject(self, strike: Strike) -> None:
        seen = strike.notes.setdefault("restarted", {})
        for node in strike.nodes:
            process = strike.cluster.nodes[node]
            before = process.incarnation()
            strike.processes.want(strike.event, node, "stopped", gently=True)
            gently = process.state() == "stopped" and process.exit_code() != KILLED
            strike.processes.release(strike.event, node)
            served = strike.until(lambda node=node: strike.cluster.serving(node), SERVING_LIMIT)  # type: ignore[misc]
            new = process.incarnation() != before
            seen[node] = {"ended_by_itself": gently, "new_incarnation": new, "serving": served}
            if not served:  # the next one would make it two
                return

    def verify_injected(self, strike: Strike) -> Proof:
        seen = strike.notes["restarted"]
        whole = len(seen) == len(strike.nodes) and all(all(each.values()) for each in seen.values())
        return Proof(whole, {"restarted": {str(node): each for node, each in seen.items()}})

    def heal(self, strike: Strike) -> None:
        problems = []
        for node in strike.nodes:  # nothing happens unless the injection failed half-way
            try:
                strike.processes.release(strike.event, node)
            except Exception as problem:
                problem.add_note(f"while starting node {node}")
                problems.append(problem)
        if problems:
            raise ExceptionGroup("not every node could be started", problems)

    def verify_healed(self, strike: Strike) -> Proof:
        states = {
            node: strike.cluster.nodes[node].state()
            for node in strike.nodes
            if strike.processes.desired(node) == "running"
        }
        running = all(state == "running" for state in states.values())
        return Proof(running, {"states": {str(node): state for node, state in states.items()}})
