"""From the names of files to a report. Properties files make one cluster together; other files make their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_kafkacheck.audit.client_files import of_consumer, of_producer
from pytest_kafkacheck.audit.files.compose import read_compose
from pytest_kafkacheck.audit.files.declared import DeclaredClient, DeclaredCluster
from pytest_kafkacheck.audit.files.kubernetes import read_resources
from pytest_kafkacheck.audit.files.names import name_remarks
from pytest_kafkacheck.audit.files.properties import read_properties
from pytest_kafkacheck.audit.files.subjects import declared
from pytest_kafkacheck.audit.files.text import Input, YamlMapping, documents, read_input
from pytest_kafkacheck.audit.report import Report, Subject
from pytest_kafkacheck.errors import UsageError

YAML_NAMES = (".yml", ".yaml", ".json")
PROPERTIES_NAMES = (".properties", ".conf", ".cfg", ".config", ".ini")

YAML_BEGINNING = re.compile(
    r"^(---|\{|(services|kind|apiVersion|version|name|include|networks|volumes|x-[\w-]+)\s*:)", re.MULTILINE
)
"""Of a line that no properties file has."""


class FileAudit(NamedTuple):
    """report: of the files. clusters, clients: what they declare, with the place of each setting. stated: what
    options and files of clients say."""

    report: Report
    clusters: Sequence[DeclaredCluster]
    clients: Sequence[DeclaredClient]
    stated: Subject


def read_files(names: Sequence[str], stated: Subject) -> FileAudit:
    """stated: what options say, which wins over files. Raises UsageError naming file and line."""
    together = DeclaredCluster()
    clusters: list[DeclaredCluster] = []
    clients: list[DeclaredClient] = []
    for name in names:
        source = read_input(name)
        if _is_yaml(source):
            clusters += _read_yaml(source)
        elif (client := read_properties(source, together)) is not None:
            clients.append(client)
    if together.nodes or (together.zookeepers and not clusters):
        clusters.insert(0, together)
    elif together.zookeepers:
        clusters[0].zookeepers = clusters[0].zookeepers or together.zookeepers
    for kind in ("producer", "consumer"):
        stated = _with_clients(stated, [client for client in clients if client.kind == kind])
    if len(clusters) > 1:
        clusters = [
            replace(each, name=each.name or f"cluster {number}") for number, each in enumerate(clusters, 1)
        ]
    found = [declared(cluster, stated) for cluster in clusters]
    subjects = [subject for each in found for subject in each.subjects]
    if not clusters:
        subjects = [
            Subject(
                name="stated settings",
                settings=stated.settings,
                origins=stated.origins,
                unknown=stated.unknown,
            )
        ]
        if "replication" not in stated.settings:
            raise UsageError(
                f"{', '.join(names)}: only settings of clients; add the file of a broker, --bootstrap, or "
                "--replication"
            )
    release = stated.settings.get("client_version")
    report = Report(
        subjects,
        [problem for each in found for problem in each.problems],
        stated=[
            *(remark for each in found for remark in each.remarks),
            *(
                remark
                for each in clients
                for remark in name_remarks(each.settings, kind=each.kind, release=release)
            ),
        ],
    )
    return FileAudit(report, clusters, clients, stated)


def _is_yaml(source: Input) -> bool:
    name = source.name.lower()
    if name.endswith(YAML_NAMES):
        return True
    return not name.endswith(PROPERTIES_NAMES) and YAML_BEGINNING.search(source.text) is not None


def _read_yaml(source: Input) -> list[DeclaredCluster]:
    trees = list(documents(source))
    if not trees:
        raise UsageError(f"{source.at(1)}: it is empty; expected a compose file, or resources of Kubernetes")
    for tree in trees:
        if not isinstance(tree, YamlMapping):
            raise UsageError(
                f"{tree.place}: expected a compose file, or resources of Kubernetes; this is no mapping"
            )
    if len(trees) == 1 and "services" in trees[0]:
        return [read_compose(source, trees[0])]
    if not any("kind" in tree for tree in trees):
        raise UsageError(
            f"{trees[0].place}: neither a compose file (services) nor resources of Kubernetes (kind); of a Helm "
            "chart, render it first: helm template . | kafkacheck audit -"
        )
    return read_resources(source, trees)


def _with_clients(stated: Subject, clients: Sequence[DeclaredClient]) -> Subject:
    """With what files of clients of one kind say. An option wins; where files differ, all their values count."""
    values: dict[str, dict[Any, str]] = {}
    for client in clients:
        settings = {name: value.text for name, value in client.settings.items() if not value.is_open}
        read = of_producer if client.kind == "producer" else of_consumer
        known, unknown = read(settings, client.where)
        for field, possible in {**{name: (value,) for name, value in known.items()}, **unknown}.items():
            for value in possible:
                values.setdefault(field, {}).setdefault(value, client.new_at.input.name)
    values = {field: those for field, those in values.items() if field not in stated.settings}
    known = {field: next(iter(those)) for field, those in values.items() if len(those) == 1}
    return replace(
        stated,
        settings={**stated.settings, **known},
        origins={**stated.origins, **{field: values[field][known[field]] for field in known}},
        unknown={
            **stated.unknown,
            **{field: tuple(those) for field, those in values.items() if len(those) > 1},
        },
    )
