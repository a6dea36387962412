"""The image of the example application for containers, built from what is on this machine."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker.images import image_for
from tests.support.real_cluster import own

COPIER = Path(__file__).parents[2] / "examples" / "container_copier"

LIBS = "/opt/kafka/libs"


@contextmanager
def copier_image(engine: Any, *, version: str = "4.1.1") -> Iterator[str]:
    """Its name. Skips where there is no Java compiler."""
    if (compiler := shutil.which("javac")) is None:
        pytest.skip("javac is not installed, which compiles examples/container_copier")
    base, name = image_for(version, engine), f"kafkacheck-tests/{own('copier')}:1"
    with tempfile.TemporaryDirectory() as folder:
        jar = _extracted(engine, base, f"kafka-clients-{version}.jar", Path(folder))
        context = Path(folder) / "context"
        shutil.copytree(COPIER, context)
        subprocess.run(
            [compiler, "-cp", str(jar), "-d", str(context), str(COPIER / "Copier.java")], check=True
        )
        engine.images.build(path=str(context), tag=name, buildargs={"KAFKA_IMAGE": base}, rm=True)
    try:
        yield name
    finally:
        engine.images.remove(name, force=True)


def _extracted(engine: Any, image: str, name: str, folder: Path) -> Path:
    container = engine.api.create_container(image=image, command=["true"])["Id"]
    try:
        parts, _ = engine.api.get_archive(container, f"{LIBS}/{name}")
        with tarfile.open(fileobj=io.BytesIO(b"".join(parts))) as archive:
            archive.extract(name, folder, filter="data")
    finally:
        engine.api.remove_container(container)
    return folder / name
