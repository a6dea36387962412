"""A limit on what a container writes to a block device, set in the control group of the running container.

The engine's own call to change it (``update`` with a rate of a device) reports success and changes nothing, so a
helper container writes into the host's control groups. With version 1 of them it has access to the tree of block
devices only.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from docker.errors import APIError, NotFound

from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.errors import InfrastructureError

SCRIPT = Path(__file__).with_name("write_limit.sh").read_text()

LIMIT = 20
"""Seconds for the helper container to end."""


def write_limit(
    api: Any, container: str, device: str, *change: int | None, labels: Mapping[str, str]
) -> int | None:
    """The limit in bytes per second that the kernel reports, after a change to `change`; None for none.

    A container that does not run has no control group, and so no limit. Raises InfrastructureError when the kernel
    has no such limit, or the helper may not set it.
    """
    if not api.inspect_container(container)["State"]["Running"]:
        return None
    rates = [str(rate or 0) for rate in change]
    tree = "/sys/fs/cgroup/blkio" if api.info().get("CgroupVersion", "1") == "1" else "/sys/fs/cgroup"
    helper = api.create_container(
        image=agent_image(),
        command=["sh", "-c", SCRIPT, "write_limit", container, device, *rates],
        labels=dict(labels),
        network_disabled=True,
        # The files belong to root: the helper needs no capability.
        host_config=api.create_host_config(
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            binds={tree: {"bind": "/host/cgroup", "mode": "rw"}},
        ),
    )["Id"]
    try:
        api.start(helper)
        status = int(api.wait(helper, timeout=LIMIT)["StatusCode"])
        output = api.logs(helper).decode(errors="replace").strip()
    except (APIError, OSError) as error:
        raise InfrastructureError(f"The helper for the limit of {device} does not run: {error}") from error
    finally:
        with suppress(NotFound):
            api.remove_container(helper, force=True, v=True)
    if status:
        raise InfrastructureError(f"The writes to {device} could not be limited (status {status}): {output}")
    return int(output) or None
