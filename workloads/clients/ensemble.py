"""Where ZooKeeper listens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workloads.clients.connection import Address


@dataclass(frozen=True)
class Ensemble:
    """servers  where this host reaches them; none in KRaft mode.
    root     the path below which the brokers keep their data, such as "/kafka"; "" for none.
    """

    servers: tuple[Address, ...] = ()
    root: str = ""

    @property
    def hosts(self) -> str:
        """As the client library expects it: ``host:port,host:port/kafka``."""
        return ",".join(f"{server[0]}:{server[1]}" for server in self.servers) + self.root

    def to_json(self) -> dict[str, Any]:
        return {"servers": [server.to_json() for server in self.servers], "root": self.root}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ensemble:
        return cls(tuple(Address.from_json(server) for server in data["servers"]), data["root"])
