"""Evidence of a finding: each item has a meaning and a type, which decides how it is computed, stored and printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from workloads.history.schema import VALUE_BITS

WRITERS = 1 << 20
"""Processes are numbered below this. An operation with a higher number in its upper bits is no send of a value."""

NANOSECONDS = 1e9


@dataclass(frozen=True)
class Evidence:
    """One item of evidence. Use a subclass, which is the item's type.

    An item passes through three forms: the value that Spark computes, the value in a verdict's JSON, and text.
    """

    meaning: str
    """For the reader of a verdict, as a noun phrase."""
    sql: str | None = None
    """SQL over the columns of the check's fact. None: the column that has the name of the evidence."""

    optional: bool = False
    """Whether it applies to some findings only. Text leaves it out where it is null."""

    textual: ClassVar[bool] = False
    """Whether Spark returns it as text. Otherwise it is a 64-bit integer."""
    unit: ClassVar[str] = ""
    """Of the value in JSON."""

    def column(self, name: str) -> str:
        """SQL of the value that Spark computes; `name` is the name of the evidence."""
        return f"cast({self.sql or name} as {'string' if self.textual else 'bigint'})"

    def to_json(self, computed: Any, began: int | None) -> Any:  # noqa: ARG002
        """The value in JSON. began: ns, of the run's first operation; None where the run has none."""
        return computed

    def from_json(self, value: Any, began: int) -> Any:  # noqa: ARG002
        """The value that Spark computed. Raises TypeError for what `to_json` does not return."""
        return value

    def to_text(self, value: Any) -> str:
        """The value in JSON, as text. Accepts any JSON value: verdicts of other versions are printed, too."""
        return "unknown" if value is None else str(value)

    def explain(self, computed: Any, began: int | None) -> str:
        """The value that Spark computed, as text on its own."""
        return self.to_text(self.to_json(computed, began))


class Number(Evidence):
    """An integer: a count, or the id of a process, node, session or generation."""


class Offset(Number):
    """An offset of a log."""


class Value(Evidence):
    """What one send wrote: its writer and the writer's sequence number, as ``writer:sequence``."""

    def to_text(self, value: Any) -> str:
        if not _is_integer(value):
            return super().to_text(value)
        return f"{value >> VALUE_BITS}:{value & ((1 << VALUE_BITS) - 1)}"

    def names_write(self, value: int) -> bool:
        """Whether the number identifies what one send wrote."""
        return 0 <= value >> VALUE_BITS < WRITERS


class Operation(Value):
    """The number of an operation. That of a send is the value it wrote; others are plain numbers."""

    def to_text(self, value: Any) -> str:
        if _is_integer(value) and not self.names_write(value):
            return str(value)
        return super().to_text(value)

    def names_write(self, value: int) -> bool:
        return 0 < value >> VALUE_BITS < WRITERS


class Span(Evidence):
    """A length of time: ns in Spark, s in JSON."""

    unit = "s"

    def to_json(self, computed: Any, began: int | None) -> Any:  # noqa: ARG002
        return None if computed is None else computed / NANOSECONDS

    def from_json(self, value: Any, began: int) -> Any:  # noqa: ARG002
        return None if value is None else round(value * NANOSECONDS)

    def to_text(self, value: Any) -> str:
        return f"{value:.3f} s" if _is_number(value) else super().to_text(value)


class Moment(Span):
    """A point in time: ns of the host's clock in Spark, s since the run's first operation in JSON."""

    unit = "s since the run's first operation"

    def to_json(self, computed: Any, began: int | None) -> Any:
        return None if computed is None or began is None else (computed - began) / NANOSECONDS

    def from_json(self, value: Any, began: int) -> Any:
        return None if value is None else round(value * NANOSECONDS) + began

    def explain(self, computed: Any, began: int | None) -> str:
        value = self.to_json(computed, began)
        return "at an unknown time" if value is None else f"at {self.to_text(value)}"


class Text(Evidence):
    """A name or a sentence."""

    textual = True


class Listing(Evidence):
    """A list of integers or of texts; its SQL is an array."""

    textual = True

    def column(self, name: str) -> str:
        return f"to_json({self.sql or name})"

    def to_json(self, computed: Any, began: int | None) -> Any:  # noqa: ARG002
        return None if computed is None else json.loads(computed)

    def from_json(self, value: Any, began: int) -> Any:  # noqa: ARG002
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def to_text(self, value: Any) -> str:
        return ", ".join(map(str, value)) or "none" if isinstance(value, list) else super().to_text(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or _is_integer(value)
