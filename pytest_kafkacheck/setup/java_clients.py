"""Gets kafka-clients of a release: from a folder, from the local broker image of that release, or by Maven."""

from __future__ import annotations

import io
import logging
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from docker.errors import DockerException

from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.images import image_for, is_present
from pytest_kafkacheck.cluster.nodes.launch import compose_dir
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.setup import debian
from workloads.clients.java.program import JAR, ensure_archive, is_installed, jars_of
from workloads.clients.java.releases import is_java, release_in
from workloads.java_runtime import find_java

log = logging.getLogger(__name__)

LIBS = "/opt/kafka/libs"
"""In broker images."""

DEPENDENCIES = ("lz4-java-", "snappy-java-", "zstd-jni-")
"""Jars of kafka-clients besides its own, which compress batches. The API for logs is part of our own jar."""


def ensure_java_client(release: str, say: Say, *, source: Path | None = None) -> None:
    """Have that release on this machine, with its class archive.

    source  a folder with its jars, such as ``libs`` of a distribution of Kafka.
    Raises UsageError for such a folder without it, and InfrastructureError.
    """
    if source is None and is_installed(release):
        say(f"Java client {release}: present")
    elif source is not None:
        _install(release, lambda folder: _copy(release, source, folder))
        say(f"Java client {release}: copied from {source}")
    elif is_copied_from_image(release):
        say(f"Java client {release}: taken from the broker image")
    else:
        say(f"Java client {release}: getting it by Maven")
        if shutil.which("mvn") is None:
            why = f"no broker image here has kafka-clients {release}, so Maven gets it"
            debian.install(["maven"], why=why, say=say)
        _install(release, lambda folder: _by_maven(release, folder))
    _ensure_archive(release)


def provide(libraries: Iterable[str]) -> None:
    """Get the releases of kafka-clients that these names of libraries mean, as far as the broker images of this
    machine have them. What is missing then, a client says when it starts."""
    for name in libraries:
        if is_java(name) and not is_installed(release := release_in(name)) and is_copied_from_image(release):
            _ensure_archive(release)


def _ensure_archive(release: str) -> None:
    java = find_java()
    if java is None or not JAR.is_file():
        return
    try:
        ensure_archive(release, java)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("no class archive for Java clients %s, they start more slowly: %s", release, error)


def _install(release: str, fill: Callable[[Path], None]) -> None:
    """Fill a folder, which then appears as a whole. Raises InfrastructureError if it lacks kafka-clients."""
    target = jars_of(release)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="unfinished-") as unfinished:
        fill(Path(unfinished))
        if not (Path(unfinished) / f"kafka-clients-{release}.jar").is_file():
            raise InfrastructureError(f"There is no kafka-clients-{release}.jar in what was fetched.")
        os.chmod(unfinished, 0o755)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(unfinished, target)
        # The context manager removes what has its name.
        os.mkdir(unfinished)


def _is_wanted(jar: str, release: str) -> bool:
    return jar == f"kafka-clients-{release}.jar" or (jar.endswith(".jar") and jar.startswith(DEPENDENCIES))


def _copy(release: str, source: Path, folder: Path) -> None:
    found = [file for file in sorted(source.glob("*.jar")) if _is_wanted(file.name, release)]
    if not any(file.name.startswith("kafka-clients-") for file in found):
        raise UsageError(f"--from {source}: there is no kafka-clients-{release}.jar in this folder")
    for file in found:
        shutil.copy(file, folder)


def is_copied_from_image(release: str) -> bool:
    """Whether a broker image of this machine has it."""
    try:
        with closing(connect()) as client:
            image = image_for(release, client)
            if not is_present(client, image):
                return False
            container = client.api.create_container(image=image, command=["true"])["Id"]
            try:
                stream, _ = client.api.get_archive(container, LIBS)
                content = io.BytesIO(b"".join(stream))
            finally:
                client.api.remove_container(container, force=True, v=True)
    except (InfrastructureError, DockerException, UsageError):
        return False
    _install(release, lambda folder: _unpack(release, content, folder))
    return True


def _unpack(release: str, content: io.BytesIO, folder: Path) -> None:
    with tarfile.open(fileobj=content) as archive:
        for member in archive:
            name = Path(member.name).name
            if member.isfile() and _is_wanted(name, release) and (file := archive.extractfile(member)):
                (folder / name).write_bytes(file.read())


def _by_maven(release: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="kafkacheck-") as elsewhere:
        jars = Path(elsewhere) / "jars"
        command = [
            "mvn", "-q", "-B", "-f", str(compose_dir() / "image" / "clients.xml"), "dependency:copy-dependencies",
            "-DincludeScope=runtime", f"-DoutputDirectory={jars}", f"-Dkafka.version={release}",
        ]  # fmt: skip
        try:
            debian.run(command, cwd=elsewhere)
        except InfrastructureError as error:
            log.debug("%s", error)
            raise InfrastructureError(
                f"Maven could not get kafka-clients {release}: either there is no such release, or Maven's "
                f"repository is not reachable from here. To take it from elsewhere: kafkacheck setup --clients "
                f"{release} --clients-from FOLDER"
            ) from error
        _copy(release, jars, folder)
