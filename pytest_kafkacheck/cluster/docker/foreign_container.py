"""What the engine's description of a container that the user made says about its names and ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

SERVICE = "com.docker.compose.service"

Container = Mapping[str, Any]
"""As the engine describes it."""


def published_ports(container: Container) -> dict[int, int]:
    """TCP ports in the container by port of the engine's host."""
    bindings = container["NetworkSettings"]["Ports"] or {}
    return {
        int(each["HostPort"]): int(name.removesuffix("/tcp"))
        for name, published in bindings.items()
        if name.endswith("/tcp")
        for each in published or ()
    }


def names_of(container: Container) -> set[str]:
    """All names by which its peers may reach it."""
    networks = container["NetworkSettings"]["Networks"].values()
    aliases = {alias for network in networks for alias in network.get("Aliases") or ()}
    labels = container["Config"]["Labels"] or {}
    return {
        container["Name"].lstrip("/"),
        container["Config"]["Hostname"],
        labels.get(SERVICE, ""),
        *aliases,
    } - {""}


def container_named(name: str, containers: Iterable[Container]) -> Container | None:
    """The first one that its peers may reach by that name."""
    return next((each for each in containers if name in names_of(each)), None)
