"""What settings and replicas of topics were before a fault changed them, so that another process can restore them.

A topic's owner has made settings, too: what Kafka reports now does not show what a fault left. So the value before
is written down first. A fault that is at work has a value that was written down as made; any other value was given
by somebody else since, and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.admin import admin_client
from pytest_kafkacheck.cluster.kafka.waiting import wait_until
from workloads.clients.connection import Address
from workloads.clients.requests import Leadership

OF_TOPIC = "DYNAMIC_TOPIC_CONFIG"
"""Source of a setting that was made for the topic itself."""

LIMIT = 60.0
"""Seconds for replicas to be where they were, and in sync."""

Value = str | None
"""A setting's value, None where the topic has none of its own. Replicas are node ids such as ``1,2,3``."""


class Key(NamedTuple):
    """name: of a setting, or a partition's number."""

    kind: Literal["setting", "replicas"]
    topic: str
    name: str


@dataclass(frozen=True, kw_only=True)
class FormerValue:
    """former  before the first change.
    made    what it was changed to since.
    """

    key: Key
    former: Value
    made: frozenset[Value]

    def is_left(self, now: Value) -> bool:
        return now != self.former and (now in self.made or self._is_between(now))

    def _is_between(self, now: Value) -> bool:
        """Whether replicas are moving: until new ones are in sync, a partition has both old and new ones."""
        old, both = _nodes(self.former), _nodes(now)
        return (
            self.key.kind == "replicas"
            and both > old
            and any(both == old | _nodes(each) for each in self.made)
        )

    def describe(self, now: Value) -> str:
        kind, topic, name = self.key
        if kind == "replicas":
            return f"{topic}-{name}: a fault has moved its replicas from {self.former} to {now}"
        return f"topic {topic}: a fault has set {name}={now}; before, it was {self.former or 'not set'}"


class FormerValues(Protocol):
    """Where they are written down; `docker.registers.ValueRegister` is one."""

    def own(self, key: Key) -> FormerValue | None:
        """What this process has written down."""
        ...

    def changing(self, key: Key, *, former: Value, made: Value) -> None:
        """Called before a change. `former` replaces what was written down for the key, unless it is one of `made`."""
        ...

    def restored(self, keys: Iterable[Key]) -> None:
        """Called when they have their former values again, or nothing has them any more."""
        ...

    def left(self) -> list[FormerValue]:
        """What this process and those that have ended have changed and not restored."""
        ...


@contextmanager
def written_down(
    values: FormerValues | None, wanted: Mapping[Key, Value], read: Callable[[], Mapping[Key, Value]]
) -> Iterator[None]:
    """Around a change of these keys to these values. `read` returns their values before, where they have one.

    A heal gives back what was written down. It asks nothing, so that it is as fast and as safe as without this.
    """
    if values is None:
        yield
        return
    known = {key: own for key in wanted if (own := values.own(key)) is not None}
    returning = {key for key, own in known.items() if own.former == wanted[key]}
    if wanted.keys() - returning:
        before = read()
        for key in wanted.keys() - returning:
            values.changing(key, former=before.get(key), made=wanted[key])
    try:
        yield
    except ValueError:  # Kafka refused the change
        values.restored(wanted.keys() - known.keys())
        raise
    # A move of replicas has only begun; `differences` finds out when it is complete.
    values.restored(key for key in returning if key.kind == "setting")


def differences(brokers: Mapping[int, Address], values: FormerValues) -> dict[FormerValue, Value]:
    """What is to be restored, with the value that it has now. Raises OSError when the brokers do not answer.

    Values that are the former ones again, and those of topics that are gone, are dropped from the register.
    """
    found = values.left()
    if not found:
        return {}
    now = present_values(brokers, {each.key for each in found})
    values.restored(each.key for each in found if each.key not in now or now[each.key] == each.former)
    return {each: now[each.key] for each in found if each.key in now and each.is_left(now[each.key])}


def restore(brokers: Mapping[int, Address], values: FormerValues) -> None:
    """Give back all former values. Returns when the brokers report them.

    Raises OSError when a request fails, InfrastructureError when that takes too long.
    """
    found = list(differences(brokers, values))
    if not found:
        return
    settings: dict[str, dict[str, tuple[str, Value]]] = {}
    for kind, topic, name, former in ((*each.key, each.former) for each in found):
        if kind == "setting":
            settings.setdefault(topic, {})[name] = ("DELETE" if former is None else "SET", former)
    moves = {
        TopicPartition(each.key.topic, int(each.key.name)): [int(node) for node in each.former.split(",")]
        for each in found
        if each.key.kind == "replicas" and each.former
    }
    try:
        with admin_client(brokers) as client:
            for topic, wanted in settings.items():
                client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=wanted)])
            if moves:
                client.alter_partition_reassignments(moves)
    except KafkaError as error:
        raise ConnectionError(f"former values could not be restored: {error!r}") from error

    def problem() -> str | None:
        now = present_values(brokers, {each.key for each in found}, settled=True)
        return next(
            (each.describe(now.get(each.key)) for each in found if now.get(each.key) != each.former), None
        )

    wait_until(problem, "settings and replicas of topics as they were before a fault", limit=LIMIT)
    values.restored(each.key for each in found)


def as_value(replicas: Iterable[int]) -> str:
    return ",".join(map(str, replicas))


def _nodes(replicas: Value) -> set[str]:
    return set((replicas or "").split(","))


def present_values(
    brokers: Mapping[int, Address], keys: Collection[Key], *, settled: bool = False
) -> dict[Key, Value]:
    """The values of keys whose topics exist. `settled`: replicas that are not in sync count as others."""
    view = max(metadata_views.views(brokers, {key.topic for key in keys}).values(), key=len, default=None)
    if view is None:
        raise ConnectionError("no broker reports its topics")
    topics = {topic for topic, _ in view}
    values: dict[Key, Value] = {
        Key("replicas", topic, str(partition)): _replicas(state, settled=settled)
        for (topic, partition), state in view.items()
    }
    asked = {key.topic for key in keys if key.kind == "setting"} & topics
    if asked:
        wanted = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in sorted(asked)]
        try:
            with admin_client(brokers) as client:
                described = client.describe_configs(wanted, config_filter="all")
        except KafkaError as error:
            raise ConnectionError(f"the topics' settings could not be read: {error!r}") from error
        # A broker that does not know a topic answers without any setting, also without defaults.
        settings = {topic: each for found in described.values() for topic, each in found.items() if each}
        if unknown := sorted(asked - settings.keys()):
            raise ConnectionError(f"a broker does not know the settings of {', '.join(unknown)}")
        for key in (key for key in keys if key.kind == "setting" and key.topic in settings):
            setting = settings[key.topic].get(key.name, {})
            is_own = setting.get("config_source") == OF_TOPIC
            values[key] = str(setting["value"]) if is_own else None
    return {key: value for key, value in values.items() if key in keys}


def _replicas(state: Leadership, *, settled: bool) -> str:
    complete = set(state.isr) == set(state.replicas)
    return (
        as_value(state.replicas) if complete or not settled else f"{as_value(state.replicas)} (not in sync)"
    )
