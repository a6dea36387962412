"""A broker image with archives of the classes that its nodes load (AppCDS), from which a JVM starts in half the time.

An archive fits one image and one JVM: made by starting each kind of node once, it is kept as a layer on the image. An
image appears whole or not at all, so that two sessions may make it at once. A volume would have to be locked.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from docker.errors import APIError, DockerException, ImageNotFound

from pytest_kafkacheck.cluster.docker.launch import START
from pytest_kafkacheck.cluster.spec.release import release_of
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError

log = logging.getLogger(__name__)

REPOSITORY = "kafkacheck/warm"
OF = "kafkacheck.warm-of"
"""Label: name of the image that it adds archives to."""

FOLDER = "/k/warm"
"""Where start.sh looks for archives."""

ARCHIVES = {"combined": "kraft", "zookeeper": "zookeeper", "broker": "zookeeper-mode"}
"""By the role of a node in the training clusters, see start.sh."""

_failed: set[str] = set()
"""Images that this process need not try again."""


def image_of(client: Any, image: str) -> str | None:
    """The name of the image with archives, or None while there is none."""
    name = _name(client, image)
    try:
        client.images.get(name)
    except ImageNotFound:
        return None
    return name


def ensure(client: Any, version: str, image: str, say: Callable[[str], None]) -> str:
    """The image with archives, made when missing, which takes as long as starting a cluster or two.

    Returns the given image when that fails: a slow start is a start.
    """
    if (found := image_of(client, image)) is not None:
        return found
    if image in _failed:
        return image
    say(f"image {image}: archiving the classes its nodes load, so that clusters start in half the time")
    try:
        files: dict[str, bytes] = {}
        for shape in _shapes(version, image):
            files |= _trained(client, shape)
        return _layered(client, image, files)
    except (InfrastructureError, DockerException, OSError) as error:
        _failed.add(image)
        log.warning("no archives for %s, clusters start more slowly: %s", image, error)
        return image


def _shapes(version: str, image: str) -> list[ClusterSpec]:
    """The smallest clusters in which each kind of node occurs."""
    counts = {"kraft": 0, "zookeeper": 1}
    modes = release_of(version).modes
    return [ClusterSpec(version=version, brokers=1, zookeepers=counts[mode], image=image) for mode in modes]


def _trained(client: Any, spec: ClusterSpec) -> dict[str, bytes]:
    """Archives by kind, from a cluster that took and gave a record."""
    from pytest_kafkacheck.cluster.docker.cluster import running

    files: dict[str, bytes] = {}
    with (
        tempfile.TemporaryDirectory(prefix="kafkacheck-") as logs,
        running(client, spec, run=f"warm-{secrets.token_hex(4)}", logs=Path(logs), boot="train") as cluster,
    ):
        for node in sorted(cluster.nodes.values(), key=lambda node: node.id):
            # The archive is written when the JVM ends.
            node.stop()
            kind = ARCHIVES[node.member.role]
            files[kind] = node.get(f"{FOLDER}/{kind}.jsa")
    return files


def _layered(client: Any, image: str, files: Mapping[str, bytes]) -> str:
    name = _name(client, image)
    with tempfile.TemporaryDirectory(prefix="kafkacheck-") as folder:
        Path(folder, "Dockerfile").write_text(f"FROM {image}\nCOPY *.jsa {FOLDER}/\n")
        for kind, content in files.items():
            Path(folder, f"{kind}.jsa").write_bytes(content)
        client.images.build(path=folder, tag=name, rm=True, labels={OF: image})
    for old in client.images.list(name=REPOSITORY, filters={"label": f"{OF}={image}"}):
        if name not in old.tags:
            # Of an image that was built anew. A cluster that still runs keeps it.
            with contextlib.suppress(APIError):
                client.images.remove(old.id)
    return name


def _name(client: Any, image: str) -> str:
    digest = hashlib.sha256(f"{client.images.get(image).id} {START}".encode()).hexdigest()[:16]
    return f"{REPOSITORY}:{digest}"
