"""The rows that a nemesis writes to the table ``operations`` of the history."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from nemesis.event import Event
from nemesis.fault_context import Proof

Stage = Literal["inject", "heal"]


def action_row(
    event: Event,
    stage: Stage,
    nodes: Collection[int],
    proof: Proof,
    *,
    invoked: int,
    completed: int,
    planned: int | None = None,
    error: str | None = None,
    window: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The row of an injection or a heal. Times are monotonic ns.

    nodes    client processes, for a fault of clients.
    planned  when it was due; None where it had no time, because its trigger did not come or the run was stopped.
    """
    is_of_clients = event.fault.target_family == "clients"
    value: dict[str, Any] = {
        "event": event.id,
        "stage": stage,
        "target": event.target.to_json(),
        "nodes": [] if is_of_clients else list(nodes),
        "effective": proof.effective,
        "evidence": dict(proof.evidence),
    }
    if options := event.fault.options():
        value["options"] = options
    if is_of_clients:
        value["processes"] = list(nodes)
    if event.fault.removes_records:
        value["removes_records"] = True
    if planned is not None:
        value["planned"] = planned
    if proof.had_effect:
        value["had_effect"] = True
    if window is not None:
        value["active"] = dict(window)
    return {
        "f": event.fault.name,
        "type": "info",
        "invoked": invoked,
        "completed": completed,
        "value": value,
        "error": error,
    }


def heal_all_row(
    nodes: Collection[int], problems: list[str], *, invoked: int, completed: int
) -> dict[str, Any]:
    """The row that says what is left of faults at the end of a run."""
    value = {
        "event": "heal-all",
        "stage": "heal",
        "target": "all",
        "nodes": sorted(nodes),
        "effective": False,
        "evidence": {},
    }
    return {
        "f": "heal-all",
        "type": "info",
        "invoked": invoked,
        "completed": completed,
        "value": value,
        "error": "; ".join(problems),
    }
