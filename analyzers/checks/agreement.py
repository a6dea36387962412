"""An offset names one record, for everybody and for ever."""

from __future__ import annotations

from analyzers.checks.check import Check
from workloads.history.schema import VALUE_BITS

INCONSISTENT_OFFSETS = Check(
    anomaly="inconsistent-offsets",
    over="conflicts",
    where="not reused",
    time="settled",
    shows={
        "process": f"shiftright(high, {VALUE_BITS})",
        "op": "high",
        "offset": "offset",
        "value": "low",
        "other_value": "high",
    },
)

# The log was cut off and written anew: everybody agreed, first on this value and then on that one.
OFFSET_REUSE = Check(
    anomaly="offset-reuse",
    over="conflicts",
    where="reused",
    time="time",
    shows={
        "process": f"shiftright(latest, {VALUE_BITS})",
        "op": "latest",
        "offset": "offset",
        "value": "earliest",
        "other_value": "latest",
        "epoch": "epoch",
    },
)
