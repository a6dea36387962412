"""Aggregates: what an application made of all inputs of a key, judged by a function of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from workloads.clients.kafka_python.outputs import Output
from workloads.clients.protocol import Log


class UnknownAggregate(Exception):
    """The function of the user gave no answer. The message says for which key."""


class Aggregate(NamedTuple):
    """inputs: in their order. outputs: of each partition of the sink in their order."""

    key: str
    inputs: list[Output]
    outputs: list[Output]

    def is_complete(self, positions: Mapping[Log, int]) -> bool:
        """Whether the group has passed all inputs, so that nothing can change it any more."""
        return all(each.offset < positions.get(each.log, 0) for each in self.inputs)

    def wrong(self, judge: Callable[..., Any]) -> str | None:
        """What is wrong with it; None for nothing. Raises UnknownAggregate."""
        try:
            answer = judge(self.key, list(self.inputs), list(self.outputs))
        except Exception as error:
            raise UnknownAggregate(f"aggregate raised {type(error).__name__} ({error}) for {self}") from error
        if answer is True:
            return None
        if answer is False:
            return "the function aggregate returned False"
        if isinstance(answer, str) and answer:
            return answer
        raise UnknownAggregate(
            f"aggregate returned {answer!r} for {self}: expected True, False, or text that says what is wrong"
        )

    def __str__(self) -> str:
        return f"{self.key} with {len(self.inputs):,} inputs and {len(self.outputs):,} outputs"


def by_key(
    inputs: Iterable[Output], outputs: Iterable[Output], keys_of: Callable[[Output], Iterable[str]]
) -> tuple[list[Aggregate], list[Output]]:
    """One for each key of the inputs, and the outputs that name a key of none.

    keys_of  the keys to which an output belongs; none for a record that is no output.
    """
    found: dict[str, Aggregate] = {}
    for each in sorted(inputs, key=lambda each: (each.log, each.offset)):
        key = key_of(each)
        found.setdefault(key, Aggregate(key, [], [])).inputs.append(each)
    strange = []
    for output in sorted(outputs, key=lambda each: (each.log, each.offset)):
        keys = dict.fromkeys(keys_of(output))
        for key in keys:
            if key in found:
                found[key].outputs.append(output)
        if any(key not in found for key in keys):
            strange.append(output)
    return list(found.values()), strange


def key_of(record: Output) -> str:
    return (record.key or b"").decode(errors="replace")
