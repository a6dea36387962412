"""Tables of docs/anomalies.md, from the declarations of the checks: which are judged during a run, and why."""

from __future__ import annotations

from _blocks import table

from analyzers.catalogue.check import Live
from analyzers.catalogue.registry import BOUND_CHECKS, CATALOGUE, CHECKS, CYCLE_CHECKS


def blocks() -> dict[str, str]:
    """Name of a generated block to its Markdown."""
    live = {each.name: each.live for each in (*CHECKS, *BOUND_CHECKS.values(), *CYCLE_CHECKS)}
    judged: list[list[str]] = []
    others: dict[str, list[str]] = {}
    for anomaly in CATALOGUE:
        how, name = live[anomaly.name], f"[{anomaly.name}](#{anomaly.name.lower()})"
        if isinstance(how, Live):
            only = "only where nothing is to delete records" if how.if_records_stay else ""
            judged.append([name, only, how.because])
        else:
            others.setdefault(how.because, []).append(name)
    return {
        "live: judged": table(["anomaly", "condition", "why a finding stays"], judged),
        "live: not judged": table(
            ["anomaly", "why it is left to the verdict"],
            [[", ".join(names), because] for because, names in others.items()],
        ),
    }
