"""Formats storage without a JVM: the file that StorageTool writes is cached and copied to later nodes.

The checkpoint contains a cluster's feature levels and SCRAM users, but no id of a cluster or node. So it is the same
for all nodes of all clusters with the same image and the same arguments.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

CHECKPOINT = "/k/data/bootstrap.checkpoint"
"""The path to which StorageTool writes it."""


def meta_properties(node: int, cluster_id: str) -> str:
    """The content of meta.properties for a node's new and empty directory."""
    directory = secrets.token_urlsafe(16).replace("-", "a").replace("_", "b")
    return f"version=1\ncluster.id={cluster_id}\ndirectory.id={directory}\nnode.id={node}\n"


class Checkpoint:
    """The cached checkpoint for the id of an image and the arguments of StorageTool's format command."""

    def __init__(self, image: str, arguments: Sequence[str]) -> None:
        digest = hashlib.sha256("\0".join([image, *arguments]).encode()).hexdigest()[:24]
        self._path = _cache() / f"checkpoint-{digest}"

    def read(self) -> bytes | None:
        """The content, or None when it is not cached."""
        try:
            return self._path.read_bytes()
        except OSError:
            return None

    def write(self, content: bytes) -> None:
        """Cache the content. A failure is ignored: StorageTool then formats the next cluster as well."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._path.parent, delete=False) as file:
                file.write(content)
            os.replace(file.name, self._path)
        except OSError:
            return


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafkacheck"
