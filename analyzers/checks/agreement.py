"""An offset names one record, for everybody and for ever."""

from __future__ import annotations

from analyzers.checks.check import Check
from workloads.history.schema import VALUE_BITS

INCONSISTENT_OFFSETS = Check(
    anomaly="inconsistent-offsets",
    over="offsets",
    where="low < high",
    time="time",
    shows={
        "process": f"shiftright(high, {VALUE_BITS})",
        "op": "high",
        "offset": "offset",
        "value": "low",
        "other_value": "high",
    },
)
