"""All that an experiment needs of a machine, made sure of at once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.setup.engine import ensure_engine
from pytest_kafkacheck.setup.image_build import ensure_images
from pytest_kafkacheck.setup.java import ensure_java, ensure_quick_start


def ensure_all(say: Say, *, versions: Sequence[str]) -> None:
    """Ensure Java for Spark, a Docker engine that answers, and images of Kafka versions. Every step is idempotent.

    `say` gets one line for each. Raises InfrastructureError, whose message says what was tried and what to do.
    """
    ensure_quick_start(ensure_java(say), say)
    ensure_engine(say)
    with closing(connect()) as client:
        for version in versions:
            ensure_images(client, version, say)
