"""Files of Kafka's own form. Whether one is of a broker, controller, ZooKeeper, producer or consumer follows from its
keys."""

from __future__ import annotations

import re
from typing import Literal

from pytest_kafkacheck.audit.files.declared import DeclaredClient, DeclaredCluster, Node, Value
from pytest_kafkacheck.audit.files.text import Input, Place
from pytest_kafkacheck.cluster.spec.client_settings import numbered_properties
from pytest_kafkacheck.cluster.spec.release import facts
from pytest_kafkacheck.errors import UsageError

OPEN = re.compile(r"\$\{.*?\}|\{\{.*?\}\}|\$\(\w+\)|<[A-Z_ ]+>")
"""Text that another program replaces: a configuration provider, a template, a placeholder."""

OF_ZOOKEEPER = re.compile(r"clientPort|dataDir|tickTime|initLimit|syncLimit|server\.\d+")

Kind = Literal["broker", "producer", "consumer"]
KINDS: tuple[Kind, ...] = ("broker", "producer", "consumer")


def read_properties(source: Input, cluster: DeclaredCluster) -> DeclaredClient | None:
    """Add the node of a server's file to a cluster, or return a client's. Raises UsageError for any other file."""
    settings = {
        name: Value(value, Place(source, line), is_open=bool(OPEN.search(value)))
        for name, (value, line) in numbered_properties(source.text).items()
    }
    if len([name for name in settings if OF_ZOOKEEPER.fullmatch(name)]) >= 2:
        cluster.zookeepers = max(1, sum(name.startswith("server.") for name in settings))
        return None
    kind = _kind(source, settings)
    end = Place(source, source.text.count("\n") + (not source.text.endswith("\n")) + 1)
    if kind != "broker":
        return DeclaredClient(kind, settings, end)
    cluster.nodes.append(server(settings, name=source.name, new_at=end))
    return None


def server(settings: dict[str, Value], *, name: str, new_at: Place | None) -> Node:
    """The node that such settings make."""
    roles = settings.get("process.roles")
    ids = [settings[key].text for key in ("node.id", "broker.id") if key in settings]
    return Node(
        name=f"node {ids[0]}" if ids else name,
        roles=frozenset(each.strip() for each in roles.text.split(",")) if roles else frozenset({"broker"}),
        settings=settings,
        new_at=new_at,
    )


def _kind(source: Input, settings: dict[str, Value]) -> Kind:
    """That which knows the most of the keys. One of another kind that is misspelt leaves the others."""
    counts = {kind: sum(name in facts()[kind] for name in settings) for kind in KINDS}
    most = max(counts.values())
    best = [kind for kind in KINDS if counts[kind] == most]
    if most == 0:
        shown = ", ".join([*settings][:3]) or "no setting"
        raise UsageError(
            f"{source.at(1)}: Kafka knows none of its settings ({shown}); expected a file of a broker, controller, "
            "producer or consumer, a compose file, or resources of Kubernetes"
        )
    if len(best) > 1:
        raise UsageError(
            f"{source.at(1)}: its settings ({', '.join(settings)}) are those of "
            f"{' and of '.join(f'{each}s' for each in best)} alike; "
            "state which it is by --producer-config or --consumer-config, or with another setting, such as "
            "process.roles"
        )
    return best[0]
