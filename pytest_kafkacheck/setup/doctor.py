"""Diagnoses this machine: what kafkacheck needs, and which faults are possible, with reasons and remedies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Literal

from docker.errors import ImageNotFound

from nemesis.registry import (
    CAPABILITIES,
    faults_that_need,
    faults_that_prefer,
    faults_without_needs,
)
from pytest_kafkacheck.cluster.docker import loop_devices
from pytest_kafkacheck.cluster.docker.engine import SPARE_MB, connect, reach, require_memory
from pytest_kafkacheck.cluster.docker.images import agent_image, archived_image, image_for
from pytest_kafkacheck.cluster.docker.podman import is_podman
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.setup.capabilities import missing_capabilities, why_no_container
from workloads.clients.java.program import NoJavaClient, check_installed
from workloads.clients.java.releases import DEFAULT_RELEASE
from workloads.java_runtime import MINIMUM, find_java, release

State = Literal["ok", "missing", "without"]

REMEDIES = {
    "freezer": "mount the freezer cgroup, or use an engine with cgroup v2",
    "nft": "allow the engine to add the capability NET_ADMIN (rootless engines cannot), and load the kernel module "
    "nf_tables on its host",
    "tbf": "load the kernel module sch_tbf on the engine's host",
    "netem": "load the kernel module sch_netem on the engine's host, or use a kernel that has it",
    "disks": "an engine on Linux that is not rootless, with the kernel module loop, and lets containers mount; "
    + loop_devices.REMEDY,
    "throttle": "an engine on Linux that is not rootless, with the control group blkio (version 1) or io (version 2)",
    "clock": "an engine on x86-64 that may add the capability SYS_PTRACE",
    "limits": "use an engine whose API can change a container, such as Docker: Podman 4 cannot",
    "packets": "run the tests as root on Linux 5.7 or later, with control groups of version 2 mounted for writing",
    "cpu": "run the tests as root on Linux, with the controller cpu of control groups mounted for writing",
    "memory": "run the tests as root on Linux, with the controller memory of control groups mounted for writing",
}
"""What to do about a missing capability."""

NO_CONTAINER = (
    "mend the engine's own settings; for Podman, docs/attach.md names those of containers.conf that matter"
)


@dataclass(frozen=True)
class Diagnosis:
    """The result of one check.

    state   ok; missing: nothing runs; without: it runs, but something is lacking.
    what    what was found.
    remedy  what to do about it; empty when the state is ok.
    """

    name: str
    state: State
    what: str
    remedy: str = ""

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def examine(spec: ClusterSpec | None = None) -> Iterator[Diagnosis]:
    """Check everything that a cluster of that spec (default: ClusterSpec()) needs, one diagnosis after the other.

    Everything made for the checks is removed. A check that fails gives a diagnosis, not an exception.
    """
    spec = spec or ClusterSpec()
    yield _java()
    yield _java_client()
    try:
        client = connect()
    except InfrastructureError as error:
        reason, _, remedy = str(error).partition("\n")
        yield Diagnosis("engine", "missing", reason, remedy or "run `kafkacheck setup` as root")
        return
    with closing(client):
        info = client.info()
        yield _engine(client, info)
        yield from _images(client, spec)
        yield _memory(client, spec)
        if (why := why_no_container(client.api)) is not None:
            yield Diagnosis("containers", "missing", f"the engine starts none: {why}", NO_CONTAINER)
            return
        yield from _faults(client, info)


def is_fit(answers: list[Diagnosis]) -> bool:
    """Whether experiments can run."""
    return all(answer.state != "missing" for answer in answers)


def _java() -> Diagnosis:
    java = find_java()
    if java is None:
        remedy = f"install a Java runtime, {MINIMUM} or later, or point JAVA_HOME to one; as root: kafkacheck setup"
        return Diagnosis("Java for Spark", "missing", f"none with release {MINIMUM} or later", remedy)
    return Diagnosis("Java for Spark", "ok", f"{release(java)}")


def _java_client() -> Diagnosis:
    try:
        check_installed(DEFAULT_RELEASE)
    except NoJavaClient as error:
        return Diagnosis("Java client", "without", "library='java' and Queue cannot be used", str(error))
    return Diagnosis("Java client", "ok", f"kafka-clients {DEFAULT_RELEASE}")


def _engine(client: Any, info: dict[str, Any]) -> Diagnosis:
    host, _ = reach(client)
    where = "on this host" if host == "127.0.0.1" else f"on {host}"
    rootless = any("rootless" in option for option in info.get("SecurityOptions") or ())
    cgroup = f"cgroup v{info.get('CgroupVersion', '1')}, {info.get('CgroupDriver', '?')}"
    name = "Podman " if is_podman(client.api) else ""
    what = f"{name}{info['ServerVersion']} {where}, {'rootless, ' if rootless else ''}{cgroup}"
    return Diagnosis("engine", "ok", what)


def _images(client: Any, spec: ClusterSpec) -> Iterator[Diagnosis]:
    image = spec.image or image_for(spec.version, client)
    for name, needed in (("broker image", image), ("agent image", agent_image())):
        try:
            client.images.get(needed)
            yield Diagnosis(name, "ok", needed)
        except ImageNotFound:
            yield Diagnosis(name, "missing", f"no {needed}", f"kafkacheck image build {spec.version}")
            return
    if archived_image(client, image):
        yield Diagnosis("fast start", "ok", "class archives are present")
    else:
        yield Diagnosis(
            "fast start", "without", "no class archives yet", f"kafkacheck image build {spec.version}"
        )


def _memory(client: Any, spec: ClusterSpec) -> Diagnosis:
    try:
        require_memory(client, spec)
    except InfrastructureError as error:
        return Diagnosis(
            "memory", "missing", str(error), "close other programs, or use fewer or smaller brokers"
        )
    each = spec.heap_mb + SPARE_MB
    total = client.info()["MemTotal"] >> 20
    return Diagnosis("memory", "ok", f"{total} MiB; a broker takes about {each} MiB")


def _faults(client: Any, info: dict[str, Any]) -> Iterator[Diagnosis]:
    found = missing_capabilities(client, [*REMEDIES, "ipv6"])
    for capability, remedy in REMEDIES.items():
        names = ", ".join((*faults_that_need(capability), *faults_that_prefer(capability)))
        name = f"fault{'s' * (',' in names)} {names}"
        if (why := found[capability]) is None:
            what = {"freezer": f"freezer, cgroup v{info.get('CgroupVersion', '1')}", "nft": "nftables"}.get(
                capability, CAPABILITIES.get(capability, "")
            )
            if capability == "nft":
                what += ", IPv4 and IPv6" if found["ipv6"] is None else ", IPv4; IPv6 is off in containers"
            yield Diagnosis(name, "ok", what)
        elif capability == "freezer":
            yield Diagnosis(
                name, "without", "no freezer: SIGSTOP is used instead, which the process can notice", remedy
            )
        else:
            # Most faults need the packet filter, so without it experiments make no sense.
            state: State = "missing" if capability == "nft" else "without"
            yield Diagnosis(name, state, f"no {CAPABILITIES[capability]}: {why}", remedy)
    yield Diagnosis("other faults", "ok", ", ".join(faults_without_needs()))
