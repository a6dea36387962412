"""A verdict as one object of the list that ``kafkacheck analyze --json`` writes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from analyzers.verdict.verdict import Verdict

VALID = {"valid": True, "invalid": False, "unknown": "unknown"}


def entry(verdict: Verdict, file: str) -> dict[str, Any]:
    """file: the run's folder. The keys are those that Jepsen uses for the same things."""
    findings = sorted(verdict.findings, key=lambda finding: finding.anomaly)
    bad = [each.anomaly for each in findings if each.severity == "invalid" and not each.allowed]
    return {
        "file": file,
        "run": verdict.run,
        "valid": VALID[verdict.result],
        "error-types": [each.anomaly for each in findings],
        "bad-error-types": bad,
        "errors": {
            each.anomaly: {"count": each.count, "examples": [dict(example) for example in each.examples]}
            for each in findings
        },
        "unknowns": list(verdict.unknowns),
        "causes": [asdict(cause) for cause in verdict.causes],
    }
