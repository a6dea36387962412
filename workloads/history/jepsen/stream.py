"""The rows of a file of Jepsen's, in EDN or JSON, one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import IO, Any

from workloads.history.jepsen.edn import elements
from workloads.history.jepsen.micro_operations import shown

PIECE = 1 << 18
"""Characters read at a time."""


def rows(file: IO[str]) -> Iterator[Any]:
    pieces = iter(lambda: file.read(PIECE), "")
    start = ""
    for piece in pieces:
        start += piece
        if begin := start.lstrip("\ufeff \t\r\n[{"):
            break
    else:
        begin = ""
    text = _chain(start.removeprefix("\ufeff"), pieces)
    # In JSON every key of an operation is a string, in EDN none is.
    return _json(text) if begin.startswith('"') else elements(text)


def _chain(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first
    yield from rest


def _json(pieces: Iterator[str]) -> Iterator[Any]:
    """The objects of a list, or objects one after another."""
    decoder = json.JSONDecoder()
    text, at = next(pieces).lstrip(), 0
    listed = text.startswith("[")
    at = int(listed)
    separated = True
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            separated = separated or text[at] == ","
            at += 1
        if at < len(text) and listed and text[at] == "]":
            if rest := text[at + 1 :].strip() or next((p for p in pieces if p.strip()), ""):
                raise ValueError(f"there is more text after the end of the list: {shown(rest)}")
            return
        try:
            if listed and not separated:
                raise ValueError(
                    f"expected a comma or the end of the list, found {shown(text[at : at + 20])}"
                )
            row, at = decoder.raw_decode(text, at)
        except ValueError as error:
            # The object probably continues in the next piece. Read as much again, so that long objects take few
            # tries.
            more = "".join(p for _, p in zip(range(1 + (len(text) - at) // PIECE), pieces, strict=False))
            if more:
                text, at = text[at:] + more, 0
                continue
            if at < len(text) or listed:
                missing = "the text ends within the list" if at >= len(text) else f"not JSON: {error}"
                raise ValueError(missing) from error
            return
        separated = not listed
        yield row
