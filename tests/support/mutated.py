"""JSON with a few places changed, as people and crashes change files."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**400, -(2**63), 2**64, 1e308, float("nan"), float("inf")]),
    st.text(max_size=4),
    st.sampled_from(["leader", "1", "true", "isolate", "AppendLog", "..", "\x00", "é" * 300]),
    st.just([]),
    st.just({}),
    st.lists(st.integers(0, 2) | st.text(max_size=2), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers() | st.none(), max_size=2),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _places(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _places(each, (*path, number))


@st.composite
def mutated(draw: st.DrawFn, original: Any) -> Any:
    """The value with one to three places replaced, removed or added."""
    value = copy.deepcopy(original)
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from([*_places(value)])) or (None,)
        if last is None:
            return draw(JUNK)
        holder = value
        for each in parents:
            holder = holder[each]
        match draw(st.sampled_from(["replace", "replace", "remove", "add"])):
            case "replace":
                holder[last] = draw(JUNK)
            case "remove":
                del holder[last]
            case "add" if isinstance(holder, dict):
                holder[draw(st.text(max_size=5))] = draw(JUNK)
    return value


@st.composite
def damaged(draw: st.DrawFn, text: str) -> bytes:
    """The text cut off, or with some bytes replaced."""
    content = text.encode()
    at = draw(st.integers(0, len(content)))
    rest = content[at + draw(st.integers(0, 8)) :] if draw(st.booleans()) else b""
    return content[:at] + draw(st.binary(max_size=4)) + rest
