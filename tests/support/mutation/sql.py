"""Rules for SQL in the strings of a program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from copy import copy

from tests.support.mutation.sites import Rule

TOKEN = re.compile(
    r"\x00\d+\x00|'[^']*'|`[^`]*`|->|<=>|<=|>=|<>|!=|\|\||[A-Za-z_$][\w.]*|\d+L?|\s+|.", re.DOTALL
)
HOLE = re.compile(r"\x00(\d+)\x00")
"""Stands for what an f-string inserts."""

OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "<>", "<>": "=", "+": "-", "-": "+"}

OTHER_FUNCTION = {
    "min": "max", "max": "min", "least": "greatest", "greatest": "least", "lag": "lead", "lead": "lag",
    "min_by": "max_by", "max_by": "min_by", "array_min": "array_max", "array_max": "array_min",
    "bool_or": "bool_and", "bool_and": "bool_or", "every": "bool_or", "exists": "forall",
}  # fmt: skip

ENDS = {
    "select", "from", "where", "when", "then", "else", "end", "case", "on", "group", "order", "having", "as", "rows",
    "range", "window", "union", "left", "join", "using", ",", "->", "asc", "desc", "over", "partition", "by",
    "filter", "if",
}  # fmt: skip
"""Words between which a condition lies, besides brackets."""

Tokens = list[str]


def sql(node: ast.AST) -> Iterator[ast.AST]:
    """One of the rules applied to the text of a string, or to the constant parts of an f-string."""
    holes: Sequence[ast.AST]
    match node:
        case ast.Constant(value=str() as text):
            holes = ()
        case ast.JoinedStr(values=parts):
            holes = [each for each in parts if isinstance(each, ast.FormattedValue)]
            numbers = iter(range(len(holes)))
            text = "".join(
                str(each.value) if isinstance(each, ast.Constant) else f"\x00{next(numbers)}\x00"
                for each in parts
            )
        case _:
            return
    tokens = TOKEN.findall(text)
    seen = {text}
    for altered in _altered(tokens):
        other = "".join(altered)
        if other not in seen:
            seen.add(other)
            yield _string(other, holes)


def _string(text: str, holes: Sequence[ast.AST]) -> ast.AST:
    if not holes:
        return ast.Constant(value=text)
    parts: list[ast.AST] = []
    for index, piece in enumerate(HOLE.split(text)):
        parts.append(copy(holes[int(piece)]) if index % 2 else ast.Constant(value=piece))
    return ast.JoinedStr(values=parts)


def _altered(tokens: Tokens) -> Iterator[Tokens]:
    for index, token in enumerate(tokens):
        word = token.lower()
        after = _next(tokens, index)
        if token in OTHER and _is_binary(tokens, index) and not (token == "=" and tokens[after][:1] == "'"):
            # An equality with a name is left out instead, see `_conditions`.
            yield _put(tokens, index, index + 1, OTHER[token])
        if token in "+-" and tokens[after : after + 1] == ["1"] and _is_binary(tokens, index):
            yield _put(tokens, index, after + 1)
        if word in OTHER_FUNCTION and tokens[after : after + 1] == ["("]:
            yield _put(tokens, index, index + 1, OTHER_FUNCTION[word])
        if word == "is":
            negated = tokens[after : after + 1] == ["not"]
            yield (
                _put(tokens, index, after + 1, "is") if negated else _put(tokens, index, index + 1, "is not")
            )
        if word == "not" and _previous(tokens, index) != "is":
            yield _put(tokens, index, after)
        if word == "desc":
            yield _put(tokens, index, index + 1)
        if word == "left" and tokens[after : after + 1] == ["join"]:
            yield _put(tokens, index, after)
        if word == "1" and tokens[after : after + 1] == ["preceding"]:
            yield _put(tokens, index, after + 1, "current row")
        if word == "current" and tokens[after : after + 1] == ["row"]:
            yield _put(tokens, index, after + 1, "1 preceding")
        if word == "filter" and tokens[after : after + 1] == ["("]:
            inner = tokens[after + 1 :]
            if inner and inner[0] == "where":
                yield _put(tokens, index, _closing(tokens, after) + 1)
        if word in ("coalesce", "if", "in") and tokens[after : after + 1] == ["("]:
            yield from _of_arguments(tokens, index, after)
        if word == "by":
            yield from _of_list(tokens, index)
    yield from _conditions(tokens)


def _of_arguments(tokens: Tokens, index: int, opening: int) -> Iterator[Tokens]:
    """One argument of coalesce less; one branch of if alone; one element of a list less. A default that is true or
    false becomes the other one, because null and false are the same in a condition."""
    closing = _closing(tokens, opening)
    arguments = ["".join(each).strip() for each in _split(tokens[opening + 1 : closing], ",")]
    if tokens[index] == "if" and len(arguments) == 3:
        for branch in arguments[1:]:
            if branch != "null":
                yield _put(tokens, index, closing + 1, f"({branch})")
    elif len(arguments) > 1 and tokens[index] in ("coalesce", "in"):
        opposite = {"true": "false", "false": "true"}.get(arguments[-1])
        if tokens[index] == "coalesce" and opposite:
            yield _put(tokens, opening + 1, closing, ", ".join([*arguments[:-1], opposite]))
            return
        for number in range(len(arguments)):
            rest = ", ".join([*arguments[:number], *arguments[number + 1 :]])
            yield _put(tokens, opening + 1, closing, rest)


def _of_list(tokens: Tokens, index: int) -> Iterator[Tokens]:
    """One column less to partition, group or order by. Of an order, the first one stays."""
    begin, end, depth = index + 1, index + 1, 0
    while end < len(tokens) and not (
        depth == 0 and (tokens[end] == ")" or tokens[end].lower() in ENDS - {",", "desc", "asc", "if"})
    ):
        depth += (tokens[end] == "(") - (tokens[end] == ")")
        end += 1
    columns = ["".join(each).strip() for each in _split(tokens[begin:end], ",")]
    ordered = _previous(tokens, index) == "order"
    for number in range(1 if ordered else 0, len(columns)):
        rest = [*columns[:number], *columns[number + 1 :]]
        if rest and not HOLE.fullmatch(columns[number]):
            yield _put(tokens, begin, end, f" {', '.join(rest)} ")


def _conditions(tokens: Tokens) -> Iterator[Tokens]:
    """One operand of `and` or `or` less, at every depth; a condition after `where` that has only one is true."""
    begin = 0
    stack: list[int] = []
    for end in range(len(tokens) + 1):
        token = tokens[end].lower() if end < len(tokens) else ")"
        if token == "(":
            stack.append(begin)
            begin = end + 1
        elif token == ")" or token in ENDS:
            yield from _operands(tokens, begin, end)
            # What follows a bracket belongs to the condition in which the bracket began.
            begin = stack.pop() if token == ")" and stack else end + 1


def _operands(tokens: Tokens, begin: int, end: int) -> Iterator[Tokens]:
    part = tokens[begin:end]
    either = _split(part, "or")
    for number, alternative in enumerate(either):
        if len(either) > 1:
            rest = " or ".join("".join(each).strip() for each in either if each is not alternative)
            yield _put(tokens, begin, end, (" " if part[0].isspace() else "") + rest + " ")
        every = _split(alternative, "and")
        for one in range(len(every)):
            if len(every) > 1:
                rest = " and ".join("".join(each).strip() for i, each in enumerate(every) if i != one)
                whole = [
                    *("".join(each).strip() for each in either[:number]),
                    rest,
                    *("".join(each).strip() for each in either[number + 1 :]),
                ]
                yield _put(tokens, begin, end, " " + " or ".join(whole) + " ")
    alone = len(either) == 1 and len(_split(part, "and")) == 1
    if (
        alone
        and "".join(part).strip()
        and _previous(tokens, begin - 1 if begin else 0, including=True) == "where"
    ):
        yield _put(tokens, begin, end, " true ")


def _split(tokens: Tokens, separator: str) -> list[Tokens]:
    """At the separators outside brackets. The `and` of a `between` separates nothing."""
    found: list[Tokens] = [[]]
    depth, between = 0, False
    for token in tokens:
        depth += (token == "(") - (token == ")")
        word = token.lower()
        if depth == 0 and word == "between":
            between = True
        if depth == 0 and word == separator and not (word == "and" and between):
            found.append([])
            continue
        if depth == 0 and word == "and":
            between = False
        found[-1].append(token)
    return found


def _put(tokens: Tokens, begin: int, end: int, text: str = "") -> Tokens:
    return [*tokens[:begin], text, *tokens[end:]]


def _next(tokens: Tokens, index: int) -> int:
    """The index of the next token that is no space."""
    index += 1
    while index < len(tokens) and tokens[index].isspace():
        index += 1
    return index


def _previous(tokens: Tokens, index: int, *, including: bool = False) -> str:
    index -= 0 if including else 1
    while index >= 0 and tokens[index].isspace():
        index -= 1
    return tokens[index].lower() if index >= 0 else ""


def _closing(tokens: Tokens, opening: int) -> int:
    depth = 0
    for index in range(opening, len(tokens)):
        depth += (tokens[index] == "(") - (tokens[index] == ")")
        if depth == 0:
            return index
    return len(tokens)


def _is_binary(tokens: Tokens, index: int) -> bool:
    """Whether the operator has spaces around it; a sign has none."""
    return tokens[index - 1].isspace() and index + 1 < len(tokens) and tokens[index + 1].isspace()


SQL: tuple[Rule, ...] = (sql,)
