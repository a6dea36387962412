"""Trying to connect from one node to another: who can hear whom, found out and not assumed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from nemesis.cluster import Node
from nemesis.effects.network import NetworkError, on_each

LIMIT = 1
"""Seconds without an answer that count as silence; on an uncut bridge it comes within a millisecond."""


@dataclass(frozen=True, order=True)
class Link:
    """A TCP connection that may be tried."""

    source: int
    destination: int
    address: str
    port: int


@dataclass(frozen=True)
class Answer:
    """What came of a try.

    text  ``open``, ``refused`` (the other's kernel answered, so packets pass both ways although nothing
          listens there), ``silent`` (no answer at all), or what else the system said.
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
    """Try all of them at the same time; takes `LIMIT` seconds if one is cut. Raises NetworkError.

    Works from and to nodes whose broker is dead or paused, as the kernel answers.
    """
    by_source: dict[int, list[Link]] = {}
    for link in sorted(set(links)):
        by_source.setdefault(link.source, []).append(link)
    answers = on_each(by_source, lambda source: _from(nodes[source], by_source[source]))
    return tuple(answer for each in answers.values() for answer in each)


def _from(node: Node, links: list[Link]) -> list[Answer]:
    status, output = node.shell(script(links), timeout=LIMIT + 9.0)
    said: dict[tuple[str, str], tuple[str, str]] = {}
    for line in output.splitlines():
        if len(words := line.split(" ", 3)) >= 3:
            said[words[0], words[1]] = (words[2], words[3].strip() if len(words) > 3 else "")
    try:
        return [Answer(link, _text(*said[link.address, str(link.port)])) for link in links]
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
            f"{{ said=$(timeout {LIMIT} bash -c {connect} 2>&1); "
            f'echo {link.address} {link.port} $? "${{said##*: }}"; }} &'
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
