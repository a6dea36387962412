"""Requests that Podman answers otherwise than Docker. All others are the same: Podman serves Docker's API.

A user selects it by its socket: ``DOCKER_HOST=unix:///run/podman/podman.sock``. What Podman
lacks is a missing capability, which `setup.capabilities` finds by trying it. Seen with Podman 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

MARK = "kafkacheck_podman"
"""Attribute of the API's client."""

DEPENDENTS = "has dependent containers"
"""Of the error with which Podman refuses to remove a container before those that share its network."""


def recognise(api: Any, version: dict[str, Any]) -> None:
    """Remember whether the engine with that answer to `version` is Podman."""
    names = [each.get("Name") for each in version.get("Components") or ()]
    setattr(api, MARK, "Podman Engine" in names)


def is_podman(api: Any) -> bool:
    return bool(getattr(api, MARK, False))


def processes(api: Any, container: str, column: Literal["state", "args"]) -> list[str]:
    """That column of the list of the container's processes. Raises APIError where it does not run."""
    # Podman knows names of columns. With options of ps it runs the container's own ps, which an image may lack.
    options = f"pid,{column}" if is_podman(api) else f"-eo pid,{column}"
    # The list is empty when the process has just ended.
    return [str(row[-1]) for row in api.top(container, ps_args=options)["Processes"] or ()]


def device_rights(api: Any, rules: Iterable[str]) -> dict[str, Any]:
    """Options of a container's host configuration that allow it these devices."""
    # Podman's API ignores rules of devices, without an error.
    return {"privileged": True} if is_podman(api) else {"device_cgroup_rules": list(rules)}
