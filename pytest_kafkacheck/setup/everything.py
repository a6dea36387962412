"""All that an experiment needs of a machine, made sure of at once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.setup.class_archives import ensure_class_archives
from pytest_kafkacheck.setup.engine import ensure_engine
from pytest_kafkacheck.setup.image_build import ensure_image
from pytest_kafkacheck.setup.java import ensure_java, ensure_quick_start
from pytest_kafkacheck.setup.java_clients import ensure_java_client
from workloads.clients.java.releases import DEFAULT_RELEASE


def ensure_all(say: Say, *, versions: Sequence[str]) -> None:
    """Ensure Java, a Docker engine that answers, images of Kafka versions, and the Java client that is the default.
    Every step is idempotent.

    An archive of classes takes 10 to 30 s of one core. Two threads make them while the next image is built, which
    mostly waits for downloads. `say` gets one line for each. Raises InfrastructureError, whose message says what was
    tried and what to do.
    """
    java = ensure_java(say)
    with ThreadPoolExecutor(2) as pool:
        archives = [pool.submit(ensure_quick_start, java, say)]
        ensure_engine(say)
        with closing(connect()) as client:
            for version in versions:
                ensure_image(client, version, say)
                archives.append(pool.submit(_ensure_class_archives, version, say))
        archives.append(pool.submit(_ensure_default_client, say))
    for archive in archives:
        archive.result()


def _ensure_default_client(say: Say) -> None:
    """Most workloads do without it."""
    try:
        ensure_java_client(DEFAULT_RELEASE, say)
    except InfrastructureError as error:
        say(f"Java client {DEFAULT_RELEASE}: missing, and library='java' cannot be used: {error}")


def _ensure_class_archives(version: str, say: Say) -> None:
    # A client of its own, because a client's connection pool is not meant for several threads.
    with closing(connect()) as client:
        ensure_class_archives(client, version, image_for(version, client), say)
