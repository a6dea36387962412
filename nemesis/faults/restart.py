"""Restart: the process ends and begins again at once; and the same for many nodes, one after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.faults.kill import LIMIT, halt
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
        return Proof(new, {"exit_code": strike.notes["exit_code"], "new_incarnation": new})

    def verify_healed(self, strike: Strike) -> Proof:
        if strike.processes.desired(strike.node) != "running":
            return Proof(True, {"held_by": list(strike.others)})
        return serving(strike)


@dataclass(frozen=True, kw_only=True)
class RollingRestart(Fault):
    """Controlled restarts of the target's nodes, each when the one before serves again."""

    name: ClassVar[str] = "rolling-restart"
    together: ClassVar[bool] = True
    momentary: ClassVar[bool] = True
    halts: ClassVar[bool] = True

    def inject(self, strike: Strike) -> None:
        seen = strike.notes.setdefault("restarted", {})
        for node in strike.nodes:
            process = strike.cluster.nodes[node]
            before = process.incarnation()
            strike.processes.want(strike.event, node, "stopped", gently=True)
            strike.processes.release(strike.event, node)
            served = strike.until(lambda node=node: strike.cluster.serving(node), SERVING_LIMIT)  # type: ignore[misc]
            seen[node] = {"new_incarnation": process.incarnation() != before, "serving": served}
            if not served:  # the next one would make it two
                return

    def verify_injected(self, strike: Strike) -> Proof:
        seen = strike.notes["restarted"]
        whole = len(seen) == len(strike.nodes) and all(all(each.values()) for each in seen.values())
        return Proof(whole, {"restarted": {str(node): each for node, each in seen.items()}})
