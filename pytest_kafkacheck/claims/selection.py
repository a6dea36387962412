"""Which scenarios ``-k`` selects: words with ``and``, ``or``, ``not`` and brackets, as pytest's own ``-k``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pytest_kafkacheck.claims.claim import SECTIONS, Scenario
from pytest_kafkacheck.errors import UsageError

_TOKEN = re.compile(r"\s*([()]|[^\s()]+)")

Test = Callable[[str], bool]


def selected(scenarios: Iterable[Scenario], expression: str | None) -> list[Scenario]:
    """Those whose name matches; all for None. A word matches a name that contains it, whatever the case; a claim's
    id matches that claim only, and a letter the section of that name.

    Raises UsageError for an expression that cannot be read, or that selects nothing.
    """
    every = list(scenarios)
    if expression is None:
        return every
    ids = {each.claim.id.lower() for each in every}
    test = _Parser(expression, ids).parse()
    if found := [each for each in every if test(each.name.lower())]:
        return found
    names = ", ".join(dict.fromkeys(each.claim.id for each in every))
    raise UsageError(f"-k {expression!r} selects no scenario; claims are {names}; --list shows the names")


class _Parser:
    """or: and ("or" and)*; and: not ("and" not)*; not: "not" not | "(" or ")" | word."""

    def __init__(self, expression: str, ids: set[str]) -> None:
        self._expression = expression
        self._ids = ids
        self._tokens = [token.lower() for token in _TOKEN.findall(expression)]

    def parse(self) -> Test:
        test = self._or()
        if self._tokens:
            raise self._wrong()
        return test

    def _or(self) -> Test:
        tests = [self._and()]
        while self._take("or"):
            tests.append(self._and())
        return lambda name: any(test(name) for test in tests)

    def _and(self) -> Test:
        tests = [self._not()]
        while self._take("and"):
            tests.append(self._not())
        return lambda name: all(test(name) for test in tests)

    def _not(self) -> Test:
        if self._take("not"):
            test = self._not()
            return lambda name: not test(name)
        if self._take("("):
            test = self._or()
            if not self._take(")"):
                raise self._wrong()
            return test
        if not self._tokens or self._tokens[0] in (")", "and", "or"):
            raise self._wrong()
        word = self._tokens.pop(0)
        if word in self._ids:  # "B1" must not select B10 to B13
            return lambda name: name.startswith(f"{word}-")
        if word.upper() in SECTIONS:
            return lambda name: name.startswith(word)
        return lambda name: word in name

    def _take(self, token: str) -> bool:
        if self._tokens[:1] != [token]:
            return False
        self._tokens.pop(0)
        return True

    def _wrong(self) -> UsageError:
        return UsageError(
            f"-k {self._expression!r}: expected words with and, or, not and brackets, such as 'B8 or (C and 3.9.2)'"
        )
