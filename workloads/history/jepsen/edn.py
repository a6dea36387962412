"""EDN, the notation of Jepsen's histories: read as a stream, and written.

The library for EDN takes the whole text at once, and half a millisecond for each operation of a history
(docs/json_lines.md). A history needs only a part of EDN: keywords, symbols and characters become strings, sets become
lists, and of a tagged value the tag is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

NAME = r"""[^\s,()\[\]{}";\\]"""
TOKEN = re.compile(rf"""\#_|\#\{{|[()\[\]{{}}]|"(?:[^"\\]|\\.)*"?|;[^\n]*|\\.{NAME}*|{NAME}+""", re.DOTALL)
COMPLETE = frozenset("()[]{} \t\r\n,")
"""Characters that end a token: a piece of text that ends with one does not end within a token."""

NUMBER = re.compile(r"[+-]?\d")
INTEGER = re.compile(r"([+-]?\d+)N?")
FLOAT = re.compile(r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)M?")
HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]+")
RATIO = re.compile(r"[+-]?\d+/\d+")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
ESCAPED = {"t": "\t", "r": "\r", "n": "\n", "b": "\b", "f": "\f", "\\": "\\", '"': '"'}
CHARACTERS = {"newline": "\n", "return": "\r", "space": " ", "tab": "\t"}
CONSTANTS = {
    "nil": None,
    "true": True,
    "false": False,
    "##Inf": float("inf"),
    "##-Inf": -float("inf"),
    "##NaN": float("nan"),
}
CLOSING = {"[": "]", "(": ")", "{": "}", "#{": "}"}
TAG, DISCARD = "#", "#_"


class EdnError(ValueError):
    """The text is not EDN. Lines and columns count from 1."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.line = line


def elements(pieces: Iterable[str]) -> Iterator[Any]:
    """The elements of the text one by one: of the vector or list that is its only form, or else its forms.

    `pieces` are the text, cut anywhere. Only the form that is being read is in memory. Raises EdnError.
    """
    reader = _Reader()
    rest = ""
    for piece in pieces:
        text = rest + piece
        tokens: list[str] = TOKEN.findall(text)
        # A single backslash is not yet a token.
        rest = "\\" if not tokens and text.endswith("\\") else ""
        if tokens and (text[-1] not in COMPLETE or tokens[-1][0] in '";\\'):
            # The last token may continue in the next piece; in a string, even after white space.
            last = tokens.pop()
            rest = text[text.rindex(last) :]
        text = text[: len(text) - len(rest)]
        yield from reader.take(text, tokens)
    yield from reader.take(rest, TOKEN.findall(rest))
    reader.end()


class _Reader:
    """Turns tokens into elements. Its stack has one frame (kind, items) for each open form."""

    def __init__(self) -> None:
        self._stack: list[tuple[str, list[Any]]] = []
        self._floor = 0  # depth of the forms to return: 1 inside a vector that holds all of them
        self._started = self._ended = False
        self._atoms: dict[str, Any] = dict(CONSTANTS)
        self._line, self._column = 1, 1

    def take(self, text: str, tokens: list[str]) -> Iterator[Any]:
        """The elements that end in this piece of text; `tokens` are its tokens."""
        stack, atoms = self._stack, self._atoms
        number = -1
        try:
            for token in tokens:
                number += 1
                if token in atoms:
                    value = atoms[token]
                elif token in CLOSING:
                    self._open(token)
                    continue
                elif token in ")]}":
                    kind, items = self._close(token)
                    if self._ended:
                        continue
                    value = _mapping(items) if kind == "{" else items
                elif token[0] == ";":
                    continue
                elif token == DISCARD or (token[0] == "#" and token not in CONSTANTS):
                    stack.append((DISCARD if token == DISCARD else TAG, []))
                    continue
                else:
                    value = _atom(token)
                    if token[0] == ":":
                        atoms[token] = value
                while stack and stack[-1][0] in (TAG, DISCARD):
                    if stack.pop()[0] == DISCARD:
                        break
                else:
                    if len(stack) > self._floor:
                        stack[-1][1].append(value)
                    elif self._ended:
                        raise ValueError("there is more text after the end of the vector")
                    else:
                        self._started = True
                        yield value
        except ValueError as error:
            line, column = self._position(text, number)
            raise EdnError(line, column, str(error)) from error
        self._advance(text)

    def end(self) -> None:
        if self._stack and not self._ended:
            missing = CLOSING.get(self._stack[-1][0], "the value of a tag")
            raise EdnError(self._line, self._column, f"the text ends before {missing}")

    def _open(self, token: str) -> None:
        if self._ended:
            raise ValueError("there is more text after the end of the vector")
        if not self._started and token in "[(" and all(kind == TAG for kind, _ in self._stack):
            self._stack[:] = []
            self._floor = 1
            self._started = True
        self._stack.append((token, []))

    def _close(self, token: str) -> tuple[str, list[Any]]:
        if not self._stack or CLOSING.get(self._stack[-1][0]) != token:
            wanted = CLOSING.get(self._stack[-1][0], "a value") if self._stack else "a form"
            raise ValueError(f"found {token} where {wanted} was expected")
        frame = self._stack.pop()
        self._ended = len(self._stack) < self._floor
        return frame

    def _position(self, text: str, number: int) -> tuple[int, int]:
        for count, match in enumerate(TOKEN.finditer(text)):
            if count == number:
                before = text[: match.start()]
                break
        else:
            before = text
        line = self._line + before.count("\n")
        column = len(before) - before.rfind("\n") if "\n" in before else self._column + len(before)
        return line, column

    def _advance(self, text: str) -> None:
        self._line, self._column = self._position(text, len(text))


def _mapping(items: list[Any]) -> dict[Any, Any]:
    if len(items) % 2:
        raise ValueError("a map has a key without a value")
    keys, values = items[::2], items[1::2]
    try:
        return dict(zip(keys, values, strict=True))
    except TypeError:  # a key that is a collection
        return dict(zip((json.dumps(key, default=str) for key in keys), values, strict=True))


def _atom(token: str) -> Any:
    if token[0] == '"':
        return _string(token)
    if token[0] == "\\":
        name = token[1:]
        if re.fullmatch(r"u[0-9a-fA-F]{4}", name):
            return chr(int(name[1:], 16))
        return CHARACTERS.get(name, name)
    if NUMBER.match(token):
        return _number(token)
    if token[0] == ":":
        if len(token) == 1:
            raise ValueError("a keyword has no name")
        return token[1:]
    return token


def _string(token: str) -> str:
    inside = token[1:-1]
    if len(token) < 2 or token[-1] != '"' or (len(inside) - len(inside.rstrip("\\"))) % 2:
        raise ValueError("a string has no end")
    return ESCAPE.sub(_unescaped, inside) if "\\" in inside else inside


def _unescaped(match: re.Match[str]) -> str:
    name = match[1]
    if len(name) > 1:
        return chr(int(name[1:], 16))
    if name not in ESCAPED:
        raise ValueError(f"a string has the unknown escape \\{name}")
    return ESCAPED[name]


def _number(token: str) -> int | float | str:
    if match := INTEGER.fullmatch(token):
        return int(match[1])
    if match := FLOAT.fullmatch(token):
        return float(match[1])
    if HEXADECIMAL.fullmatch(token):  # how Clojure prints an object's identity
        return int(token, 16)
    if RATIO.fullmatch(token):
        return token
    raise ValueError(f"{token[:40]} is neither a number nor a name")


def dumps(value: Any) -> str:
    """A value as EDN on one line. A string that begins with ``:`` becomes a keyword, and so does every key that is a
    string; None, booleans, numbers, lists, tuples and mappings become their counterparts. Raises TypeError for
    others."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} {dumps(each)}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + " ".join(map(dumps, value)) + "]"
    if isinstance(value, str):
        return value if value[:1] == ":" and _is_name(value[1:]) else json.dumps(value, ensure_ascii=False)
    raise TypeError(
        f"EDN has no form for a {type(value).__name__}: expected None, a boolean, number, string, list or mapping"
    )


def _key(key: Any) -> str:
    return f":{key}" if isinstance(key, str) and _is_name(key) else dumps(key)


def _is_name(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z*!_?<>=][A-Za-z0-9*+!_?<>=.'-]*", name) is not None
