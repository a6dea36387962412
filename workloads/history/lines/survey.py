"""The first pass over a history as JSON lines: identities get their numbers, and the records of a client their order.

A poll may stand before the send whose record it returned, and a send before the transaction that decides about it. So
a second pass writes the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from workloads.history.lines.fields import is_whole
from workloads.history.lines.parse import Line, Problems
from workloads.history.schema import VALUE_BITS

Token = str | int

PROCESSES = (1 << 20) - 1
"""Process numbers are below this; it stands for the unknown writer of what nobody sent."""

NEVER = math.inf


@dataclass(kw_only=True, slots=True)
class Send:
    """A send, from its completion, or from its invocation as long as it has none."""

    line: int
    process: Token
    topic: str
    partition: int | None
    invoked: int | None
    is_complete: bool


@dataclass(kw_only=True, slots=True)
class Transaction:
    line: int
    type: str
    outcome: str
    completed: int | None
    has_ending: bool

    def decide(self, type: str) -> str:
        """The type of a send or a commit in it, of which the client knew `type`."""
        if type == "fail" or self.type == "fail":
            return "fail"
        if self.type == "ok":
            return type if self.outcome == "commit" else "fail"
        return "info"


@dataclass(kw_only=True)
class Survey:
    """What the lines of a file say together."""

    sends: dict[Token, Send] = field(default_factory=dict)
    transactions: dict[Token, Transaction] = field(default_factory=dict)
    operations: dict[Token, int] = field(default_factory=dict)
    """By name, the line that has it first."""
    processes: dict[Token, int] = field(default_factory=dict)
    sessions: dict[Token, int] = field(default_factory=dict)
    values: dict[Token, int] = field(default_factory=dict)
    """Of all sends. `stray` adds those that nobody sent."""
    indices: dict[int, int] = field(default_factory=dict)
    """By line, the position of its first record among those of its process."""
    partitions: dict[str, int] = field(default_factory=dict)
    """The lowest known partition of each topic."""
    members: set[Token] = field(default_factory=set)
    """Clients that take part in a group."""
    changes: dict[Token, list[tuple[int, str | None, int | None]]] = field(default_factory=dict)
    """By client, the events with which it gets or loses partitions: when each began, topic and partition, or None for
    all."""
    committing: set[str] = field(default_factory=set)
    owning: set[str] = field(default_factory=set)
    """Groups with a commit, and with an assignment."""
    kinds: set[str] = field(default_factory=set)
    lines: int = 0
    strays: int = 0

    @property
    def has_endings(self) -> bool:
        """Whether the times at which clients requested the ends of transactions are recorded: without them, those of
        acknowledged ends are missing, too."""
        return all(each.has_ending for each in self.transactions.values() if each.type == "ok")

    def assignment(self, process: Token, topic: str, partition: int, at: int) -> int:
        """The number of events before this moment with which a client got or lost this partition."""
        return sum(
            began <= at and (of is None or (of, number) == (topic, partition))
            for began, of, number in self.changes.get(process, ())
        )

    def stray(self, value: Token) -> int:
        """The number of a value that a client got, and that no line says was sent."""
        if value not in self.values:
            self.values[value] = PROCESSES << VALUE_BITS | self.strays
            self.strays += 1
        return self.values[value]

    def clients(self) -> dict[int, str]:
        """Names by number, where a number alone would not be the name."""
        named = {number: str(token) for token, number in self.processes.items() if token != number}
        return named | ({PROCESSES: "an unknown client"} if self.strays else {})


def survey(lines: Iterable[Line], problems: Problems) -> Survey:
    """Lines that contradict each other are added to the problems."""
    found = Survey()
    keyed: dict[str, int] = {}
    described: set[str] = set()
    order: dict[Token, list[tuple[float, float, float, int, int]]] = {}
    processes: dict[Token, None] = {}
    sessions: dict[Token, None] = {}
    for line in lines:
        found.lines += 1
        found.kinds.add(line.kind.f)
        fields = line.fields
        for token in _processes(line):
            processes.setdefault(token)
        if "session" in fields:
            sessions.setdefault(fields["session"])
        for topic, partition in _logs(line):
            found.partitions[topic] = min(found.partitions.get(topic, partition), partition)
        if line.kind.f == "send":
            _take_send(found, line, problems)
            if "key" in fields:
                keyed.setdefault(fields["topic"], line.number)
        elif "op" in fields:
            _take_operation(found, line, problems)
        if line.kind.f == "topic" or (fields.get("kind") == "settings" and "topic" in fields):
            described.add(fields["topic"])
        if line.kind.f == "poll":
            at = fields["invoked"], fields.get("index", NEVER), NEVER
            order.setdefault(fields["process"], []).append((*at, line.number, len(fields["records"])))
        if line.kind.f == "send" and not line.is_invocation:
            at = fields.get("invoked", 0), fields.get("index", NEVER), fields.get("offset", NEVER)
            order.setdefault(fields["process"], []).append((*at, line.number, 1))
        if line.kind.f in ("member", "subscribe", "commit"):
            found.members.add(fields["process"])
        if line.kind.f == "member" and fields["type"] != "fail" and fields["event"] != "joined":
            log = fields.get("topic"), fields.get("partition")
            found.changes.setdefault(fields["process"], []).append((fields["invoked"], *log))
        if line.kind.f == "commit":
            found.committing.add(fields["group"])
        if line.kind.f == "member" and fields["event"] == "assigned":
            found.owning.add(fields["group"])
    _complete(found, order, problems)
    for topic, number in sorted(keyed.items(), key=lambda each: each[1]):
        if topic not in described:
            problems.add(
                number,
                f"send key: no line with f topic describes {topic}; expected one such as "
                f'{{"f": "topic", "topic": "{topic}", "invoked": 0, "config": {{"cleanup.policy": "delete"}}}}, '
                f"because compaction may remove records with keys",
            )
    found.processes = _numbered(processes, below=PROCESSES)
    found.sessions = _numbered(sessions, below=1 << 31)
    found.values = _values(found)
    found.indices = dict(_indices(order))
    return found


def _processes(line: Line) -> Iterator[Token]:
    for each in line.kind.fields:
        if each.refers == "process" and each.name in line.fields:
            token = line.fields[each.name]
            yield from token if isinstance(token, list) else [token]


def _logs(line: Line) -> Iterator[tuple[str, int]]:
    if line.kind.by != "client":
        return
    for fields in line.fields.get("records", [line.fields]):
        if "topic" in fields and "partition" in fields:
            yield fields["topic"], fields["partition"]


def _take_send(found: Survey, line: Line, problems: Problems) -> None:
    fields = line.fields
    value, now = fields["value"], Send(
        line=line.number,
        process=fields["process"],
        topic=fields["topic"],
        partition=fields.get("partition"),
        invoked=fields.get("invoked"),
        is_complete=not line.is_invocation,
    )  # fmt: skip
    before = found.sends.get(value)
    if before is None:
        found.sends[value] = now
        return
    if before.is_complete or not now.is_complete:
        problems.add(
            line.number,
            f"send value: {value!r} was sent in line {before.line} already; expected a value that no other send has, "
            f"because a reader could not tell which of them it got",
        )
        return
    for name in ("process", "topic"):
        if getattr(before, name) != getattr(now, name):
            problems.add(
                line.number,
                f"send {name}: {getattr(now, name)!r} completes the send that {getattr(before, name)!r} invoked in "
                f"line {before.line}; expected the same {name}",
            )
            return
    now.invoked = before.invoked if now.invoked is None else now.invoked
    now.partition = before.partition if now.partition is None else now.partition
    found.sends[value] = now


def _take_operation(found: Survey, line: Line, problems: Problems) -> None:
    op = line.fields["op"]
    if line.kind.f == "txn":
        if op in found.transactions:
            problems.add(
                line.number,
                f"txn op: {op!r} names the transaction of line {found.transactions[op].line} already; expected a "
                f"name that no other transaction has",
            )
        found.transactions[op] = Transaction(
            line=line.number,
            type=line.fields["type"],
            outcome=line.fields["outcome"],
            completed=line.fields.get("completed"),
            has_ending="ending" in line.fields,
        )
        found.operations[op] = line.number
    else:
        found.operations.setdefault(op, line.number)


def _complete(
    found: Survey, order: dict[Token, list[tuple[float, float, float, int, int]]], problems: Problems
) -> None:
    """Sends get the time of their invocation, and those without completion a place in the order."""
    missing = {send.line: send.invoked for send in found.sends.values() if send.is_complete}
    for places in order.values():
        for position, (invoked, index, offset, number, count) in enumerate(places):
            if number in missing and missing[number] is None:
                problems.add(
                    number,
                    "send invoked: missing, and no line with type invoke says it; expected one of both",
                )
            places[position] = (missing.get(number) or invoked, index, offset, number, count)
    for send in found.sends.values():
        if not send.is_complete and send.invoked is not None:
            order.setdefault(send.process, []).append((send.invoked, NEVER, NEVER, send.line, 1))


def _numbered(tokens: Iterable[Token], *, below: int) -> dict[Token, int]:
    """Numbers are kept if all are fit to be; otherwise each identity gets the next one."""
    every = list(tokens)
    if all(is_whole(token) and 0 <= int(token) < below for token in every):
        return {token: int(token) for token in every}
    return {token: number for number, token in enumerate(every, start=1)}


def _values(found: Survey) -> dict[Token, int]:
    """Of each send. Values that are numbers of the tables, as those of an exported run, are kept."""
    if all(
        is_whole(value) and int(value) >> VALUE_BITS == found.processes[send.process]
        for value, send in found.sends.items()
    ):
        return {value: int(value) for value in found.sends}
    sequences: dict[Token, int] = {}
    values: dict[Token, int] = {}
    for value, send in found.sends.items():
        sequence = sequences[send.process] = sequences.get(send.process, -1) + 1
        values[value] = found.processes[send.process] << VALUE_BITS | sequence
    return values


def _indices(order: Mapping[Token, list[tuple[float, float, float, int, int]]]) -> Iterator[tuple[int, int]]:
    for places in order.values():
        position = 0
        for *_, number, count in sorted(places):
            yield number, position
            position += count
