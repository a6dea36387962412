"""An anomaly: its entry in the catalogue, what a finding of it is about, and the evidence that an example holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

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


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A kind of subject. An example of a finding starts with the columns that say which one it is."""

    name: str
    columns: Mapping[str, Evidence] = field(default_factory=dict)
    """Columns that the fact has besides ``run``."""
    pattern: str
    """How one is printed, as a format string over its columns."""
    unknown: str = "unknown"
    """How it is printed where a column is null or missing."""

    def to_text(self, example: Mapping[str, Any]) -> str:
        """Which one an example of a finding is about."""
        if any(example.get(name) is None for name in self.columns):
            return self.unknown
        return self.pattern.format_map(
            {name: each.to_text(example[name]) for name, each in self.columns.items()}
        )


TOPIC, PARTITION, NODE_ID = Text("the topic"), Number("the partition"), Number("the node's id")

RUN = Subject(name="run", pattern="the run")
LOG = Subject(
    name="log",
    columns={"topic": TOPIC, "partition": PARTITION},
    pattern="{topic}-{partition}",
    unknown="no single partition",
)
TOPIC_NAME = Subject(
    name="topic", columns={"topic": TOPIC}, pattern="topic {topic}", unknown="an unknown topic"
)
REPLICA = Subject(
    name="replica",
    columns={"topic": TOPIC, "partition": PARTITION, "node": NODE_ID},
    pattern="{topic}-{partition} on node {node}",
    unknown="an unknown replica",
)
NODE = Subject(name="node", columns={"node": NODE_ID}, pattern="node {node}", unknown="an unknown node")
GROUP = Subject(
    name="group",
    columns={"group": Text("the consumer group")},
    pattern="group {group}",
    unknown="an unknown group",
)
TRANSACTIONAL_ID = Subject(
    name="transactional id",
    columns={"transactional_id": Text("the transactional id")},
    pattern="transactional id {transactional_id}",
    unknown="an unknown transactional id",
)
CONTROLLERS = Subject(name="controllers", pattern="the controllers")
"""A run has one cluster, and a cluster one active controller at a time."""

Severity = Literal["invalid", "unknown", "note"]
Family = Literal[
    "log",
    "sessions",
    "order",
    "transactions",
    "groups",
    "queues",
    "applications",
    "metadata",
    "replication",
    "availability",
]

CHOICE = re.compile(r"\(([^|()]+)\|([^|()]+)\)")
"""Words of a sentence for one and for several."""

FAMILIES: tuple[Family, ...] = get_args(Family)
"""In the order of verdicts and documents."""


@dataclass(frozen=True, kw_only=True)
class Anomaly:
    name: str
    """Stable: JSON, reports and users' tests refer to it."""
    family: Family
    rank: int = 1000
    """Position within the family in verdicts and documents; equal ones are sorted by name."""
    severity: Severity = "invalid"
    """``invalid``: a promise was broken. ``unknown``: whether it was kept cannot be determined. ``note``: Kafka does
    not promise otherwise; reported, never judged."""
    jepsen: str | None = None
    """Jepsen's name, where `jepsen.tests.kafka` reports something similar."""
    subject: Subject = LOG
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    """What an example holds besides its subject, its time and the faults active then; in the order of printing."""
    since: str | None = None
    """The name of the evidence, a `Moment`, that says when it may have begun: its faults are those active at any time
    from then on. None: when it happened."""
    until: str | None = None
    """As `since`, of what followed from it: its faults are those until then, where that is later than its time."""

    sentence: str
    """For the reader of a verdict. It follows the count, which decides about each ``(s)`` and ``(was|were)``."""
    definition: str
    """Exactly when it is reported, and what one count stands for (``counted per ...``)."""
    means: str
    """In plain words, for the documents; as are the following."""
    promised: str
    """What Kafka promises, under which settings and since which version."""
    causes: str
    look_further: str
    """What to examine next."""

    @property
    def columns(self) -> dict[str, Evidence]:
        """Those of the subject, then the evidence."""
        return {**self.subject.columns, **self.evidence}

    @property
    def link(self) -> str:
        """Where it is explained, from the root of the project."""
        return f"docs/anomalies.md#{self.name}"

    def summary(self, count: int) -> str:
        text = self.sentence.replace("(s)", "" if count == 1 else "s")
        return CHOICE.sub(r"\1" if count == 1 else r"\2", text)

    def about(self, example: Mapping[str, Any]) -> str:
        """Which subject an example is about, as text."""
        return self.subject.to_text(example)
