"""Which capabilities for faults the engine's host has, found by trying each of them.

Whether it can limit what a container writes to a disk is measured.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from docker.errors import DockerException, ImageNotFound
from docker.types import Mount

from nemesis.faults.slow_disk import CLEARLY, measured
from nemesis.registry import FAULTS, OF_APPLICATIONS, lacking
from pytest_kafkacheck.cluster.docker import loop_devices, reaper
from pytest_kafkacheck.cluster.docker.containers import execute
from pytest_kafkacheck.cluster.docker.disk import write_limit
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.spec.properties import DATA
from pytest_kafkacheck.errors import CapabilityError, InfrastructureError
from workloads.applications.confinement import why_not

LIMIT = 30
"""Seconds after which the container that tries the capabilities ends by itself."""

DISK_MB = 16

PROBES = {
    "nft": "nft add table inet kafkacheck_doctor && nft delete table inet kafkacheck_doctor",
    "tbf": "tc qdisc add dev lo root tbf rate 1mbit burst 32kb latency 400ms && tc qdisc del dev lo root",
    "netem": "tc qdisc add dev lo root netem delay 1ms && tc qdisc del dev lo root",
    "clock": '[ "$(uname -m)" = x86_64 ] || { echo "this is $(uname -m)"; false; }',
    "ipv6": '[ "$(cat /proc/sys/net/ipv6/conf/all/disable_ipv6)" = 0 ] || { echo "it is off in containers"; false; }',
}
"""A shell command per capability. It succeeds where the host has the capability, and prints the reason otherwise."""


def missing_capabilities(client: Any, capabilities: Iterable[str]) -> dict[str, str | None]:
    """The reason why the host lacks a capability, by capability; None where it has it. Everything made is removed.

    capabilities  of `nemesis.capabilities`, and ``freezer`` and ``ipv6``, which no fault needs.
    """
    wanted = set(capabilities)
    found: dict[str, str | None] = {each: why_not(each) for each in sorted(wanted & OF_APPLICATIONS)}
    wanted -= OF_APPLICATIONS
    if "disks" in wanted:
        found["disks"] = _try_disks(client)
    if "throttle" in wanted:
        found["throttle"] = try_write_limit(client)
    if "limits" in wanted:
        found["limits"] = _try_limits(client.api)
    if tried := wanted - {"disks", "throttle", "limits"}:
        try:
            found |= try_in_container(client.api, tried)
        except (DockerException, OSError) as error:
            found |= dict.fromkeys(tried, f"a container with the necessary rights does not run: {error}")
    return found


def impossible_faults(client: Any, faults: Iterable[str]) -> dict[str, str]:
    """The faults that the host cannot do, each with the reason."""
    named = tuple(dict.fromkeys(faults))
    needs = {need for name in named for need in FAULTS[name].needs}
    return lacking(named, missing_capabilities(client, needs)) if needs else {}


def require_capabilities(client: Any, faults: Iterable[str]) -> None:
    """Raise CapabilityError, with the reason for each fault, when the host is not able to do all of them."""
    if missing := impossible_faults(client, faults):
        reasons = "; ".join(f"{fault}: {why}" for fault, why in missing.items())
        raise CapabilityError(
            f"this host cannot do what the experiment asks for: {reasons}. See `kafkacheck doctor`"
        )


def why_no_container(api: Any) -> str | None:
    """Why the engine starts no container of the agent image, in its words; None where it starts one, or lacks the
    image."""
    container = ""
    try:
        container = api.create_container(
            image=agent_image(), command=["true"], labels=reaper.labels(f"doctor-{secrets.token_hex(4)}")
        )["Id"]
        api.start(container)
    except ImageNotFound:
        return None
    except DockerException as error:
        return str(getattr(error, "explanation", None) or error)
    finally:
        if container:
            api.remove_container(container, force=True, v=True)
    return None


def _try_limits(api: Any) -> str | None:
    """Ask for a change of a container that does not exist: an engine without this request does not look for it."""
    name = f"kafkacheck-none-{secrets.token_hex(4)}"
    try:
        api.update_container(name, cpu_shares=2)
    except DockerException as error:
        why = str(getattr(error, "explanation", None) or error)
        return None if name in why else f"the engine's API has no request for them ({why})"
    return None


def try_in_container(api: Any, wanted: set[str]) -> dict[str, str | None]:
    rights = ["NET_ADMIN", *(["SYS_PTRACE", "DAC_OVERRIDE"] if "clock" in wanted else [])]
    container = api.create_container(
        image=agent_image(),
        command=["sleep", str(LIMIT)],
        labels=reaper.labels(f"doctor-{secrets.token_hex(4)}"),
        host_config=api.create_host_config(cap_add=rights),
    )["Id"]
    try:
        api.start(container)
        found: dict[str, str | None] = {}
        for name in sorted(wanted & PROBES.keys()):
            status, output = execute(api, container, ["bash", "-c", PROBES[name]], timeout=LIMIT)
            found[name] = None if status == 0 else output.strip() or f"status {status}"
        if "freezer" in wanted:
            found["freezer"] = _try_freezer(api, container)
        return found
    finally:
        api.remove_container(container, force=True, v=True)


def _try_freezer(api: Any, container: str) -> str | None:
    try:
        api.pause(container)
        api.unpause(container)
    except DockerException as error:
        return str(error)
    return None


def _try_disks(client: Any) -> str | None:
    """Make, mount and remove a small disk."""
    run = f"doctor-{secrets.token_hex(4)}"
    try:
        with reaper.removed_at_end(client, run):
            disk = {f"kafkacheck-{run}-data": f"kafkacheck-{run}-disk"}
            loop_devices.make_disks(client.api, disk, mb=DISK_MB, owner=reaper.labels(run))
    except (InfrastructureError, DockerException, OSError) as error:
        return str(error).partition(" What to do: ")[0]
    return None


RATE = 2_000_000
"""Bytes per second. As many bytes are written, so the trial takes a second where the limit works."""

TRIAL_LIMIT = 60
"""Seconds after which the container of the trial ends by itself."""


def try_write_limit(client: Any) -> str | None:
    """The reason why it is impossible; None where it is possible. Everything made is removed."""
    run = f"doctor-{secrets.token_hex(4)}"
    try:
        with reaper.removed_at_end(client, run):
            return _try(client.api, f"kafkacheck-{run}-data", reaper.labels(run))
    except (InfrastructureError, DockerException, OSError) as error:
        return str(error).partition(" What to do: ")[0]


def _try(api: Any, volume: str, labels: dict[str, str]) -> str | None:
    loop_devices.make_disks(api, {volume: volume.replace("-data", "-disk")}, mb=DISK_MB, owner=labels)
    device = api.inspect_volume(volume)["Options"]["device"]
    container = api.create_container(
        image=agent_image(),
        command=["sleep", str(TRIAL_LIMIT)],
        labels=labels,
        network_disabled=True,
        host_config=api.create_host_config(mounts=[Mount(DATA, volume, type="volume", labels=labels)]),
    )["Id"]
    try:
        api.start(container)
        write_limit(api, container, device, RATE, labels=labels)
        rate = measured(
            lambda command: execute(api, container, ["bash", "-c", command], timeout=TRIAL_LIMIT), RATE
        )
    finally:
        api.remove_container(container, force=True, v=True)
    return None if rate <= CLEARLY * RATE else f"limited to {RATE} bytes per second, it wrote {rate:.0f}"
