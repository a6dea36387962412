"""What a declared cluster says of each kind of topic: made automatically, stated, and Kafka's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_kafkacheck.audit.configuration import ZOOKEEPER_REMOVED, parse_version
from pytest_kafkacheck.audit.events import BROKER_EVENTS, EVENTS
from pytest_kafkacheck.audit.files.declared import DeclaredCluster, DeclaredTopic, Node, Value, listed
from pytest_kafkacheck.audit.files.names import name_remarks
from pytest_kafkacheck.audit.keys import KINDS, OF_TOPIC, SHARED, Key, whole
from pytest_kafkacheck.audit.parts import (
    BROKERS_WRITE,
    INTERNAL,
    OF_CLIENTS,
    OF_CONSUMERS,
    OF_TOPICS,
    joined,
    without,
)
from pytest_kafkacheck.audit.report import Problem, Subject
from pytest_kafkacheck.cluster.spec.release import RELEASES, line_of
from pytest_kafkacheck.errors import UsageError

LAST_WITH_ZOOKEEPER = "3.9.2"

SHARE_FEATURE = "share.version"


@dataclass
class Chosen:
    """settings, origins, unknown: as `Subject` has them."""

    settings: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def put(self, name: str, value: Any, origin: object = "") -> None:
        self.settings[name] = value
        if origin:
            self.origins[name] = str(origin)


class Declared(NamedTuple):
    subjects: list[Subject]
    remarks: list[str]
    problems: list[Problem]


def declared(cluster: DeclaredCluster, stated: Subject) -> Declared:
    """stated: what options and the files of clients say, which win over the files of brokers."""
    return _Reading(cluster, stated).all()


def scope_of(cluster: DeclaredCluster, topic: str | None = None) -> str:
    """Whose settings those of a topic, or of the brokers, are."""
    of = f" of {cluster.name}" if cluster.name else ""
    return f"{'brokers' if topic is None else f'topic {topic}'}{of}"


class _Reading:
    def __init__(self, cluster: DeclaredCluster, stated: Subject) -> None:
        self.cluster, self.stated = cluster, stated
        self.problems: dict[str, Problem] = {}
        self.remarks = list(cluster.remarks)
        self.of_cluster = Chosen()

    def all(self) -> Declared:
        self._read_cluster()
        release = (
            str(self.stated.settings.get("version") or self.of_cluster.settings.get("version") or "") or None
        )
        names = [
            name
            for node in self.cluster.nodes
            for name in name_remarks(node.settings, kind="broker", release=release)
        ]
        for topic in self.cluster.topics:
            names += name_remarks(topic.settings, kind="topic", release=release)
        subjects = [
            self._of_kind(kind)
            for kind in KINDS
            if kind != "__share_group_state" or _has_share_groups(release)
        ]
        subjects[1:1] = [self._of_topic(topic) for topic in self.cluster.topics]
        self._remark_on_storage()
        return Declared(
            subjects,
            list(dict.fromkeys([*names, *self.remarks])),
            [*self.cluster.problems, *self.problems.values()],
        )

    def _of_kind(self, kind: str) -> Subject:
        chosen = Chosen()
        for name, key in {**KINDS[kind], **SHARED}.items():
            self._choose(chosen, name, key)
        notes: list[str] = []
        if not kind:
            made = self._values("auto.create.topics.enable")
            is_off = bool(made) and all(value.text.lower() == "false" for value in made)
            title = "topics made without settings of their own" if is_off else "topics made automatically"
            parts = [self.stated, chosen, self.of_cluster]
        else:
            title = f"{kind} ({INTERNAL[kind]})"
            own = without(self.stated, (*OF_TOPICS, *OF_CLIENTS, *OF_CONSUMERS))
            parts = [own, chosen, self.of_cluster, BROKERS_WRITE]
        if kind == "__consumer_offsets" and 1 in (
            chosen.settings.get("replication"),
            *chosen.unknown.get("replication", ()),
        ):
            notes.append("__consumer_offsets has 1 replica: committed positions are lost with one disk")
        if kind == "__transaction_state" and True in (
            chosen.settings.get("unclean"),
            *chosen.unknown.get("unclean", ()),
        ):
            notes.append(
                "judged by the brokers' unclean.leader.election.enable=true; where Kafka has made this topic, "
                "the topic's own false counts, and --bootstrap reads it"
            )
        return self._subject(title, parts, bool(kind), KINDS[kind], scope_of(self.cluster), notes)

    def _of_topic(self, topic: DeclaredTopic) -> Subject:
        own, brokers = Chosen(), Chosen()
        if topic.replicas is not None:
            own.put("replication", read_value("replicas", topic.replicas, whole(1)), topic.replicas.place)
        for name, key in OF_TOPIC.items():
            if (value := topic.settings.get(key.name)) is not None:
                if value.is_open:
                    self._open(own, name, key, value)
                elif (converted := read_value(key.name, value, key.convert)) is not None:
                    own.put(name, converted, value.place)
        for name, key in {**KINDS[""], **SHARED}.items():
            if name != "tiered":
                self._choose(brokers, name, key)
        rest = without(self.stated, OF_TOPICS)
        keys = {**KINDS[""], **OF_TOPIC, "replication": Key("replicas", whole(1))}
        return self._subject(
            f"topic {topic.name}",
            [own, rest, brokers, self.of_cluster],
            False,
            keys,
            f"topic {topic.name}",
            [],
        )

    def _subject(
        self,
        title: str,
        parts: Sequence[Any],
        is_internal: bool,
        keys: Mapping[str, Key],
        scope: str,
        notes: list[str],
    ) -> Subject:
        of = f" of {self.cluster.name}" if self.cluster.name else ""
        subject = joined(f"{title}{of}", parts, BROKER_EVENTS if is_internal else tuple(EVENTS))
        settings, origins, unknown = dict(subject.settings), dict(subject.origins), dict(subject.unknown)
        racks = self._racks(max([settings.get("replication", 1), *unknown.get("replication", ())]))
        if racks is not None and "replicas_in_rack" not in settings:
            settings["replicas_in_rack"], origins["replicas_in_rack"] = racks
        replicas = settings.get("replication")
        if (
            self.cluster.complete
            and isinstance(replicas, int)
            and replicas > (there := self._number(self.cluster.brokers))
        ):
            notes.append(
                f"{replicas} replicas need as many brokers, and there {'is' if there == 1 else 'are'} {there}: "
                "Kafka does not make such a topic"
            )
        return Subject(
            name=subject.name,
            settings=settings,
            origins=origins,
            unknown=unknown,
            events=subject.events,
            notes=tuple(notes),
            keys={name: key.name for name, key in {**SHARED, **keys}.items()},
            scope=scope,
        )

    # --- values of nodes ---

    def _choose(self, chosen: Chosen, name: str, key: Key) -> None:
        """The value on which all nodes agree; otherwise all values, and a problem that names them."""
        nodes = self._deciding(name)
        by_value: dict[Any, list[Node]] = {}
        origins: list[object] = []
        for node in nodes:
            value = node.settings.get(key.name)
            if value is not None and value.is_open:
                self._open(chosen, name, key, value)
                return
            if value is not None:
                converted = read_value(key.name, value, key.convert)
                origins.append(value.place)
            elif key.name in node.brought:
                converted = key.convert(node.brought[key.name])
                origins.append(f"the file that the image of {node.name} brings")
            else:
                converted = key.default
            by_value.setdefault(converted, []).append(node)
        values = list(by_value) or [key.default]
        if len(values) == 1:
            if values[0] is not None:
                origin = origins[0] if origins else ""
                if name == "unclean" and origin and not self.cluster.controllers and self._mode() == "kraft":
                    origin = f"{origin}; the controllers' file decides, which is not here"
                chosen.put(name, values[0], origin)
            return
        chosen.unknown[name] = tuple(values)
        shown = "; ".join(
            f"{_text(value)} on {listed(node.name for node in those)}"
            + ("" if any(key.name in {**node.settings, **node.brought} for node in those) else ", by default")
            for value, those in by_value.items()
        )
        self.problems[key.name] = Problem(
            tried=key.name,
            missing=f"brokers have different values: {shown}; which of them counts depends on the broker that "
            "makes or leads the topic",
            remedy="give all the same value",
        )

    def _deciding(self, name: str) -> list[Node]:
        """In KRaft, controllers elect."""
        if name == "unclean" and self.cluster.controllers:
            return self.cluster.controllers
        return self.cluster.brokers or self.cluster.nodes

    def _open(self, chosen: Chosen, name: str, key: Key, value: Value) -> None:
        self.problems[f"{value.place}"] = Problem(
            tried=f"{value.place}: {key.name}={value.text}",
            missing="the value comes from somewhere else when the broker starts",
            remedy=f"state it by an option, such as --{name.replace('_', '-')}" if name in OF_TOPICS else "",
        )
        if key.open:
            chosen.unknown[name] = key.open

    def _values(self, key: str, nodes: Iterable[Node] | None = None) -> list[Value]:
        there = self.cluster.nodes if nodes is None else nodes
        return [node.settings[key] for node in there if key in node.settings]

    # --- the cluster ---

    def _read_cluster(self) -> None:
        found = self.of_cluster
        releases = {node.release: node for node in reversed(self.cluster.nodes) if node.release}
        if releases:
            lowest = min(releases, key=parse_version)
            found.put("version", lowest, f"image or resource of {releases[lowest].name}")
            if len(releases) > 1:
                shown = "; ".join(f"{node.name}: {release}" for release, node in releases.items())
                self.problems["releases"] = Problem(
                    tried="releases",
                    missing=f"nodes run different ones: {shown}; the lowest one is judged, whose features all have",
                    remedy="state it with --version",
                )
        mode = self._mode()
        if mode is not None:
            found.put("mode", mode, "process.roles" if mode == "kraft" else "zookeeper.connect")
        elif (ids := self._values("broker.id")) and self.stated.settings.get("mode") is None:
            self.problems["mode"] = Problem(
                tried=f"{ids[0].place}",
                missing="a broker with broker.id, and neither process.roles nor zookeeper.connect, one of which it "
                "needs to start; it is judged in KRaft mode",
                remedy="add the one of your cluster, or state it with --mode",
            )
        release = self.stated.settings.get("version") or found.settings.get("version")
        if mode == "zookeeper":
            if release is None:
                found.put("version", LAST_WITH_ZOOKEEPER)
            elif (
                parse_version(str(release)) >= ZOOKEEPER_REMOVED and self.stated.settings.get("mode") is None
            ):
                (where, *_) = [*self._values("zookeeper.connect"), None]
                place = f"{where.place}: " if where else ""
                raise UsageError(
                    f"{place}zookeeper.connect with Kafka {release}: Kafka 4.0 removed ZooKeeper mode, so such a "
                    "broker does not start; use process.roles, or an older release"
                )
            hosts = [
                value.text.partition("/")[0]
                for value in self._values("zookeeper.connect")
                if not value.is_open
            ]
            named = len(hosts[0].split(",")) if hosts else 0
            if self.cluster.zookeepers or named:
                found.put(
                    "zookeepers",
                    self.cluster.zookeepers or named,
                    "files" if self.cluster.zookeepers else "zookeeper.connect",
                )
            if self.cluster.zookeeper_storage == "ephemeral":
                found.put("metadata_storage", "ephemeral", "disks of ZooKeeper")
        elif mode == "kraft":
            self._read_quorum()
        self._read_storage()

    def _mode(self) -> str | None:
        if self._values("process.roles") or any(node.is_controller for node in self.cluster.nodes):
            return "kraft"
        return "zookeeper" if self._values("zookeeper.connect") or self.cluster.zookeepers else None

    def _read_quorum(self) -> None:
        found, controllers = self.of_cluster, self.cluster.controllers
        if any(node.is_broker and node.is_controller for node in self.cluster.nodes):
            found.put("roles", "combined", "process.roles")
        elif self._values("process.roles") or controllers:
            found.put("roles", "separate", "process.roles")
        voters = [value for value in self._values("controller.quorum.voters") if not value.is_open]
        servers = [
            value for value in self._values("controller.quorum.bootstrap.servers") if not value.is_open
        ]
        if voters:
            found.put("controllers", len(voters[0].text.split(",")), voters[0].place)
        elif self.cluster.complete and self._number(controllers):
            found.put("controllers", self._number(controllers), "nodes that are controllers")
        elif servers:
            number = max(len(servers[0].text.split(",")), self._number(controllers))
            found.put("controllers", number, f"{servers[0].place}, where each voter is taken to be named")
        elif self._number(controllers):
            found.put("controllers", self._number(controllers), "nodes that are controllers")

    def _read_storage(self) -> None:
        for name, nodes in (
            ("storage", self.cluster.brokers),
            ("metadata_storage", self.cluster.controllers),
        ):
            lost = [node for node in nodes if node.storage == "ephemeral"]
            if lost:
                self.of_cluster.put(name, "ephemeral", lost[0].why)

    def _racks(self, replication: int) -> tuple[int, str] | None:
        """Replicas in one rack at most, and from where that is known."""
        if "replicas_in_rack" in self.stated.settings:
            return None
        racks = self._values("broker.rack", self.cluster.brokers)
        if not racks or any(value.is_open for value in racks) or len(racks) < len(self.cluster.brokers):
            return None
        if len(self.cluster.brokers) == 1 and not self.cluster.complete:
            return 1, f"{racks[0].place}: the racks of the brokers that are not here are taken to be others"
        different = len({value.text for value in racks})
        return -(-replication // different), f"broker.rack: {different} racks"

    @staticmethod
    def _number(nodes: Iterable[Node]) -> int:
        return sum(node.count for node in nodes)

    def _remark_on_storage(self) -> None:
        for node in self.cluster.nodes:
            if node.storage == "ephemeral":
                self.remarks.append(
                    f"{node.name}: {node.why}: an operator's restart and a drained node delete the disk"
                )
            stated = node.settings.get("log.dirs") or node.settings.get("log.dir")
            if node.form != "properties" or not node.is_broker:
                continue
            if stated is not None and any(part.strip().startswith("/tmp") for part in stated.text.split(",")):
                self.remarks.append(
                    f"{stated.place}: log.dirs={stated.text} lies below /tmp, which many systems empty at a restart"
                )
            elif stated is None and {"node.id", "broker.id"} & node.settings.keys():
                self.remarks.append(
                    f"{node.name}: log.dirs is not set: its default lies below /tmp, which many systems empty at "
                    "a restart"
                )


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _has_share_groups(release: str | None) -> bool:
    """Whether brokers know the feature; without a release, the newest ones do."""
    line = line_of(release) if release and release.count(".") > 1 else release
    return (
        line is None
        or (line in RELEASES and SHARE_FEATURE in RELEASES[line].features)
        or (line not in RELEASES and parse_version(line) > parse_version([*RELEASES][-1]))
    )


def read_value(name: str, value: Value, convert: Callable[[str], Any]) -> Any:
    try:
        return convert(value.text.strip())
    except (ValueError, KeyError):
        raise UsageError(f"{value.place}: {name}={value.text}: expected {convert.__doc__}") from None
