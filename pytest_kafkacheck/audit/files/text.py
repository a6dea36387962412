"""The text of an input, YAML as a tree with positions, and sentences that name file and line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from pytest_kafkacheck.errors import UsageError

STANDARD_INPUT = "-"

Style = Literal["properties", "block", "flow", "list"]
"""Of the place of a setting: a line of a properties file, or an entry of a mapping or list of YAML."""


@dataclass(frozen=True)
class Input:
    """name: as the user gives it. path: None for standard input."""

    name: str
    text: str
    path: Path | None = None

    def at(self, line: int) -> str:
        return f"{self.name}:{line}"


def read_input(name: str) -> Input:
    """Raises UsageError for what cannot be read, is no text, or is empty."""
    if name == STANDARD_INPUT:
        shown, path, content = "standard input", None, sys.stdin.buffer.read()
    else:
        shown, path = name, Path(name)
        if path.is_dir():
            raise UsageError(
                f"{name}: it is a directory; expected files, such as {path / 'server.properties'}"
            )
        try:
            content = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{name}: cannot be read: {error.strerror or error}") from error
    return Input(shown, decoded(content, shown), path)


def decoded(content: bytes, name: str) -> str:
    """Raises UsageError, with the line, for what is no text, and where there is none."""
    try:
        text = content.decode("utf-8-sig")
        end = text.find("\0")
    except UnicodeDecodeError as error:
        text, end = content[: error.start].decode("utf-8", "replace"), error.start
    if end >= 0:
        raise UsageError(
            f"{name}:{text[:end].count(chr(10)) + 1}: it is no text file; expected settings of Kafka, a compose "
            "file or resources of Kubernetes, in UTF-8"
        )
    if not text.strip():
        raise UsageError(f"{name}: it is empty; expected settings of Kafka")
    return text


@dataclass(frozen=True)
class Place:
    """Where an entry stands, or where another one can be put. line: from 1. indent: characters before it."""

    input: Input
    line: int
    indent: int = 0
    style: Style = "properties"

    def __str__(self) -> str:
        return self.input.at(self.line)


class YamlText(str):
    """A scalar of YAML, whatever its type, as it is written. A null is empty."""

    place: Place


class YamlMapping(dict[str, Any]):
    """A mapping of YAML, in which merge keys are resolved. place: of its first entry. keys_at: of each entry."""

    place: Place
    keys_at: dict[str, Place]


class YamlList(list[Any]):
    """A sequence of YAML."""

    place: Place


def documents(source: Input) -> Iterator[Any]:
    """The documents of a YAML text as trees. Raises UsageError naming the line."""
    try:
        for node in yaml.compose_all(source.text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if node is not None:
                yield _tree(node, source, {})
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise UsageError(
            f"{source.at(line)}: this is no valid YAML: {error.problem or error.context}"
        ) from error
    except yaml.YAMLError as error:
        raise UsageError(f"{source.name}: this is no valid YAML: {' '.join(str(error).split())}") from error


def _tree(node: Any, source: Input, known: dict[int, Any]) -> Any:
    if id(node) in known:
        return known[id(node)]
    mark = node.start_mark
    if isinstance(node, yaml.ScalarNode):
        found: Any = YamlText("" if node.tag.endswith(":null") else node.value)
        found.place = Place(source, mark.line + 1, mark.column, "block")
        known[id(node)] = found
        return found
    if isinstance(node, yaml.SequenceNode):
        found = known[id(node)] = YamlList()
        found.place = Place(source, mark.line + 1, mark.column, "flow" if node.flow_style else "list")
        found += [_tree(each, source, known) for each in node.value]
        for each in found:
            if isinstance(each, YamlText):
                each.place = replace(each.place, style="list")
        return found
    found = known[id(node)] = YamlMapping()
    style: Style = "flow" if node.flow_style else "block"
    found.place = Place(source, mark.line + 1, mark.column, style)
    found.keys_at = {}
    merged: list[YamlMapping] = []
    for key, value in node.value:
        tree = _tree(value, source, known)
        if key.tag.endswith(":merge"):
            merged += [
                each for each in (tree if isinstance(tree, list) else [tree]) if isinstance(each, YamlMapping)
            ]
            continue
        name = str(getattr(key, "value", key))
        found[name] = tree
        found.keys_at[name] = Place(source, key.start_mark.line + 1, key.start_mark.column, style)
    for each in merged:
        for name, tree in each.items():
            if name not in found:
                found[name], found.keys_at[name] = tree, each.keys_at[name]
    return found


def mapping(tree: Any, *names: str) -> YamlMapping:
    """The mapping at these names; an empty one where something else or nothing is there."""
    for name in names:
        tree = tree.get(name) if isinstance(tree, YamlMapping) else None
    if isinstance(tree, YamlMapping):
        return tree
    empty = YamlMapping()
    empty.keys_at = {}
    return empty


def items(tree: Any) -> list[Any]:
    return list(tree) if isinstance(tree, YamlList) else []
