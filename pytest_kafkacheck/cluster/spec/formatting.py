"""Storage formatted without a JVM: what StorageTool writes is kept, and given to the next node as a file.

The checkpoint holds the feature levels and SCRAM users of a cluster, and neither its id nor a node's: it is the same
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
"""Where StorageTool leaves it."""


def meta_properties(node: int, cluster_id: str) -> str:
    """meta.properties of a node's new and empty directory."""
    directory = secrets.token_urlsafe(16).replace("-", "a").replace("_", "b")
    return f"version=1\ncluster.id={cluster_id}\ndirectory.id={directory}\nnode.id={node}\n"


class Checkpoint:
    """The kept checkpoint of an image, by its id, and arguments of StorageTool's format."""

    def __init__(self, image: str, arguments: Sequence[str]) -> None:
        digest = hashlib.sha256("\0".join([image, *arguments]).encode()).hexdigest()[:24]
        self._path = _cache() / f"checkpoint-{digest}"

    def read(self) -> bytes | None:
        """None when there is none yet."""
        try:
            return self._path.read_bytes()
        except OSError:
            return None

    def write(self, content: bytes) -> None:
        """Keep it. Failing to is no error: the next cluster is formatted by StorageTool again."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._path.parent, delete=False) as file:
                file.write(content)
            os.replace(file.name, self._path)
        except OSError:
            return


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafkacheck"
