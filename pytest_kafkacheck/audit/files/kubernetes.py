"""Resources of Kubernetes: Strimzi's Kafka, KafkaNodePool, KafkaTopic and KafkaUser, and workloads that run Kafka."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from pytest_kafkacheck.audit.configuration import Storage, parse_version
from pytest_kafkacheck.audit.files.declared import DeclaredCluster, DeclaredTopic, Node, Value
from pytest_kafkacheck.audit.files.environment import node_of
from pytest_kafkacheck.audit.files.properties import OPEN, read_properties
from pytest_kafkacheck.audit.files.text import Input, Place, YamlMapping, YamlText, items, mapping
from pytest_kafkacheck.audit.report import Problem
from pytest_kafkacheck.errors import UsageError

STRIMZI = "kafka.strimzi.io/"
CLUSTER = "strimzi.io/cluster"
WORKLOADS = ("StatefulSet", "Deployment", "Pod", "DaemonSet", "StrimziPodSet")


def read_resources(source: Input, trees: Iterable[YamlMapping]) -> list[DeclaredCluster]:
    """The clusters that resources make. Raises UsageError where none of them concerns Kafka."""
    resources = list(_flat(trees))
    for each in resources:
        if "kind" not in each:
            raise UsageError(
                f"{each.place}: a resource without a kind; expected one of Kubernetes, such as kind: Kafka"
            )
    clusters: defaultdict[str, DeclaredCluster] = defaultdict(lambda: DeclaredCluster(complete=True))
    strimzi = [each for each in resources if str(each.get("apiVersion", "")).startswith(STRIMZI)]
    only = {_name(each) for each in strimzi if each["kind"] == "Kafka"}
    for each in strimzi:
        if each["kind"] == "Kafka":
            _read_kafka(
                each,
                clusters[_name(each)],
                [pool for pool in strimzi if _is_pool_of(pool, _name(each), only)],
            )
    for each in strimzi:
        if each["kind"] == "KafkaTopic":
            _read_topic(each, clusters[_cluster_of(each, only)])
        elif each["kind"] == "KafkaNodePool" and _cluster_of(each, only) not in only:
            cluster = clusters[_cluster_of(each, only)]
            cluster.nodes.append(_pool(each, {}, None, None))
            cluster.remarks.append(
                f"{each.place}: the resource Kafka of this pool is not here; its settings are not known"
            )
    workloads = DeclaredCluster(complete=True)
    _read_workloads(source, resources, workloads)
    if workloads.nodes:
        clusters[""] = workloads
    if not clusters:
        if any(each["kind"] == "KafkaUser" for each in strimzi):
            raise UsageError(
                f"{source.at(1)}: a KafkaUser decides nothing here; add the file with kind: Kafka"
            )
        kinds = ", ".join(dict.fromkeys(str(each["kind"]) for each in resources))
        place = resources[0].keys_at["kind"] if resources else source.at(1)
        raise UsageError(
            f"{place}: kind {kinds}: nothing here runs Kafka; expected Strimzi's Kafka, KafkaNodePool or "
            "KafkaTopic, or a "
            "workload with an image of Kafka"
        )
    for name, cluster in clusters.items():
        cluster.name = name if len(clusters) > 1 else ""
    return list(clusters.values())


def _flat(trees: Iterable[Any]) -> Iterable[YamlMapping]:
    """With the members of lists, as `kubectl get -o yaml` prints them."""
    for each in trees:
        if isinstance(each, YamlMapping):
            if str(each.get("kind", "")).endswith("List") and "items" in each:
                yield from _flat(items(each["items"]))
            else:
                yield each


def _name(resource: YamlMapping) -> str:
    return str(mapping(resource, "metadata").get("name", ""))


def _cluster_of(resource: YamlMapping, known: set[str]) -> str:
    label = str(mapping(resource, "metadata", "labels").get(CLUSTER, ""))
    return label or (next(iter(known)) if len(known) == 1 else "")


def _is_pool_of(resource: YamlMapping, name: str, known: set[str]) -> bool:
    return resource["kind"] == "KafkaNodePool" and _cluster_of(resource, known) == name


def _values(tree: YamlMapping) -> dict[str, Value]:
    return {
        name: Value(str(text), tree.keys_at[name], is_open=bool(OPEN.search(str(text))))
        for name, text in tree.items()
        if isinstance(text, YamlText)
    }


def _read_kafka(resource: YamlMapping, cluster: DeclaredCluster, pools: Sequence[YamlMapping]) -> None:
    kafka = mapping(resource, "spec", "kafka")
    config = mapping(kafka, "config")
    settings = _values(config)
    release = _release(kafka)
    new_at = getattr(config, "place", None)
    if mapping(kafka, "rack"):
        cluster.remarks.append(
            f"{kafka.keys_at['rack']}: brokers take their rack from the Kubernetes node; in how many zones these "
            "are, only "
            "the live cluster knows"
        )
    zookeeper = mapping(resource, "spec", "zookeeper")
    if zookeeper and not pools:
        cluster.zookeepers = _number(zookeeper, "replicas", 1)
        cluster.zookeeper_storage, _ = _storage(mapping(zookeeper, "storage"))
    if pools:
        cluster.nodes += [_pool(pool, settings, release, new_at) for pool in pools]
        return
    roles = frozenset({"broker"} if zookeeper else {"broker", "controller"})
    storage, why = _storage(mapping(kafka, "storage"))
    count = _number(kafka, "replicas", 1)
    cluster.nodes.append(
        Node(_name(resource), roles, settings, count=count, release=release, storage=storage, why=why, form="config",
             new_at=new_at)
    )  # fmt: skip


def _pool(
    resource: YamlMapping, settings: dict[str, Value], release: str | None, new_at: Place | None
) -> Node:
    spec = mapping(resource, "spec")
    storage, why = _storage(mapping(spec, "storage"))
    return Node(
        _name(resource),
        frozenset(str(role) for role in items(spec.get("roles"))) or frozenset({"broker"}),
        settings,
        count=_number(spec, "replicas", 1),
        release=release,
        storage=storage,
        why=why,
        form="config",
        new_at=new_at,
    )


def _release(kafka: YamlMapping) -> str | None:
    stated = str(kafka.get("version") or "")
    if not stated or OPEN.search(stated):
        return None
    try:
        parse_version(stated)
    except UsageError:
        raise UsageError(
            f"{kafka.keys_at['version']}: version: {stated}: expected a Kafka release, such as 4.1.1"
        ) from None
    return stated


def _number(tree: YamlMapping, name: str, default: int) -> int:
    text = tree.get(name)
    if text is None:
        return default
    if not str(text).isdigit():
        raise UsageError(f"{tree.keys_at[name]}: {name}: {text}: expected a whole number")
    return int(text)


def _storage(storage: YamlMapping) -> tuple[Storage, str]:
    kinds = {
        str(each.get("type", "")) for each in items(storage.get("volumes")) if isinstance(each, YamlMapping)
    }
    kinds = kinds or {str(storage.get("type", ""))}
    if "ephemeral" in kinds:
        return "ephemeral", f"{storage.place}: storage ephemeral goes with the pod"
    return "kept", ""


def _read_topic(resource: YamlMapping, cluster: DeclaredCluster) -> None:
    spec = mapping(resource, "spec")
    config = mapping(spec, "config")
    replicas = spec.get("replicas")
    cluster.topics.append(
        DeclaredTopic(
            name=str(spec.get("topicName") or _name(resource)),
            replicas=Value(str(replicas), spec.keys_at["replicas"]) if replicas else None,
            settings=_values(config),
            new_at=getattr(config, "place", None),
        )
    )


def _read_workloads(source: Input, resources: Sequence[YamlMapping], cluster: DeclaredCluster) -> None:
    maps = {_name(each): each for each in resources if each["kind"] == "ConfigMap"}
    for each in resources:
        if each["kind"] not in WORKLOADS:
            continue
        spec = mapping(each, "spec")
        pod = spec if each["kind"] == "Pod" else mapping(spec, "template", "spec")
        for container in items(pod.get("containers")):
            node = _of_container(source, each, pod, container, maps, cluster)
            if node is not None:
                node.count = _number(spec, "replicas", 1)
                cluster.nodes.append(node)
            elif "zookeeper" in str(mapping(container).get("image", "")).rpartition("/")[2]:
                cluster.zookeepers += _number(spec, "replicas", 1)


def _of_container(
    source: Input,
    resource: YamlMapping,
    pod: YamlMapping,
    container: Any,
    maps: dict[str, YamlMapping],
    cluster: DeclaredCluster,
) -> Node | None:
    """With the settings of the ConfigMaps that it mounts or takes variables from."""
    container = mapping(container)
    environment: dict[str, Value] = {}
    for each in items(container.get("envFrom")):
        environment |= _values(mapping(maps.get(str(mapping(each, "configMapRef").get("name", ""))), "data"))
    for each in items(container.get("env")):
        if isinstance(each, YamlMapping) and "name" in each:
            text = str(each.get("value", ""))
            is_open = "valueFrom" in each or bool(OPEN.search(text))
            environment[str(each["name"])] = Value(text or "${valueFrom}", each.place, is_open=is_open)
    name = _name(resource)
    node = node_of(name, str(container.get("image", "")), environment, _mounts(resource, pod, container))
    if node is None:
        return None
    node.new_at = getattr(container.get("env"), "place", None)
    for map_name in _mounted_maps(pod):
        for key, text in mapping(maps.get(map_name), "data").items():
            if key.endswith(".properties") and isinstance(text, YamlText):
                _add_properties(source, node, text, cluster)
    return node


def _add_properties(source: Input, node: Node, text: YamlText, cluster: DeclaredCluster) -> None:
    """What the variables set wins over the file. Its lines stand below the key of the ConfigMap."""
    inner = DeclaredCluster()
    padded = Input(source.name, "\n" * text.place.line + str(text), source.path)
    try:
        client = read_properties(padded, inner)
    except UsageError:
        return
    if client is not None or not inner.nodes:
        return
    (read,) = inner.nodes
    node.settings = {**read.settings, **node.settings}
    node.brought = {}
    if "process.roles" in node.settings:
        node.roles = frozenset(each.strip() for each in node.settings["process.roles"].text.split(","))
    if any(value.is_open for value in read.settings.values()):
        opens = [name for name, value in read.settings.items() if value.is_open]
        cluster.problems.append(
            Problem(
                tried=f"{source.name}: {', '.join(opens)}", missing="the value is made when the pod starts"
            )
        )


def _mounted_maps(pod: YamlMapping) -> list[str]:
    found = []
    for volume in items(pod.get("volumes")):
        found.append(str(mapping(volume, "configMap").get("name", "")))
        found += [
            str(mapping(each, "configMap").get("name", ""))
            for each in items(mapping(volume, "projected").get("sources"))
        ]
    return [each for each in found if each]


def _mounts(resource: YamlMapping, pod: YamlMapping, container: YamlMapping) -> dict[str, bool]:
    """Directories, and whether they are kept: an emptyDir goes with the pod, a claim stays."""
    lost = {str(each.get("name")) for each in items(pod.get("volumes")) if "emptyDir" in mapping(each)}
    claimed = {_name(each) for each in items(mapping(resource, "spec").get("volumeClaimTemplates"))}
    kept = {
        str(each.get("name"))
        for each in items(pod.get("volumes"))
        if {"persistentVolumeClaim", "hostPath", "csi", "nfs"} & mapping(each).keys()
    }
    found = {}
    for mount in items(container.get("volumeMounts")):
        name, path = str(mapping(mount).get("name", "")), str(mapping(mount).get("mountPath", ""))
        if path and (name in lost or name in claimed or name in kept):
            found[path] = name not in lost
    return found
