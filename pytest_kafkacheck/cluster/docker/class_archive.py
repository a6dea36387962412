"""The image with archives of the classes that a broker image's nodes load (AppCDS): a JVM starts in half the time.

An archive fits one image and one JVM, so it is kept as a layer on that image. An image appears whole or not at all,
so two sessions may make it at once; a volume would need a lock. `pytest_kafkacheck.setup.class_archives` makes it.
"""

from __future__ import annotations

import hashlib
from typing import Any

from pytest_kafkacheck.cluster.docker.images import is_present
from pytest_kafkacheck.cluster.docker.launch import START

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
