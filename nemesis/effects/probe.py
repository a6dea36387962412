"""Connection attempts from one node to another, which show what packets pass."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from nemesis.cluster import Node
from nemesis.effects.network import NetworkError, on_each

LIMIT = 1
"""Seconds without an answer that count as silence. On an uncut bridge the answer comes within a millisecond."""


@dataclass(frozen=True, order=True)
class Link:
    """A TCP connection to try."""

    source: int
    destination: int
    address: str
    port: int


@dataclass(frozen=True)
class Answer:
    """The result of a connection attempt.

    text  ``open``; ``refused`` (the destination's kernel answered, so packets pass in both directions, although
          nothing listens on the port); ``silent`` (no answer); or the system's error message.
    """

    link: Link
    text: Literal["open", "refused", "silent"] | str

    @property
    def reached(self) -> bool:
        return self.text in ("open", "refused")

    @property
    def silent(self) -> bool:
        return self.text == "silent"

    def to_json(self) -> dict[str, object]:
        return {**asdict(self.link), "answer": self.text}


def probe(nodes: Mapping[int, Node], links: Iterable[Link]) -> tuple[Answer, ...]:
    """Try all links at the same time; takes `LIMIT` seconds if one is cut. Raises NetworkError.

    It also works with nodes whose broker is stopped or paused, because the kernel answers.
    """
    by_source: dict[int, list[Link]] = {}
    for link in sorted(set(links)):
        by_source.setdefault(link.source, []).append(link)
    answers = on_each(by_source, lambda source: _from(nodes[source], by_source[source]))
    return tuple(answer for each in answers.values() for answer in each)


def _from(node: Node, links: list[Link]) -> list[Answer]:
    status, output = node.look(script(links), timeout=LIMIT + 9.0)
    results: dict[tuple[str, str], tuple[str, str]] = {}
    for line in output.splitlines():
        if len(words := line.split(" ", 3)) >= 3:
            results[words[0], words[1]] = (words[2], words[3].strip() if len(words) > 3 else "")
    try:
        return [Answer(link, _text(*results[link.address, str(link.port)])) for link in links]
    except KeyError as missing:
        raise NetworkError(
            f"no answer from the probe of {missing} (status {status}): {output.strip()}"
        ) from None


def script(links: Iterable[Link]) -> str:
    """Prints ``<address> <port> <exit status> <reason>`` for each link, in any order."""
    tries = []
    for link in links:
        connect = shlex.quote(f"</dev/tcp/{link.address}/{link.port}")
        tries.append(
            f"{{ output=$(timeout {LIMIT} bash -c {connect} 2>&1); "
            f'echo {link.address} {link.port} $? "${{output##*: }}"; }} &'
        )
    return "export LC_ALL=C\n" + "\n".join(tries) + "\nwait"


def _text(status: str, reason: str) -> str:
    match status, reason:
        case "0", _:
            return "open"
        case "124", _:
            return "silent"
        case _, "Connection refused":
            return "refused"
    return reason or f"exit status {status}"
