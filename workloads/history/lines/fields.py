"""What a kind of line consists of: the importer, the exporter and the printed schema derive from this declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from workloads.history.lines.types import COUNT, NAME, TEXT, TIME, TOKEN, Type, choice

VERSION = 1
"""Of the schema."""

IGNORED = "x_"
"""Fields whose names begin so belong to the program that writes the file."""


DOUBTS = "doubts"
"""The key of ``format.json`` with a sentence for each thing that the history does not contain and a verdict needs."""


IMPORTED = "imported"
"""The key of the column ``value`` of rows of the harness that need no phases of a run beside them."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a line."""

    name: str
    type: Type
    means: str
    required: bool = False
    column: str | None = None
    """Of the table; None: the column that has the name of the field."""
    in_value: bool = False
    """It is a key of the column ``value``, a JSON object, and no column."""
    refers: Literal["process", "session", "value", "operation"] | None = None
    """What the identity names, which gets a number in the tables."""
    unknown: str | None = None
    """What nobody can say if the field is missing. None: that it is missing has a meaning, which `means` gives."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of line, named by its field ``f``."""

    f: str
    means: str
    fields: tuple[Field, ...]
    by: Literal["client", "harness", "nemesis", "probe"] = "client"
    """Who acts. Only a client has a process of its own."""
    needs: str | None = None
    """What a file with such a line has to contain besides, and what follows if it does not."""

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        return {field.name: field for field in self.fields}


def field(name: str, type: Type, means: str, **more: object) -> Field:
    return Field(name=name, type=type, means=means, **more)  # type: ignore[arg-type]


def needed(name: str, type: Type, means: str, **more: object) -> Field:
    return field(name, type, means, required=True, **more)


def inside(name: str, type: Type, means: str, **more: object) -> Field:
    """A key of the column ``value``."""
    return field(name, type, means, in_value=True, **more)


COMPLETION = choice("ok", "fail", "info")

SPAN = (
    field(
        "invoked", TIME, "when the client began it; of a send that has an invoke line, that line may say it"
    ),
    field("completed", TIME, "when the client knew the outcome; absent: it never did, and type is info"),
)

OF_ALL = (
    needed("type", COMPLETION, "ok: it happened; fail: it did not happen; info: unknown"),
    *SPAN,
    field("error", TEXT, "the error that the client got"),
    field(
        "op",
        TOKEN,
        "names the operation, so that other lines can refer to it; absent: nobody does",
        refers="operation",
    ),
)
"""Of the operations of clients."""

OF_CLIENTS = (
    needed("process", TOKEN, "the client: never used again after a crash", refers="process"),
    field(
        "session",
        TOKEN,
        "the user for whom several clients act one after another; absent: this client",
        refers="session",
    ),
    *OF_ALL,
)

OF_OTHERS = (
    field("type", COMPLETION, "absent: ok"),
    needed("invoked", TIME, "when it began"),
    field("completed", TIME, "when it ended; absent: the same"),
)

TOPIC = needed("topic", NAME, "the topic")

LOG = (TOPIC, needed("partition", COUNT, "the partition"))
