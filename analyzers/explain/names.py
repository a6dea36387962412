"""How values and operations are numbered in the tables of an explanation."""

from __future__ import annotations

from workloads.history.schema import VALUE_BITS


def value_name(value: int | None) -> str:
    """A value as writer:sequence."""
    if value is None:
        return "no value of this run"
    return f"{value >> VALUE_BITS}:{value & ((1 << VALUE_BITS) - 1)}"


def operation_name(op: int) -> str:
    """An operation as process:sequence if its id has that form, else as a plain number."""
    return value_name(op) if 0 < op >> VALUE_BITS < 1 << 20 else str(op)
