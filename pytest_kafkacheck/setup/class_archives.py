"""Makes class archives (AppCDS) by starting and stopping each kind of node once."""

from __future__ import annotations

import contextlib
import logging
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docker.errors import APIError, DockerException

from pytest_kafkacheck.cluster.docker import images
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.images import FOLDER, archived_image, archived_name
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
from pytest_kafkacheck.cluster.spec.release import release_of
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.progress import Say

log = logging.getLogger(__name__)

BASE = "kafkacheck.class-archives-of"
"""Label: name of the image to which archives were added."""

ARCHIVES = {"combined": "kraft", "zookeeper": "zookeeper", "broker": "zookeeper-mode"}
"""Name of the archive by the role of a node in the training clusters; start.sh uses the same names."""

_failed: set[str] = set()
"""Images for which this process does not try again."""


def ensure_class_archives(client: Any, version: str, image: str, say: Say) -> str:
    """Return the image with class archives. Making it takes as long as starting one or two clusters.

    Returns `image` itself when the archives cannot be made, because clusters start without them, only more slowly.
    """
    if (found := archived_image(client, image)) is not None:
        return found
    if image in _failed:
        return image
    say(f"image {image}: archiving the classes its nodes load, so that clusters start in half the time")
    try:
        archives: dict[str, bytes] = {}
        for spec in _training_specs(version, image):
            archives |= _train(client, spec)
        return build_archived_image(client, image, archives)
    except (InfrastructureError, DockerException, OSError) as error:
        _failed.add(image)
        log.warning("no class archives for %s, clusters start more slowly: %s", image, error)
        return image


def build_archived_image(client: Any, image: str, archives: Mapping[str, bytes]) -> str:
    """Add archives, given by name, to an image and remove the images that earlier builds of it left."""
    name = archived_name(client, image)
    with tempfile.TemporaryDirectory(prefix="kafkacheck-") as folder:
        Path(folder, "Dockerfile").write_text(f"FROM {image}\nCOPY *.jsa {FOLDER}/\n")
        for archive, content in archives.items():
            Path(folder, f"{archive}.jsa").write_bytes(content)
        made, _ = client.images.build(path=folder, tag=name, rm=True, labels={BASE: image})
    for old in client.images.list(name=images.REPOSITORY, filters={"label": f"{BASE}={image}"}):
        if old.id != made.id:
            # The engine refuses where a running cluster still uses it.
            with contextlib.suppress(APIError):
                client.images.remove(old.id)
    return name


def _training_specs(version: str, image: str) -> list[ClusterSpec]:
    """The smallest clusters in which each kind of node occurs."""
    zookeepers = {"kraft": 0, "zookeeper": 1}
    modes = release_of(version).modes
    return [
        ClusterSpec(version=version, brokers=1, zookeepers=zookeepers[mode], image=image) for mode in modes
    ]


def _train(client: Any, spec: ClusterSpec) -> dict[str, bytes]:
    """Archives by name, from a cluster that wrote and read a record."""
    with (
        tempfile.TemporaryDirectory(prefix="kafkacheck-") as logs,
        running(client, spec, run=f"train-{secrets.token_hex(4)}", logs=Path(logs), boot="train") as cluster,
    ):
        return archives_of(cluster)


def archives_of(cluster: AnyCluster) -> dict[str, bytes]:
    """Archives by name, of a cluster that was started with boot="train". Stops its nodes."""
    archives: dict[str, bytes] = {}
    for node in sorted(cluster.nodes.values(), key=lambda node: node.id):
        # The JVM writes the archive when it ends.
        node.stop()
        name = ARCHIVES[node.member.role]
        archives[name] = node.get(f"{FOLDER}/{name}.jsa")
    return archives
