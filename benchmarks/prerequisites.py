"""What benchmarks need, checked before they start: a missing thing ends them with one line instead of a traceback."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from pytest_kafkacheck.cluster.docker.engine import connect, require_image
from pytest_kafkacheck.cluster.docker.images import agent_image, image_for
from pytest_kafkacheck.errors import InfrastructureError
from workloads.java_runtime import find_java


def require_java() -> None:
    """End the benchmark if there is no Java runtime for Spark."""
    if find_java() is None:
        _end(
            "Spark needs a Java runtime, 17 or later, and neither JAVA_HOME nor PATH has one. Install one, or on "
            "Debian/Ubuntu run `kafkacheck setup` as root"
        )


def require_images(versions: Iterable[str]) -> Any:
    """A client of a Docker engine with the images of these Kafka versions. End the benchmark if one is missing."""
    try:
        client = connect()
        for image in (*(image_for(version, client) for version in versions), agent_image()):
            require_image(client, image)
    except InfrastructureError as error:
        _end(str(error).rstrip("."))
    return client


def require_package(name: str, *, version: str, purpose: str) -> None:
    """End the benchmark if a Python package is not installed."""
    if importlib.util.find_spec(name) is None:
        _end(f"{purpose} needs the package {name}, which is not installed: pip install {name}=={version}")


def require_history(run: Path) -> None:
    """End the benchmark if a run directory has no compacted table."""
    if not run.is_dir():
        _end(f"run directory {run} does not exist")
    if not list((run / "history").glob("*/*.parquet")):
        _end(
            f"{run} holds no history/*/*.parquet. Segments become such files with `kafkacheck analyze {run}`, "
            f"and benchmarks/histories.py makes histories of any size"
        )


def require_no_history(run: Path) -> None:
    """End the benchmark if a directory that is to be written holds a history already."""
    if (run / "history").exists():
        _end(f"{run} holds a history already: name another directory, or remove {run / 'history'}")


def _end(problem: str) -> NoReturn:
    raise SystemExit(f"This benchmark cannot run: {problem}.")
