"""Where nodes listen and what they advertise, as their settings say, and whether brokers reach each other there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from pytest_kafkacheck.cluster.docker.containers import Container, names_of
from pytest_kafkacheck.cluster.docker.kafka_containers import label
from pytest_kafkacheck.errors import UsageError

LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0")

SESSION_SETTINGS = {"broker.session.timeout.ms": 9.0, "zookeeper.session.timeout.ms": 18.0}
"""Settings after which a silent broker loses its leaderships, in KRaft and with ZooKeeper, and Kafka's default in
seconds."""


class Listener(NamedTuple):
    name: str
    host: str
    port: int


def listeners_of(text: str) -> list[Listener]:
    """Of a setting such as ``INTERNAL://kafka1:9092,EXTERNAL://localhost:19092``, without those that have no port."""
    found = re.findall(r"([^\s,:/]+)://\[?([^,\s\]]*?)\]?:(\d+)", text)
    return [Listener(name, host, int(port)) for name, host, port in found]


def require_peers(
    what: str, brokers: Mapping[int, Container], settings: Mapping[int, Mapping[str, str]]
) -> None:
    """Raises UsageError where brokers do not reach each other at what they advertise, or only past a cut."""
    if len(brokers) < 2:
        return
    at: dict[int, Listener] = {}
    for node, found in settings.items():
        inner = inner_listener(found)
        named = [
            each
            for text in (found.get("advertised.listeners"), found.get("listeners"))
            for each in listeners_of(text or "")
            if each.name == inner and each.host
        ]
        if named:
            at[node] = named[0]
    shown = ", ".join(f"broker {node} {each.host}:{each.port}" for node, each in sorted(at.items()))
    remedy = (
        "Let the listener between brokers (inter.broker.listener.name) advertise each container's own name"
    )
    places = [each[1:] for each in at.values()]
    if any(each.host in LOOPBACK for each in at.values()) or len(set(places)) < len(places):
        raise UsageError(
            f"attach {what!r}: the brokers advertise to each other {shown}; each one finds itself or "
            f"nothing there, so replicas never get in sync. {remedy}"
        )
    for node, each in at.items():
        own = brokers[node]
        networks = own["NetworkSettings"]["Networks"].values()
        names = {*names_of(own), *(network["IPAddress"] for network in networks)}
        if each.host not in names and each.host.partition(".")[0] not in names:
            raise UsageError(
                f"attach {what!r}: the brokers advertise to each other {shown}; {each.host} is not "
                f"{label(own)}, so packets between brokers take another way than faults can cut. {remedy}"
            )


def inner_listener(settings: Mapping[str, str]) -> str:
    """The name of the listener between brokers."""
    return (
        settings.get("inter.broker.listener.name")
        or settings.get("security.inter.broker.protocol")
        or "PLAINTEXT"
    )


def peer_ports(settings: Mapping[str, str]) -> frozenset[int]:
    return ports_of(settings, inner_listener(settings)) or frozenset({9092})


def controller_ports(settings: Mapping[str, str]) -> frozenset[int]:
    names = [each.strip() for each in settings.get("controller.listener.names", "").split(",")]
    return frozenset[int]().union(*(ports_of(settings, name) for name in names if name)) or frozenset({9093})


def ports_of(settings: Mapping[str, str], listener: str) -> frozenset[int]:
    """Ports of the listener of that name."""
    return frozenset(
        each.port for each in listeners_of(settings.get("listeners") or "") if each.name == listener
    )


def session_seconds(settings: Mapping[str, str], name: str) -> float:
    text = settings.get(name) or ""
    return int(text) / 1000 if text.isdigit() else SESSION_SETTINGS[name]
