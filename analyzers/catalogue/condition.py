"""What a condition says of rows that have only some of its columns.

The condition of a check is written once, over all columns of its fact. Most of what is recorded can be ruled out by
fewer columns: of ``a and b``, that a is false is enough. So what a first look asks is derived from the condition:
each term that it cannot decide counts as true, and what is left is true at least where the condition is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|[A-Za-z_]\w*|\d\w*|.""", re.DOTALL)

WORDS = frozenset(
    {"is", "not", "null", "in", "like", "true", "false", "between", "and", "or", "distinct", "from"}
)
"""Names of SQL that are no columns. Any other name, also that of a variable, counts as a column."""


COMPARISON = re.compile(r"`?(\w+)`?\s*(<=?|>=?)\s*`?(\w+)`?")


def weakened(
    where: str,
    columns: Mapping[str, str],
    *,
    upper: Mapping[str, str] | None = None,
    lower: Mapping[str, str] | None = None,
) -> str:
    """SQL that is true at least where the condition is, as far as these columns say.

    columns  of the fact that are known: name to SQL over the rows that the result is for.
    upper    likewise, of columns that are too great, or true too often, but never the other way round.
    lower    likewise, of columns that are too small.

    Raises ValueError for a condition with ``case``, whose branches are not looked into.
    """
    bounds = {**(upper or {}), **(lower or {})}
    known = {**columns, **bounds}

    def term(text: str) -> str:
        named = names(text)
        is_known = named <= known.keys() and (not named & bounds.keys() or _is_weaker(text))
        return _replaced(text, known) if is_known else "true"

    def _is_weaker(text: str) -> bool:
        """Whether the term is true at least as often with the bounds as with the columns."""
        compared = COMPARISON.fullmatch(text)
        if compared is None:
            return text.strip("`") in (upper or {})
        left, sign, right = compared.groups()
        small, great = (left, right) if sign.startswith("<") else (right, left)
        return small not in (upper or {}) and great not in (lower or {})

    if any(token.lower() == "case" for token, *_ in _tokens(where)):
        raise ValueError(f"a condition of a fact with a first look must not have a case: {where!r}")
    return _reduced(where.strip(), term)


def names(where: str) -> frozenset[str]:
    """The columns that the condition names."""
    return frozenset(name for name, _, _ in _columns(where))


def _reduced(where: str, term: Callable[[str], str]) -> str:
    either = [
        _joined(" and ", [_reduced_part(part, term) for part in _split(each, "and")], "true", "false")
        for each in _split(where, "or")
    ]
    return _joined(" or ", either, "false", "true")


def _reduced_part(part: str, term: Callable[[str], str]) -> str:
    within = _within_parentheses(part)
    return term(part) if within is None else _reduced(within, term)


def _joined(word: str, parts: list[str], neutral: str, decisive: str) -> str:
    some = [part for part in dict.fromkeys(parts) if part != neutral]
    if decisive in some:
        return decisive
    return some[0] if len(some) == 1 else word.join(f"({part})" for part in some) or neutral


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Each token, where it begins, and how many parentheses are open before it."""
    depth = 0
    for match in TOKEN.finditer(text):
        token = match.group()
        depth -= token in ")]"
        yield token, match.start(), depth
        depth += token in "(["


def _split(text: str, word: str) -> list[str]:
    """The parts between these words outside of parentheses, but for the ``and`` of a ``between``."""
    parts, begin, is_between = [], 0, False
    for token, at, depth in _tokens(text):
        if depth == 0 and token.lower() == "between":
            is_between = True
        elif depth == 0 and token.lower() == "and" and is_between:
            is_between = False
        elif depth == 0 and token.lower() == word:
            parts.append(text[begin:at].strip())
            begin = at + len(token)
    return [*parts, text[begin:].strip()]


def _within_parentheses(text: str) -> str | None:
    """What one pair of parentheses holds, if it is the whole text."""
    closed = [at for token, at, depth in _tokens(text) if token == ")" and depth == 0]
    return text[1:-1].strip() if text.startswith("(") and closed[:1] == [len(text) - 1] else None


def _columns(text: str) -> Iterator[tuple[str, int, int]]:
    """Each name of a column, and where it begins and ends. What follows a dot is a field."""
    last = ""
    for token, at, _ in _tokens(text):
        is_call = text[at + len(token) :].lstrip().startswith("(")
        is_name = token[0].isalpha() or token[0] in "_`"
        if is_name and last != "." and token.lower() not in WORDS and not is_call:
            yield token.strip("`"), at, at + len(token)
        if not token.isspace():
            last = token


def _replaced(text: str, columns: Mapping[str, str]) -> str:
    for name, begin, end in reversed([*_columns(text)]):
        if columns[name] != name:
            text = f"{text[:begin]}({columns[name]}){text[end:]}"
    return text
