"""A producer's records are in the log in the order in which it sent them."""

from __future__ import annotations

from analyzers.checks.check import Check

NONMONOTONIC_SEND = Check(
    anomaly="nonmonotonic-send",
    over="sends",
    where="offset <= previous",
    time="time",
    shows={"process": "process", "op": "op", "offset": "offset", "previous": "previous", "value": "value"},
)
