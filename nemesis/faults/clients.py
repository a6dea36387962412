"""Faults of clients: processes that die, stand still, or lose their way to the brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, Proof, Strike
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

    def inject(self, strike: Strike) -> None:
        strike.clients.kill(strike.node)
        strike.notes["killed"] = True

    def verify_injected(self, strike: Strike) -> Proof:
        gone = strike.until(lambda: strike.node not in strike.clients.roles(), LIMIT)
        return Proof(gone, {"process": strike.node})

    def heal(self, strike: Strike) -> None:
        if strike.notes.get("killed"):
            strike.notes["new"] = strike.clients.replace(strike.node)

    def verify_healed(self, strike: Strike) -> Proof:
        new = strike.notes.get("new")
        return Proof(new is None or new in strike.clients.roles(), {"replaced_by": new})


@dataclass(frozen=True, kw_only=True)
class PauseClient(Fault):
    """SIGSTOP and SIGCONT."""

    name: ClassVar[str] = "pause-client"
    strikes: ClassVar[Family] = "clients"
    down: ClassVar[bool] = False
    halts: ClassVar[bool] = True

    def inject(self, strike: Strike) -> None:
        strike.clients.pause(strike.node)

    def verify_injected(self, strike: Strike) -> Proof:
        paused = strike.until(lambda: strike.clients.paused(strike.node), LIMIT)
        return Proof(paused, {"paused": paused})

    def heal(self, strike: Strike) -> None:
        try:
            strike.notes["end"] = strike.clients.paused(strike.node)
        finally:
            strike.clients.resume(strike.node)

    def verify_healed(self, strike: Strike) -> Proof:
        runs = strike.until(lambda: not strike.clients.paused(strike.node), LIMIT)
        there = strike.node in strike.clients.roles()
        evidence: dict[str, object] = {"paused_until_heal": strike.notes.get("end"), "runs": runs and there}
        if strike.effective and not strike.notes.get("end"):
            return Proof(False, {**evidence, "ended_early": "it ran, or was gone, before the fault's end"})
        return Proof(runs and there, evidence)


@dataclass(frozen=True, kw_only=True)
class IsolateClient(Fault):
    """Nothing passes between the process and any broker, and neither side is told."""

    name: ClassVar[str] = "isolate-client"
    strikes: ClassVar[Family] = "clients"
    down: ClassVar[bool] = False

    def inject(self, strike: Strike) -> None:
        strike.clients.isolate(strike.node)

    def verify_injected(self, strike: Strike) -> Proof:
        """Effective when it was seen to try in vain."""
        tried = strike.until(lambda: bool(strike.clients.isolated(strike.node)), LIMIT)
        return Proof(tried, {"tried_in_vain": strike.clients.isolated(strike.node)})

    def heal(self, strike: Strike) -> None:
        try:
            strike.notes["tried"] = strike.clients.isolated(strike.node)
        finally:
            strike.clients.connect(strike.node)

    def verify_healed(self, strike: Strike) -> Proof:
        tried = strike.notes.get("tried")
        connected = strike.until(lambda: strike.clients.isolated(strike.node) is None, LIMIT)
        evidence: dict[str, object] = {"tried_in_vain": tried, "connected": connected}
        if strike.effective and tried is None:
            return Proof(False, {**evidence, "ended_early": "it was connected before the fault's end"})
        return Proof(connected, evidence)
