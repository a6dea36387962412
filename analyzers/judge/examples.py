"""The examples of a finding, as they appear in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzers.catalogue.registry import ANOMALIES
from analyzers.history.relative_time import seconds


def example_json(anomaly: str, example: Mapping[str, Any], began: int | None) -> dict[str, Any]:
    """An example with its times in s.

    example  as Spark computed it, see `Found`.
    began    time of the run's first operation, ns.
    """
    columns = ANOMALIES[anomaly].columns
    evidence = {
        name: columns[name].to_json(value, began) if name in columns else value
        for name, value in example.items()
    }
    return {**evidence, "time": seconds(example["time"], began)}
