"""Faults of clients: processes that die, stand still, or lose their way to the brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.targets import Family

LIMIT = 15.0
"""Seconds for a process to be seen in the state it was brought to."""


@dataclass(frozen=True, kw_only=True)
class KillClient(Fault):
    """SIGKILL; at the end another process begins that does the same."""

    name: ClassVar[str] = "kill-client"
    strikes: ClassVar[Family] = "clients"
    down: ClassVar[bool] = False
    halts: ClassVar[bool] = True

    def inject(self, context: FaultContext) -> None:
        context.clients.kill(context.node)
        context.notes["killed"] = True

    def verify_injected(self, context: FaultContext) -> Proof:
        gone = context.until(lambda: context.node not in context.clients.roles(), LIMIT)
        return Proof(gone, {"process": context.node})

    def heal(self, context: FaultContext) -> None:
        if context.notes.get("killed"):
            context.notes["new"] = context.clients.replace(context.node)

    def verify_healed(self, context: FaultContext) -> Proof:
        new = context.notes.get("new")
        return Proof(new is None or new in context.clients.roles(), {"replaced_by": new})


@dataclass(frozen=True, kw_only=True)
class PauseClient(Fault):
    """SIGSTOP and SIGCONT."""

    name: ClassVar[str] = "pause-client"
    strikes: ClassVar[Family] = "clients"
    down: ClassVar[bool] = False
    halts: ClassVar[bool] = True

    def inject(self, context: FaultContext) -> None:
        context.clients.pause(context.node)

    def verify_injected(self, context: FaultContext) -> Proof:
        paused = context.until(lambda: context.clients.paused(context.node), LIMIT)
        return Proof(paused, {"paused": paused})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["end"] = context.clients.paused(context.node)
        finally:
            context.clients.resume(context.node)

    def verify_healed(self, context: FaultContext) -> Proof:
        runs = context.until(lambda: not context.clients.paused(context.node), LIMIT)
        there = context.node in context.clients.roles()
        evidence: dict[str, object] = {"paused_until_heal": context.notes.get("end"), "runs": runs and there}
        if context.effective and not context.notes.get("end"):
            return Proof(False, {**evidence, "ended_early": "it ran, or was gone, before the fault's end"})
        return Proof(runs and there, evidence)


@dataclass(frozen=True, kw_only=True)
class IsolateClient(Fault):
    """Nothing passes between the process and any broker, and neither side is told."""

    name: ClassVar[str] = "isolate-client"
    strikes: ClassVar[Family] = "clients"
    down: ClassVar[bool] = False

    def inject(self, context: FaultContext) -> None:
        context.clients.isolate(context.node)

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when it was seen to try in vain."""
        tried = context.until(lambda: bool(context.clients.isolated(context.node)), LIMIT)
        return Proof(tried, {"tried_in_vain": context.clients.isolated(context.node)})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["tried"] = context.clients.isolated(context.node)
        finally:
            context.clients.connect(context.node)

    def verify_healed(self, context: FaultContext) -> Proof:
        tried = context.notes.get("tried")
        connected = context.until(lambda: context.clients.isolated(context.node) is None, LIMIT)
        evidence: dict[str, object] = {"tried_in_vain": tried, "connected": connected}
        if context.effective and tried is None:
            return Proof(False, {**evidence, "ended_early": "it was connected before the fault's end"})
        return Proof(connected, evidence)
