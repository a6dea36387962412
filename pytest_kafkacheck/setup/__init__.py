"""Making sure of what kafkacheck needs of a machine: Java, a Docker engine, images. Every step is idempotent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

Say = Callable[[str], None]


def ensure_all(say: Say, *, versions: Sequence[str]) -> None:
    """Java for Spark, an engine that answers, the images of Kafka versions; one line to `say` for each.

    Raises InfrastructureError saying what was tried and what to do.
    """
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.setup.engine import ensure_engine
    from pytest_kafkacheck.setup.image import ensure_images
    from pytest_kafkacheck.setup.java import ensure_java, ensure_quick_start

    ensure_quick_start(ensure_java(say), say)
    ensure_engine(say)
    with closing(connect()) as client:
        for version in versions:
            ensure_images(client, version, say)
