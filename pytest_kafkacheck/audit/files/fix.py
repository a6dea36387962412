"""The changes of an advice as a diff of the files in which the settings stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import unified_diff

from pytest_kafkacheck.audit.advice import Change
from pytest_kafkacheck.audit.files.declared import DeclaredCluster, Value
from pytest_kafkacheck.audit.files.environment import PREFIX, variable_name
from pytest_kafkacheck.audit.files.read import FileAudit
from pytest_kafkacheck.audit.files.subjects import scope_of
from pytest_kafkacheck.audit.files.text import Input, Place


@dataclass(frozen=True)
class Edit:
    """new: whether the setting is added at the place, instead of changed there."""

    place: Place
    name: str
    value: str
    new: bool


def fix(audit: FileAudit, changes: Iterable[Change]) -> Iterator[str]:
    """Lines: a comment for each change that no file can show, and then the diffs."""
    edits: dict[Edit, None] = {}
    for change in changes:
        found = list(_edits(audit, change)) if change.name else []
        if not found:
            yield f"# {change}: no file here has a place for it; cost: {change.cost}"
        edits |= dict.fromkeys(found)
    inputs = {edit.place.input.name: edit.place.input for edit in edits}
    for source in inputs.values():
        after, failed = _edited(source, [edit for edit in edits if edit.place.input.name == source.name])
        yield from (f"# {edit.place}: set {edit.name}={edit.value} here" for edit in failed)
        for line in unified_diff(_lines(source), after, source.name, source.name):
            end = "" if line.endswith("\n") else "\n\\ No newline at end of file"
            yield line.removesuffix("\n") + end


def _lines(source: Input) -> list[str]:
    return source.text.splitlines(keepends=True)


def _edits(audit: FileAudit, change: Change) -> Iterator[Edit]:
    name, value = change.name or "", change.value or ""
    for client in audit.clients:
        if client.kind in change.scopes:
            yield _edit(client.settings.get(name), client.new_at, name, value)
    for cluster in audit.clusters:
        for topic in cluster.topics:
            if scope_of(cluster, topic.name) in change.scopes:
                place = topic.replicas if change.field == "replication" else topic.settings.get(name)
                if place is not None or topic.new_at is not None:
                    yield _edit(place, topic.new_at, name, value)
        if scope_of(cluster) in change.scopes:
            yield from _of_nodes(cluster, change, name, value)


def _of_nodes(cluster: DeclaredCluster, change: Change, name: str, value: str) -> Iterator[Edit]:
    nodes = cluster.nodes if change.field == "unclean" else cluster.brokers
    for node in nodes:
        stated = node.settings.get(name)
        if stated is None and node.new_at is None:
            continue
        is_variable = node.form in PREFIX
        edit = _edit(stated, node.new_at, variable_name(name, node.form) if is_variable else name, value)
        # Compose refuses booleans as values of variables.
        is_quoted = is_variable and value in ("true", "false") and edit.place.style != "list"
        yield replace(edit, value=f'"{value}"') if is_quoted else edit


def _edit(stated: Value | None, new_at: Place | None, name: str, value: str) -> Edit:
    if stated is not None:
        return Edit(stated.place, name, value, new=False)
    assert new_at is not None
    return Edit(new_at, name, value, new=True)


def _edited(source: Input, edits: list[Edit]) -> tuple[list[str], list[Edit]]:
    """The lines with the edits, and the edits for which a line has another form than expected."""
    lines, failed = _lines(source), []
    # From the end, so that the numbers of earlier lines stay.
    for edit in sorted(edits, key=lambda each: (-each.place.line, each.new, each.name)):
        index, place = edit.place.line - 1, edit.place
        if not edit.new:
            changed = _changed(lines[index], edit) if index < len(lines) else None
            if changed is None:
                failed.append(edit)
            else:
                lines[index] = changed
        elif place.style == "flow":
            line = lines[index]
            inside = "" if line[place.indent + 1 :].lstrip().startswith("}") else ", "
            lines[index] = (
                f"{line[: place.indent + 1]}{edit.name}: {edit.value}{inside}{line[place.indent + 1 :]}"
            )
        else:
            form = {"properties": "{}={}", "block": "{}: {}", "list": "- {}={}"}[place.style]
            if index > 0 and not lines[index - 1].endswith("\n"):
                lines[index - 1] += "\n"
            lines.insert(index, f"{' ' * place.indent}{form.format(edit.name, edit.value)}\n")
    return lines, failed


def _changed(line: str, edit: Edit) -> str | None:
    name = re.escape(edit.name)
    end = line[len(line.rstrip("\r\n")) :]
    if edit.place.style == "properties":
        return None if line.rstrip().endswith("\\") else f"{edit.name}={edit.value}{end}"
    if edit.place.style == "list":
        changed, number = re.subn(
            rf"({name}=)[^\"'#\r\n]*", lambda match: match[1] + edit.value, line, count=1
        )
        return changed if number else None
    scalar = r"""(?:"[^"]*"|'[^']*'|[^\s,}\]#]+)"""
    form = rf"""({name}["']?\s*[:=]\s*){scalar}"""
    changed, number = re.subn(form, lambda match: match[1] + edit.value, line, count=1)
    return changed if number else None
