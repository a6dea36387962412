"""An application that is a service of a user's compose file: a project of its own for each run.

Compose itself reads the file. What it understood is changed and given back to it: one service per instance, on the
network of a pod, and labels on everything, by which it is removed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from docker.errors import APIError, NotFound

from nemesis.tasks import wait_until
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.roles.application import filled

OF_THE_POD = (
    "networks", "network_mode", "ports", "expose", "hostname", "domainname", "links", "external_links", "extra_hosts",
    "dns", "dns_search", "dns_opt", "mac_address",
)  # fmt: skip
"""Settings of a service that those of its pod replace."""

OF_A_PROJECT = ("container_name", "build", "depends_on", "restart", "scale", "deploy", "profiles")
"""Settings that would not fit to several instances, or that kafkacheck decides itself."""

COMPOSE_LIMIT = 120.0
DEPENDENCY_LIMIT = 60.0
"""Seconds for compose, and for the services on which the application depends to be healthy or to have completed."""


@dataclass(frozen=True, kw_only=True)
class Instance:
    """number, container (its name), pod (id), values of the placeholders, environment and command of the user."""

    number: int
    container: str
    pod: str
    values: Mapping[str, str]
    env: Mapping[str, str]
    command: Sequence[str] | None


class ComposeProject:
    """project: the name under which compose makes its parts. env: for ${...} in the file, with placeholders.

    The constructor asks compose what is in the file. It raises UsageError for a file or a service that cannot be
    used, and InfrastructureError where there is no compose.
    """

    def __init__(self, file: str, service: str, *, project: str, env: Mapping[str, str]) -> None:
        self._file, self.service, self._project = file, service, project
        self._environment = {**os.environ, **env}
        self._where = f"Pipeline.compose={file!r}"
        if not Path(file).is_file():
            raise UsageError(f"{self._where}: there is no such file")
        self._program = _program()
        text = self._compose(["-f", file, "config"], "cannot be read")
        self._content: dict[str, Any] = yaml.safe_load(text) or {}
        self._services: dict[str, Any] = self._content.get("services") or {}
        if service not in self._services:
            raise UsageError(
                f"Pipeline.service={service!r}: {file} has no such service; it has "
                f"{', '.join(self._services) or 'none'}"
            )
        self.dependencies = tuple(self._needed(service))
        self._check()

    @property
    def images(self) -> tuple[str, ...]:
        """Of the service and of what it depends on."""
        return tuple(self._services[name]["image"] for name in (self.service, *self.dependencies))

    def limits(self) -> frozenset[str]:
        """What the service limits itself: "cpu" and "memory"."""
        service = self._services[self.service]
        own = ((service.get("deploy") or {}).get("resources") or {}).get("limits") or {}
        has_cpu = "cpus" in own or any(service.get(name) for name in ("cpus", "cpu_quota"))
        has_memory = "memory" in own or service.get("mem_limit")
        return frozenset(each for each, is_there in (("cpu", has_cpu), ("memory", has_memory)) if is_there)

    def document(self, instances: Sequence[Instance], labels: Mapping[str, str]) -> dict[str, Any]:
        """The content of the file that compose gets."""
        values = instances[0].values
        common = {name: value for name, value in values.items() if name not in ("instance", "client")}
        services = {}
        for name in self.dependencies:
            kept = {
                k: v for k, v in self._services[name].items() if k not in ("ports", "container_name", "build")
            }
            services[name] = _labelled(_filled(kept, common), labels)
        for each in instances:
            services[f"{self.service}-{each.number}"] = self._instance(each, labels)
        document = {key: value for key, value in self._content.items() if key != "name"}
        document["services"] = services
        for kind in ("networks", "volumes"):
            document[kind] = {
                name: each if (each or {}).get("external") else _labelled(each or {}, labels)
                for name, each in (self._content.get(kind) or {}).items()
            }
        if "default" not in document["networks"]:
            document["networks"]["default"] = _labelled({}, labels)
        return document

    def create(self, api: Any, instances: Sequence[Instance], labels: Mapping[str, str]) -> None:
        """Make the containers of all instances, and start what they depend on. Raises InfrastructureError."""
        # Not in a file: it has what the environment of the test put into the user's file, such as passwords.
        text = json.dumps(self.document(instances, labels))
        names = [f"{self.service}-{each.number}" for each in instances]
        up = ["-f", "-", "up", "--no-build"]
        if self.dependencies:
            self._compose([*up, "-d", *self.dependencies], "what it depends on cannot be started", text)
        self._join(api, instances)
        self._await(api)
        self._compose([*up, "--no-start", *names], "its containers cannot be made", text)

    def logs(self, api: Any) -> Iterator[tuple[str, bytes]]:
        """What the services on which the application depends have printed."""
        for name in self.dependencies:
            for container in self._containers(api, name):
                yield name, bytes(api.logs(container, stdout=True, stderr=True))

    def _instance(self, instance: Instance, labels: Mapping[str, str]) -> dict[str, Any]:
        service = self._services[self.service]
        left_out = (*OF_THE_POD, *OF_A_PROJECT)
        made = _filled({k: v for k, v in service.items() if k not in left_out}, instance.values)
        env = {name: filled(text, instance.values).replace("$", "$$") for name, text in instance.env.items()}
        made["environment"] = {**_as_mapping(made.get("environment")), **env}
        if instance.command is not None:
            made["command"] = [filled(each, instance.values).replace("$", "$$") for each in instance.command]
        made |= {
            "container_name": instance.container,
            "network_mode": f"container:{instance.pod}",
            "restart": "no",
        }
        return _labelled(made, labels)

    def _needed(self, service: str, found: tuple[str, ...] = ()) -> tuple[str, ...]:
        for name in self._services[service].get("depends_on") or ():
            if name not in found and name != self.service:
                found = self._needed(name, (*found, name))
        return found

    def _check(self) -> None:
        if mode := self._services[self.service].get("network_mode"):
            raise UsageError(
                f"{self._where}: service {self.service} has network_mode={mode!r}, and an application of a Pipeline "
                f"is on the cluster's network; leave it out"
            )
        for name in (self.service, *self.dependencies):
            if not self._services[name].get("image"):
                raise UsageError(
                    f"{self._where}: service {name} has no image; kafkacheck builds none: build it, and name what "
                    f"was built with image: in the file"
                )

    def _join(self, api: Any, instances: Sequence[Instance]) -> None:
        """Let the pods join the networks of the service, on which it reaches what it depends on."""
        for name in self._services[self.service].get("networks") or ("default",):
            declared = (self._content.get("networks") or {}).get(name) or {}
            external = declared.get("external")
            inner = external.get("name") if isinstance(external, Mapping) else None
            network = declared.get("name") or inner or (name if external else f"{self._project}_{name}")
            for each in instances:
                try:
                    api.connect_container_to_network(each.pod, network, aliases=[self.service])
                except NotFound:
                    break  # nothing that it depends on is there
                except APIError as error:
                    raise InfrastructureError(
                        f"{self._where}: the application cannot join the network {network}: {error.explanation}"
                    ) from error

    def _await(self, api: Any) -> None:
        conditions = self._services[self.service].get("depends_on") or {}
        deadline = time.monotonic() + DEPENDENCY_LIMIT
        for name, wish in conditions.items() if isinstance(conditions, Mapping) else ():
            condition = wish.get("condition", "service_started")
            is_met = partial(self._is_met, api, condition, name)
            if not wait_until(is_met, limit=deadline - time.monotonic(), interval=0.2):
                raise InfrastructureError(
                    f"{self._where}: {name}, on which {self.service} depends, did not become "
                    f"{condition.removeprefix('service_')} within {DEPENDENCY_LIMIT:.0f} s"
                )

    def _is_met(self, api: Any, condition: str, name: str) -> bool:
        return all(_meets(api, each, condition, name) for each in self._containers(api, name))

    def _containers(self, api: Any, service: str) -> list[str]:
        prefix = "com.docker.compose"
        wanted = [f"{prefix}.project={self._project}", f"{prefix}.service={service}"]
        return [each["Id"] for each in api.containers(all=True, filters={"label": wanted})]

    def _compose(self, arguments: Sequence[str], problem: str, text: str = "") -> str:
        """What it prints. text: the content of the file ``-``."""
        command = [*self._program, "-p", self._project, *arguments]
        # Compose looks for more settings in the folder of the project, which is that of its file.
        command[len(self._program) : len(self._program)] = [
            "--project-directory",
            str(Path(self._file).parent),
        ]
        try:
            done = subprocess.run(
                command,
                env=self._environment,
                input=text,
                capture_output=True,
                text=True,
                timeout=COMPOSE_LIMIT,
            )
        except subprocess.TimeoutExpired:
            raise InfrastructureError(
                f"{self._where}: {problem}: compose did not end within {COMPOSE_LIMIT:.0f} s"
            ) from None
        if done.returncode:
            said = " ".join(done.stderr.split()[-60:]) or f"status {done.returncode}"
            kind = UsageError if arguments[-1] == "config" else InfrastructureError
            raise kind(f"{self._where}: {problem}: {said}")
        return done.stdout


def _program() -> list[str]:
    if found := shutil.which("docker-compose"):
        return [found]
    if found := shutil.which("docker"):
        is_there = subprocess.run([found, "compose", "version"], capture_output=True).returncode == 0
        if is_there:
            return [found, "compose"]
    raise InfrastructureError(
        "Pipeline.compose needs docker-compose, or `docker compose`; as root on Debian or Ubuntu: `kafkacheck setup "
        "--compose`"
    )


def _meets(api: Any, container: str, condition: str, name: str) -> bool:
    state = api.inspect_container(container)["State"]
    if condition == "service_completed_successfully":
        if state["Status"] == "exited" and state["ExitCode"]:
            raise InfrastructureError(
                f"Pipeline.compose: {name}, on which the application depends, ended with status {state['ExitCode']}"
            )
        return bool(state["Status"] == "exited")
    return condition != "service_healthy" or (state.get("Health") or {}).get("Status") == "healthy"


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return filled(value, values)
    if isinstance(value, Mapping):
        return {key: _filled(each, values) for key, each in value.items()}
    return [_filled(each, values) for each in value] if isinstance(value, list) else value


def _labelled(part: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    return {**part, "labels": {**_as_mapping(part.get("labels")), **labels}}


def _as_mapping(value: Any) -> dict[str, Any]:
    """Of settings that may be a list of NAME=VALUE as well."""
    if isinstance(value, Mapping):
        return dict(value)
    pairs = (each.partition("=") for each in value or ())
    return {name: text if sign else None for name, sign, text in pairs}
