"""What a client says about itself in its first line."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

VERSION = 1
"""Of the protocol: a client has to speak exactly this one."""

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")

CAPABILITIES: Mapping[str, str] = {
    "producer": "sends records with acks of all, 1 and 0",
    "idempotence": "sends with enable.idempotence",
    "headers": "sends and returns headers, and records without a value",
    "consumer": "reads given partitions from given offsets",
    "read-committed": "reads with isolation.level=read_committed",
    "leader-epochs": "returns the leader epoch of each record",
    "rack": "reads from a replica in its client.rack",
    "transactions": "sends in transactions, and adds offsets of groups to them",
    "group-classic": "joins groups with the classic protocol",
    "group-consumer": "joins groups with the protocol of KIP-848",
    "static-members": "joins groups with a group.instance.id",
    **{f"assignor-{name}": f"shares partitions by the assignor {name}" for name in ASSIGNORS},
    "share-groups": "consumes as one of a share group, and acknowledges each record",
}
"""All that a client may state, and what each means."""


class Hello(NamedTuple):
    """library  the client library that it uses, and its version.
    has_clock  whether its times are of the same clock as `time.monotonic_ns` in this process.
    """

    library: str
    version: str
    capabilities: frozenset[str]
    has_clock: bool

    def __str__(self) -> str:
        return f"{self.library} {self.version}"

    def missing(self, needed: Collection[str]) -> list[str]:
        return sorted(set(needed) - self.capabilities)


def parse_hello(line: Mapping[str, Any], *, began: int, now: int) -> Hello:
    """began, now: ns, before it was started and after the line arrived. Raises ValueError that says what is wrong."""
    version = line.get("protocol")
    if version != VERSION:
        stated = "states no version of the protocol" if version is None else f"speaks version {version!r}"
        raise ValueError(f"{stated}, and kafkacheck speaks version {VERSION}")
    library = line.get("library")
    if not (
        isinstance(library, Mapping)
        and isinstance(library.get("name"), str)
        and isinstance(library.get("version"), str)
    ):
        raise ValueError(f'has library={library!r} in its hello: expected {{"name": TEXT, "version": TEXT}}')
    capabilities = line.get("capabilities")
    if not isinstance(capabilities, list) or not all(isinstance(each, str) for each in capabilities):
        raise ValueError(f"has capabilities={capabilities!r} in its hello: expected a list of texts")
    if unknown := sorted(set(capabilities) - set(CAPABILITIES)):
        raise ValueError(
            f"states the capabilities {', '.join(unknown)}, which are unknown; there are {', '.join(CAPABILITIES)}"
        )
    clock = line.get("clock")
    return Hello(
        library["name"],
        library["version"],
        frozenset(capabilities),
        type(clock) is int and began <= clock <= now,
    )
