"""The images that clusters run: their names, and the files from which they are built.

`pytest_kafkacheck.setup.image_build` pulls or builds them. An image that is built here carries a digest of what it is
built from in its tag, so that a change of the build gives a new image.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

from docker.errors import ImageNotFound

from pytest_kafkacheck.cluster.nodes.launch import START, compose_dir


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


# The image with archives of the classes that a broker image's nodes load (AppCDS): a JVM starts in half the time. An
# archive fits one image and one JVM, so it is kept as a layer on that image. An image appears whole or not at all, so
# two sessions may make it at once; a volume would need a lock. `pytest_kafkacheck.setup.class_archives` makes it.

REPOSITORY = "kafkacheck/class-archives"

FOLDER = "/k/class-archives"
"""Where start.sh looks for archives, and where it writes them in training."""


def archived_image(client: Any, image: str) -> str | None:
    """Name of the image that adds class archives to `image`; None while there is none."""
    name = archived_name(client, image)
    return name if is_present(client, name) else None


def archived_name(client: Any, image: str) -> str:
    """The name that this image has or will have: it changes with the base image and with the start command."""
    digest = hashlib.sha256(f"{client.images.get(image).id} {START}".encode()).hexdigest()[:16]
    return f"{REPOSITORY}:{digest}"
