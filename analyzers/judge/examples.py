"""The examples of a finding, as they appear in JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzers.catalogue.registry import ANOMALIES
from analyzers.history.surroundings import seconds


def example_json(anomaly: str, example: Mapping[str, Any], began: int | None) -> dict[str, Any]:
    """An example with its times in s.

    example  as Spark computed it, see `CheckResult`.
    began    time of the run's first operation, ns.
    """
    columns = ANOMALIES[anomaly].columns
    evidence = {
        name: columns[name].to_json(value, began) if name in columns else value
        for name, value in example.items()
    }
    return {**evidence, "time": seconds(example["time"], began)}


def computed_example(anomaly: str, example: Mapping[str, Any], began: int) -> dict[str, Any]:
    """The example as Spark computed it, from that of a stored verdict. Raises TypeError or KeyError for another one.

    Times in s have digits enough: a float distinguishes ns over days.
    """
    columns = ANOMALIES[anomaly].columns
    names = [*columns, *(name for name in example if name not in {*columns, "time", "faults"})]
    evidence = {
        name: columns[name].from_json(example[name], began) if name in columns else example[name]
        for name in names
        if name in example
    }
    time = example["time"]
    return {**evidence, "time": None if time is None else round(time * 1e9) + began}
