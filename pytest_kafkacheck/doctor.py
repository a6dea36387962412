"""What this machine has of what kafkacheck needs, and which faults it can do: each with its reason and its remedy."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Literal

from docker.errors import DockerException, ImageNotFound

from pytest_kafkacheck.cluster import loop, reaper, warm
from pytest_kafkacheck.cluster.engine import SPARE_MB, connect, reach, require_memory
from pytest_kafkacheck.cluster.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.setup.image import agent_image, image_for
from pytest_kafkacheck.setup.java import MINIMUM, find_java, release

State = Literal["ok", "missing", "without"]

PROBE_LIMIT = 30
"""Seconds after which the container that tries what a pod must be able to do ends by itself."""

DISKS = "disks of their own (power loss, full and stalled disks)"
DISK_PROBE_MB = 16

PROBE = """
nft add table inet kafkacheck_doctor && nft delete table inet kafkacheck_doctor && echo nft
tc qdisc add dev eth0 root netem delay 1ms && echo netem
[ "$(cat /proc/sys/net/ipv6/conf/all/disable_ipv6)" = 0 ] && echo ipv6
exit 0
"""


@dataclass(frozen=True)
class Answer:
    """state   ok; missing, so that nothing runs; without: runs, but lacks something.
    what     what was found.
    remedy   what to do about it; empty when ok.
    """

    name: str
    state: State
    what: str
    remedy: str = ""

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def examine(spec: ClusterSpec | None = None) -> Iterator[Answer]:
    """Look at everything a cluster of that spec (default: ClusterSpec()) needs; answers come as they are found.

    Nothing that it makes stays. Never raises for what it finds.
    """
    spec = spec or ClusterSpec()
    yield _java()
    try:
        client = connect()
    except InfrastructureError as error:
        yield Answer("engine", "missing", str(error).splitlines()[0], "run `kafkacheck setup` as root")
        return
    with closing(client):
        info = client.info()
        yield _engine(client, info)
        yield from _images(client, spec)
        yield _memory(client, spec)
        yield from _faults(client, info)
        yield disks(client)


def fit(answers: list[Answer]) -> bool:
    """Whether experiments can run."""
    return all(answer.state != "missing" for answer in answers)


def _java() -> Answer:
    java = find_java()
    if java is None:
        remedy = f"install a Java runtime, {MINIMUM} or later, or point JAVA_HOME to one; as root: kafkacheck setup"
        return Answer("Java for Spark", "missing", f"none from {MINIMUM} on", remedy)
    return Answer("Java for Spark", "ok", f"{release(java)}")


def _engine(client: Any, info: dict[str, Any]) -> Answer:
    host, _ = reach(client)
    where = "on this host" if host == "127.0.0.1" else f"on {host}"
    rootless = any("rootless" in option for option in info.get("SecurityOptions") or ())
    cgroup = f"cgroup v{info.get('CgroupVersion', '1')}, {info.get('CgroupDriver', '?')}"
    what = f"{info['ServerVersion']} {where}, {'rootless, ' if rootless else ''}{cgroup}"
    return Answer("engine", "ok", what)


def _images(client: Any, spec: ClusterSpec) -> Iterator[Answer]:
    image = spec.image or image_for(spec.version, client)
    for name, needed in (("broker image", image), ("agent image", agent_image())):
        try:
            client.images.get(needed)
            yield Answer(name, "ok", needed)
        except ImageNotFound:
            yield Answer(name, "missing", f"no {needed}", f"kafkacheck image build {spec.version}")
            return
    if warm.image_of(client, image):
        yield Answer("fast start", "ok", "archived classes are there")
    else:
        yield Answer(
            "fast start", "without", "no archived classes yet", f"kafkacheck image build {spec.version}"
        )


def _memory(client: Any, spec: ClusterSpec) -> Answer:
    try:
        require_memory(client, spec)
    except InfrastructureError as error:
        return Answer(
            "memory", "missing", str(error), "close other programs, or use fewer or smaller brokers"
        )
    each = spec.heap_mb + SPARE_MB
    total = client.info()["MemTotal"] >> 20
    return Answer("memory", "ok", f"{total} MiB; a broker takes about {each} MiB")


def _faults(client: Any, info: dict[str, Any]) -> Iterator[Answer]:
    yield Answer("faults kill, stop, restart", "ok", "signals through the engine")
    try:
        able, paused = _probe(client)
    except (DockerException, OSError) as error:
        yield Answer("faults on the network", "missing", f"a container with NET_ADMIN does not run: {error}",
                     "allow the engine to add the capability NET_ADMIN; rootless engines cannot")  # fmt: skip
        return
    if paused:
        yield Answer("fault pause", "ok", f"freezer, cgroup v{info.get('CgroupVersion', '1')}")
    else:
        yield Answer("fault pause", "without", "no freezer: SIGSTOP is used instead, which the process can notice",
                     "mount the freezer cgroup, or use an engine with cgroup v2")  # fmt: skip
    if "nft" in able:
        also = "IPv4 and IPv6" if "ipv6" in able else "IPv4; IPv6 is off in containers"
        yield Answer("faults isolate, partition", "ok", f"nftables, {also}")
    else:
        yield Answer("faults isolate, partition", "missing", "nft cannot add a table in a container's network",
                     "load the kernel module nf_tables on the engine's host")  # fmt: skip
    if "netem" in able:
        yield Answer("loss and delay of packets", "ok", "netem")
    else:
        yield Answer("loss and delay of packets", "without", "this kernel has no netem (no fault needs it yet)",
                     "a kernel with the module sch_netem")  # fmt: skip


def disks(client: Any) -> Answer:
    """Whether nodes can have disks of their own. Tried: a small one is made, mounted and removed."""
    run = f"doctor-{secrets.token_hex(4)}"
    try:
        with reaper.removed_at_end(client, run):
            disk = {f"kafkacheck-{run}-data": f"kafkacheck-{run}-disk"}
            loop.make(client.api, disk, mb=DISK_PROBE_MB, owner=reaper.labels(run))
            have, free = loop.count(client.api, owner=reaper.labels(run))
    except (InfrastructureError, DockerException, OSError) as error:
        what, short, _ = str(error).partition(" What to do: ")
        remedy = (
            "an engine on Linux that is not rootless, with the kernel module loop, and lets containers mount"
        )
        return Answer(DISKS, "without", what, loop.REMEDY if short else remedy)
    return Answer(DISKS, "ok", f"ext4 on loop devices; {free + 1} of {have} are free")


def _probe(client: Any) -> tuple[set[str], bool]:
    """What a container with a pod's rights could do, and whether the engine could freeze it."""
    api = client.api
    labels = reaper.labels(f"doctor-{secrets.token_hex(4)}")
    container = api.create_container(
        image=agent_image(),
        command=["sleep", str(PROBE_LIMIT)],
        labels=labels,
        host_config=api.create_host_config(cap_add=["NET_ADMIN"]),
    )["Id"]
    try:
        api.start(container)
        try:
            api.pause(container)
            frozen = bool(api.inspect_container(container)["State"]["Paused"])
            api.unpause(container)
        except DockerException:
            frozen = False
        run = api.exec_create(container, ["sh", "-c", PROBE], stderr=False)["Id"]
        return set(api.exec_start(run).decode().split()), frozen
    finally:
        api.remove_container(container, force=True, v=True)
