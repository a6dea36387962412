"""Which faults the engine's host can do, found out by trying."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from docker.errors import DockerException

from nemesis.capabilities import lacking
from nemesis.faults import FAULTS
from pytest_kafkacheck.cluster import disk, reaper
from pytest_kafkacheck.errors import CapabilityError
from pytest_kafkacheck.setup.image import agent_image

LIMIT = 30
"""Seconds after which the container that tries things ends by itself."""

PROBES = {
    "nft": "nft add table inet kafkacheck_doctor && nft delete table inet kafkacheck_doctor",
    "tbf": "tc qdisc add dev lo root tbf rate 1mbit burst 32kb latency 400ms && tc qdisc del dev lo root",
    "netem": "tc qdisc add dev lo root netem delay 1ms && tc qdisc del dev lo root",
    "clock": '[ "$(uname -m)" = x86_64 ] || { echo "this is $(uname -m)"; false; }',
}
"""A command for each, which works where it is there; what it prints otherwise is the reason."""


def able(client: Any, capabilities: Iterable[str]) -> dict[str, str | None]:
    """By capability why the host has it not, None where it has. Nothing that it makes stays."""
    wanted = set(capabilities)
    found: dict[str, str | None] = {}
    if "disks" in wanted:
        found["disks"] = disk.lacking(client)
    if not wanted & PROBES.keys():
        return found
    api = client.api
    container = None
    try:
        container = api.create_container(
            image=agent_image(),
            command=["sleep", str(LIMIT)],
            labels=reaper.labels(f"doctor-{secrets.token_hex(4)}"),
            host_config=api.create_host_config(
                cap_add=["NET_ADMIN", *(["SYS_PTRACE"] if "clock" in wanted else [])], network_mode="none"
            ),
        )["Id"]
        api.start(container)
        for name in sorted(wanted & PROBES.keys()):
            run = api.exec_create(container, ["bash", "-c", PROBES[name]])["Id"]
            said = api.exec_start(run).decode(errors="replace").strip()
            status = api.exec_inspect(run)["ExitCode"]
            found[name] = None if status == 0 else said or f"status {status}"
    except (DockerException, OSError) as error:
        why = f"a container with NET_ADMIN does not run: {error}"
        return {**dict.fromkeys(wanted, why), **found}
    finally:
        if container is not None:
            api.remove_container(container, force=True, v=True)
    return found


def require(client: Any, faults: Iterable[str]) -> None:
    """Raises CapabilityError, naming each fault and its reason, when the host cannot do all of them."""
    named = tuple(dict.fromkeys(faults))
    needs = {need for name in named for need in FAULTS[name].needs}
    if needs and (missing := lacking(named, able(client, needs))):
        reasons = "; ".join(f"{fault}: {why}" for fault, why in missing.items())
        raise CapabilityError(
            f"this host cannot do what the experiment asks for: {reasons}. See `kafkacheck doctor`"
        )
