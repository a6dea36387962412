"""Services of a compose file that run Kafka: by `docker compose config` where it is there, and always by reading it.

Reading gives the line of each setting, and works without Docker: anchors and merge keys, `extends`, `env_file`,
`.env`, profiles and the forms of `${NAME}`. What it cannot resolve is named.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_kafkacheck.audit.files.declared import DeclaredCluster, Value
from pytest_kafkacheck.audit.files.environment import node_of
from pytest_kafkacheck.audit.files.properties import OPEN
from pytest_kafkacheck.audit.files.text import (
    Input,
    Place,
    YamlList,
    YamlMapping,
    YamlText,
    decoded,
    documents,
    items,
    mapping,
)
from pytest_kafkacheck.audit.report import Problem
from pytest_kafkacheck.errors import UsageError

COMPOSE_LIMIT = 10.0
"""Seconds for `docker compose config`, which reads files only."""

VARIABLE = re.compile(r"\$(?:\$|(\w+)|\{(\w+)(?:(:?[-?+])((?:[^{}]|\{[^{}]*\})*))?\})")


def read_compose(source: Input, tree: YamlMapping) -> DeclaredCluster:
    """The cluster of its services. Raises UsageError for a file without any service of Kafka."""
    cluster = DeclaredCluster(complete=True)
    reader = _Reader(source, cluster)
    resolved = _by_docker(source)
    services = mapping(tree, "services")
    for name in services:
        service = reader.service(name, services)
        if not (reader.is_active(service) if resolved is None else name in resolved):
            cluster.remarks.append(f"{service.place}: {name} is left out: none of its profiles is active")
            continue
        environment = reader.environment(service)
        image = reader.text(service.get("image"))
        if resolved is not None:
            image, environment = _joined(resolved[name], image, environment, service)
        if "zookeeper" in image.rpartition("/")[2]:
            cluster.zookeepers += 1
            if not service.get("volumes"):
                cluster.zookeeper_storage = "ephemeral"
            continue
        node = node_of(
            name,
            image,
            environment,
            dict(reader.volume(each) for each in items(service.get("volumes"))),
            has_command=bool(service.get("command") or service.get("entrypoint")),
        )
        if node is None:
            continue
        place = service.get("environment", None)
        node.new_at = getattr(place, "place", None)
        deploy = reader.text(mapping(service, "deploy").get("replicas"))
        node.count = int(deploy) if deploy.isdigit() else 1
        cluster.nodes.append(node)
    if not cluster.nodes:
        raise UsageError(
            f"{services.place if services else source.at(1)}: no service runs Kafka: none of "
            f"{', '.join(services) or 'them'} "
            "has an image of it, or variables that begin with KAFKA_ or KAFKA_CFG_"
        )
    return cluster


def _by_docker(source: Input) -> dict[str, Any] | None:
    """Services as `docker compose config` resolves them; None where it is missing, or refuses the file."""
    if source.path is None or shutil.which("docker") is None:
        return None
    command = ["docker", "compose", "--file", str(source.path), "config", "--format", "json"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=COMPOSE_LIMIT, check=False)
        return dict(json.loads(run.stdout)["services"]) if run.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError):
        return None


def _joined(
    resolved: Mapping[str, Any], image: str, read: dict[str, Value], service: YamlMapping
) -> tuple[str, dict[str, Value]]:
    """Docker's values, each at the place where it was read."""
    values = dict(resolved.get("environment") or {})
    there = {
        name: Value("" if text is None else str(text), read[name].place if name in read else service.place)
        for name, text in values.items()
    }
    return str(resolved.get("image") or image), {**read, **there}


class _Reader:
    """Resolves what a compose file leaves to others."""

    def __init__(self, source: Input, cluster: DeclaredCluster) -> None:
        self.source, self.cluster = source, cluster
        self.variables: dict[str, str] = dict(os.environ)
        self.variables = {**self._dotenv(), **os.environ}

    def _dotenv(self) -> dict[str, str]:
        if self.source.path is None:
            return {}
        path = self.source.path.parent / ".env"
        if not path.is_file():
            return {}
        return {name: value.text for name, value in self._env_file(path).items()}

    def service(self, name: str, services: YamlMapping, within: tuple[str, ...] = ()) -> YamlMapping:
        """With what it extends."""
        own = mapping(services, name)
        extended = own.get("extends")
        if extended is None:
            return own
        base_name = str(
            extended if isinstance(extended, YamlText) else mapping(own, "extends").get("service", name)
        )
        file = None if isinstance(extended, YamlText) else mapping(own, "extends").get("file")
        key = f"{file or ''}:{base_name}"
        if key in within:
            raise UsageError(f"{own.place}: the service {name} extends itself")
        if file is None:
            if base_name not in services:
                raise UsageError(
                    f"{own.place}: {name} extends the service {base_name}, which is not in this file"
                )
            base = self.service(base_name, services, (*within, key))
        else:
            base = self._other_file(str(file), base_name, own.place, (*within, key))
        return _extended(base, own)

    def _other_file(self, file: str, name: str, place: Place, within: tuple[str, ...]) -> YamlMapping:
        path = (self.source.path.parent if self.source.path else Path()) / file
        try:
            other = Input(str(path), decoded(path.read_bytes(), str(path)), path)
        except OSError as error:
            self._unresolved(
                f"{place}: extends {file}", f"the file cannot be read: {error.strerror or error}"
            )
            return mapping(None)
        trees = [each for each in documents(other) if isinstance(each, YamlMapping)]
        return self.service(name, mapping(trees[0], "services") if trees else mapping(None), within)

    def is_active(self, service: YamlMapping) -> bool:
        """Whether `docker compose up` starts it, without options."""
        profiles = {self.text(each) for each in items(service.get("profiles"))}
        active = {each.strip() for each in self.variables.get("COMPOSE_PROFILES", "").split(",")}
        return not profiles or "*" in active or bool(profiles & active)

    def environment(self, service: YamlMapping) -> dict[str, Value]:
        """Of its env_file, and then its own."""
        found: dict[str, Value] = {}
        files = service.get("env_file")
        for each in [files] if isinstance(files, YamlText) else items(files):
            name = str(each if isinstance(each, YamlText) else mapping(each).get("path", ""))
            path = (self.source.path.parent if self.source.path else Path()) / self.text(YamlText(name))
            try:
                found |= self._env_file(path)
            except OSError as error:
                place = getattr(files, "place", service.place)
                self._unresolved(
                    f"{place}: env_file {name}", f"the file cannot be read: {error.strerror or error}"
                )
        stated = service.get("environment")
        if isinstance(stated, YamlMapping):
            for name, value in stated.items():
                self._put(found, name, value, stated.keys_at[name])
        for each in items(stated):
            name, equals, value = str(each).partition("=")
            self._put(found, name, value if equals else None, each.place)
        return found

    def _put(self, found: dict[str, Value], name: str, value: Any, place: Place) -> None:
        text = "" if value is None else self._filled(str(value), place)
        if not text:
            # Without a value, the shell's counts.
            if name in self.variables:
                text = self.variables[name]
            elif name.startswith("KAFKA_"):
                self._unresolved(f"{place}: {name}", "it has no value here, and none in this environment")
                text = f"${{{name}}}"
            else:
                return
        found[name] = Value(text, place, is_open=bool(OPEN.search(text)))

    def text(self, value: Any) -> str:
        return self._filled(str(value), getattr(value, "place", None)) if isinstance(value, str) else ""

    def _filled(self, text: str, place: Place | None) -> str:
        """With values of this environment and `.env` in the place of variables; what has none stays."""

        def value_of(match: re.Match[str]) -> str:
            if match[0] == "$$":
                return "$"
            name, form, other = match[1] or match[2], match[3] or "", match[4] or ""
            value = self.variables.get(name)
            is_set = bool(value) if form.startswith(":") else value is not None
            if form.endswith("+"):
                return self._filled(other, place) if is_set else ""
            if is_set:
                return value or ""
            if form.endswith("-"):
                return self._filled(other, place)
            where = f"{place}: " if place else ""
            self._unresolved(f"{where}${{{name}}}", "it has no value in this environment")
            return f"${{{name}}}"

        return VARIABLE.sub(value_of, text)

    def _env_file(self, path: Path) -> dict[str, Value]:
        source = Input(str(path), path.read_text(encoding="utf-8", errors="replace"), path)
        found = {}
        for number, line in enumerate(source.text.splitlines(), 1):
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            if equals and not name.startswith("#"):
                text = value.strip()
                place = Place(source, number)
                quoted = re.fullmatch(r"(['\"])(.*?)\1(?:\s+#.*)?", text)
                text = quoted[2] if quoted else text.partition(" #")[0].strip()
                if quoted is None or quoted[1] == '"':
                    text = self._filled(text, place)
                found[name.strip()] = Value(text, place, is_open=bool(OPEN.search(text)))
        return found

    def volume(self, tree: Any) -> tuple[str, bool]:
        """The directory in the container, and whether it is kept when the container is replaced."""
        if isinstance(tree, YamlMapping):
            kind, target = str(tree.get("type", "volume")), self.text(tree.get("target"))
            return target, kind == "bind" or (kind == "volume" and bool(tree.get("source")))
        source, colon, rest = self.text(tree).partition(":")
        # A volume without a name belongs to the container: `docker compose down` forgets it.
        return (rest.partition(":")[0], True) if colon else (source, False)

    def _unresolved(self, tried: str, missing: str) -> None:
        problem = Problem(
            tried=tried, missing=missing, remedy="state the setting by an option, or set the variable"
        )
        if problem not in self.cluster.problems:
            self.cluster.problems.append(problem)


def _extended(base: YamlMapping, own: YamlMapping) -> YamlMapping:
    """As compose does it: mappings are joined, and the own entry wins; lists of variables and volumes are joined."""
    found = YamlMapping(base)
    found.place, found.keys_at = own.place, {**base.keys_at, **own.keys_at}
    for name, value in own.items():
        former = base.get(name)
        if name == "environment" and former is not None and type(former) is not type(value):
            former, value = _as_mapping(former), _as_mapping(value)
        if isinstance(value, YamlMapping) and isinstance(former, YamlMapping):
            joined = YamlMapping({**former, **value})
            joined.place, joined.keys_at = value.place, {**former.keys_at, **value.keys_at}
            found[name] = joined
        elif (
            isinstance(value, YamlList)
            and isinstance(former, YamlList)
            and name in ("environment", "volumes")
        ):
            together = YamlList([*former, *value])
            together.place = value.place
            found[name] = together
        else:
            found[name] = value
    return found


def _as_mapping(tree: Any) -> Any:
    if isinstance(tree, YamlMapping):
        return tree
    found = YamlMapping()
    found.place, found.keys_at = tree.place, {}
    for each in items(tree):
        name, _, value = str(each).partition("=")
        text = YamlText(value)
        text.place = each.place
        found[name], found.keys_at[name] = text, each.place
    return found
