"""EDN as Jepsen writes it is read, however the text is cut; other text is refused with line and column."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.history.jepsen.edn import EdnError, dumps, elements

TEXT = r"""; a comment {
[#jepsen.history.Op{:index 0, :type :invoke, :f :txn, :value [[:poll] [:send 3 -7]], :error nil}
 {:sets #{1 2}, :text "x\n\"y;[é", :char \newline, #_(dropped [1]) :left 1.5, :deep {:a {7 [[0 \a]]}}}
 #_{:index 1} {:index 2N, :ratio 1/2, :at #inst "2020-01-01", :object #object[foo.Bar 0x1f "two
lines"]}]
"""

READ = [
    {"index": 0, "type": "invoke", "f": "txn", "value": [["poll"], ["send", 3, -7]], "error": None},
    {
        "sets": [1, 2],
        "text": 'x\n"y;[é',
        "char": "\n",
        "left": 1.5,
        "deep": {"a": {7: [[0, "a"]]}},
    },
    {"index": 2, "ratio": "1/2", "at": "2020-01-01", "object": ["foo.Bar", 31, "two\nlines"]},
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 10_000])
def test_text_may_be_cut_anywhere(size: int) -> None:
    assert list(elements(TEXT[at : at + size] for at in range(0, len(TEXT), size))) == READ


def test_forms_without_a_vector_around_them() -> None:
    assert list(elements(["{:a 1}\n{:a 2}", "\n\n"])) == [{"a": 1}, {"a": 2}]
    assert list(elements([" ; nothing\n"])) == []


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("[1 2", 1, 5, "the text ends before ]"),
        ("{:a 1\n", 2, 1, "the text ends before }"),
        ("[{:a 1}\n {:a}]", 2, 5, "a key without a value"),
        ("[{:a 1}\n {:a 1]", 2, 7, "found ] where } was expected"),
        ("]", 1, 1, "found ] where a form was expected"),
        ('{:a "b', 1, 5, "a string has no end"),
        (r'"\q"', 1, 1, r"unknown escape \q"),
        ("{:a 12x}", 1, 5, "12x is neither a number nor a name"),
        ("{: 1}", 1, 2, "a keyword has no name"),
        ("[1] 2", 1, 5, "there is more text after the end"),
        ("[1] [2]", 1, 5, "there is more text after the end"),
        ("[1]]", 1, 4, "found ] where a form was expected"),
        ("#tag", 1, 5, "the text ends before the value of a tag"),
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_text_that_is_not_edn_is_refused(text: str, line: int, column: int, reason: str, size: int) -> None:
    with pytest.raises(EdnError) as error:
        list(elements(text[at : at + size] for at in range(0, len(text), size)))
    assert reason in str(error.value)
    if size > 1:
        assert str(error.value).startswith(f"line {line}, column {column}: ")


NAMES = st.from_regex(r"[a-z][a-z0-9-]*", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(NAMES | st.integers(), inner),
    max_leaves=20,
)


@given(VALUES, st.integers(1, 9))
def test_written_values_are_read_back(value: Any, size: int) -> None:
    text = dumps([value])
    assert list(elements(text[at : at + size] for at in range(0, len(text), size))) == [
        without_keywords(value)
    ]


def without_keywords(value: Any) -> Any:
    """A string that begins with a colon is written as a keyword, and a keyword is read as its name."""
    if isinstance(value, dict):
        return {name: without_keywords(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_keywords(each) for each in value]
    is_keyword = isinstance(value, str) and dumps(value) == value
    return value[1:] if is_keyword else value
