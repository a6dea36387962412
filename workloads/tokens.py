"""Tokens: how a record that an application reads is named in text, and found again in what the application writes.

Applications change the value of a record, its key and its format. The token is text without special characters, which
most transformations keep; the header ``kafkacheck`` is for those that do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from workloads.history.schema import VALUE_BITS
from workloads.keys import HEADER, key_text
from workloads.payload import decode

Headers = Sequence[tuple[str, bytes | None]]

Identify = Callable[[bytes | None, bytes | None, Headers], Iterable[str]]
"""From key, value and headers of an output to the tokens of the inputs from which it was made."""


def token(run: str, value: int) -> str:
    """Such as ``kc-7b29cd07-0-15``: run, number of the producer, and number of its send."""
    return f"kc-{run}-{value >> VALUE_BITS}-{value & ((1 << VALUE_BITS) - 1)}"


def body(template: str, run: str, value: int, key: int) -> bytes:
    """The value of a record. In the template, {token}, {key} and {number} stand for those of the record; other braces
    stay, so that it may be JSON."""
    parts = {
        "{token}": token(run, value),
        "{key}": key_text(key),
        "{number}": str(value & ((1 << VALUE_BITS) - 1)),
    }
    for name, text in parts.items():
        template = template.replace(name, text)
    return template.encode()


class TokenFinder:
    """Finds which records of one run an output names.

    topic     that the application reads.
    identify  a function of the user; None: every token and header of the run in key, value and headers counts.
    """

    def __init__(self, run: str, topic: str, identify: Identify | None = None) -> None:
        self._run, self._topic, self._identify = run, topic, identify
        self._pattern = re.compile(rb"kc-%s-([0-9]{1,7})-([0-9]{1,12})(?![0-9])" % re.escape(run.encode()))

    def find(self, key: bytes | None, value: bytes | None, headers: Headers) -> list[int]:
        """The values of the inputs, each once, in the order in which they are named.

        Passes on what the function of the user raises. Text that it returns and that is no token of the run gives -1,
        which is no value.
        """
        if self._identify is not None:
            named = self._identify(key, value, headers)
            return [*dict.fromkeys(next(self._values(text.encode()), -1) for text in named)]
        found: list[int] = []
        for name, content in headers:
            if name == HEADER and content is not None:
                known, _ = decode(content, self._run, self._topic, -1)
                found += [] if known is None else [known]
        for part in (key, value, *(content for _, content in headers)):
            found += self._values(part or b"")
        return [*dict.fromkeys(found)]

    def _values(self, text: bytes) -> Iterator[int]:
        return (int(process) << VALUE_BITS | int(number) for process, number in self._pattern.findall(text))
