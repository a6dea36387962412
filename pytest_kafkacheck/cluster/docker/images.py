"""Names of the images that clusters run, and the location of the files from which they are built.

`pytest_kafkacheck.setup.image_build` pulls or builds them. An image that is built here carries a digest of what it is
built from in its tag, so that a change of the build gives a new image.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from docker.errors import ImageNotFound


def compose_dir() -> Path:
    """The directory ``compose/``: inside the package where it is installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    packaged = package / "_compose"
    return packaged if packaged.is_dir() else package.parent / "compose"


@cache
def agent_image() -> str:
    """The base image, which agents, sidecars and helpers run: Debian with nftables, iproute2 and Java."""
    return f"kafkacheck/base:{_digest('packages.txt', 'agent.Dockerfile')}"


def official_image(version: str) -> str:
    return f"apache/kafka:{version}"


def local_image(version: str) -> str:
    """The broker image that is built here where no registry has an official one."""
    return f"kafkacheck/kafka:{version}-{_digest('packages.txt', 'pom.xml', 'broker.Dockerfile')}"


def image_for(version: str, client: Any) -> str:
    """The broker image for a version: the official one if the engine has it, else the local one, present or not."""
    official = official_image(version)
    return official if is_present(client, official) else local_image(version)


def is_present(client: Any, image: str) -> bool:
    """Whether the engine has the image."""
    try:
        client.images.get(image)
    except ImageNotFound:
        return False
    return True


def _digest(*names: str) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update((compose_dir() / "image" / name).read_bytes())
    return digest.hexdigest()[:12]
