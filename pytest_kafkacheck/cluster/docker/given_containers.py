"""The containers that the user named: of a compose project, or by their names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from docker.errors import APIError

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.containers import Container, is_stopped_by_signal
from pytest_kafkacheck.errors import UsageError

PROJECT = "com.docker.compose.project"


def container_ids(client: Any, what: str) -> list[str]:
    """Ids of these containers, running or not, in order; without those that do not exist."""
    kind, colon, name = what.partition(":")
    if colon:
        found = client.api.containers(all=True, filters={"label": f"{PROJECT}={name}"})
        return sorted(str(each["Id"]) for each in found if kind == "compose")
    ids = set()
    for each in filter(None, (part.strip() for part in what.split(","))):
        with suppress(APIError):
            ids.add(str(client.api.inspect_container(each)["Id"]))
    return sorted(ids)


def names_containers(client: Any, what: str) -> bool:
    """Whether `what` names containers of the user, as `discover` takes them, and not a cluster of kafkacheck."""
    if what.startswith("compose:") or "," in what:
        return True
    ours = client.api.containers(all=True, filters={"label": f"{reaper.RUN}={what}"})
    return not ours and bool(container_ids(client, what))


def given_containers(client: Any, what: str) -> Sequence[Container]:
    """The engine's description of each container, running or not. Raises UsageError for unknown ones."""
    api = client.api
    kind, colon, name = what.partition(":")
    if colon:
        if kind != "compose" or not name:
            raise UsageError(
                f"attach {what!r}: expected compose:PROJECT, or names of containers separated by commas"
            )
        found = [api.inspect_container(each) for each in container_ids(client, what)]
        if not found:
            projects = sorted(
                {each["Labels"][PROJECT] for each in api.containers(filters={"label": PROJECT})}
            )
            raise UsageError(
                f"attach {what!r}: no container belongs to that compose project; running projects: "
                f"{', '.join(projects) or 'none'}"
            )
        return _able_to_answer(api, what, found)
    containers = []
    for each in filter(None, (part.strip() for part in what.split(","))):
        try:
            container = api.inspect_container(each)
        except APIError as error:
            raise UsageError(
                f"attach {what!r}: there is no container {each!r}; `docker ps` lists them"
            ) from error
        if not container["State"]["Running"]:
            raise UsageError(f"attach {what!r}: container {each!r} does not run; start it first")
        containers.append(container)
    if not containers:
        raise UsageError("attach: expected compose:PROJECT, or names of containers separated by commas")
    return _able_to_answer(api, what, containers)


def _able_to_answer(api: Any, what: str, containers: Sequence[Container]) -> Sequence[Container]:
    """Raises UsageError for a container that stands still: its owner may have paused it, or a session that was
    killed."""
    for each in containers:
        name = each["Name"].lstrip("/")
        if each["State"]["Paused"]:
            raise UsageError(f"attach {what!r}: container {name} is paused; `docker unpause {name}` first")
        if (
            each["State"]["Running"]
            and not each["State"].get("Restarting")
            and is_stopped_by_signal(api, each["Id"])
        ):
            raise UsageError(
                f"attach {what!r}: the processes of container {name} are stopped; `docker kill -s CONT {name}` first"
            )
    return containers
