"""Reads a file of a container, running or not."""

from __future__ import annotations

import io
import tarfile
from typing import Any

from docker.errors import APIError


def read_file(api: Any, container: str, path: str) -> bytes:
    """Its content. Raises FileNotFoundError, with the engine's message, when it cannot be read."""
    try:
        stream, _ = api.get_archive(container, path)
    except APIError as error:
        raise FileNotFoundError(f"{container[:12]}:{path}: {error.explanation}") from error
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
        file = archive.extractfile(archive.next() or path)
        assert file is not None
        return file.read()
