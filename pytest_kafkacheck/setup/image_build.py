"""Pulls or builds images: Kafka's own from a registry where one answers, else one built here with the same layout.

Agents always run the base image, because Kafka's own has neither nftables nor iproute2.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from docker.errors import APIError, DockerException

from pytest_kafkacheck.cluster.docker.engine import require_image
from pytest_kafkacheck.cluster.docker.images import (
    agent_image,
    archived_image,
    image_for,
    is_present,
    local_image,
    official_image,
)
from pytest_kafkacheck.cluster.nodes.launch import compose_dir
from pytest_kafkacheck.cluster.spec.release import RELEASES, release_of
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.setup import debian
from pytest_kafkacheck.setup.class_archives import ensure_class_archives
from workloads.user_cache import user_cache

SUITE = "bookworm"
CONTENT = "kafkacheck.content"
"""Label of an image that was built here: its name, whose tag contains a digest of the sources of the build."""


BUILD = "KAFKACHECK_BUILD_IMAGES"
"""Environment variable: "no" refuses to build or pull what is missing when a cluster starts. `kafkacheck image build`
and `kafkacheck setup` do so in any case."""


def prepare(client: Any, spec: ClusterSpec, say: Say) -> None:
    """What a start needs: the images, and the class archives that make the start fast.

    What is missing is built. Processes that start clusters at the same time, such as workers of xdist, build it once:
    the others wait. Raises InfrastructureError where it cannot be built, or where `BUILD` forbids it.
    """
    release = spec.release
    if release.like is not None and spec.version not in _said:
        _said.add(spec.version)
        say(
            f"Kafka {spec.version} is newer than {release.like}, the newest line that this kafkacheck knows: it gets "
            f"the settings and features of {release.like}"
        )
    image = spec.image or image_for(spec.version, client)
    if all(is_present(client, each) for each in (image, agent_image())):
        if archived_image(client, image) is not None:
            return
    elif spec.image is not None or os.environ.get(BUILD) == "no":
        for needed in (image, agent_image()):
            require_image(client, needed)
    with building(spec.version, say):
        if spec.image is None:
            ensure_images(client, spec.version, say)
        else:
            ensure_class_archives(client, spec.version, image, say)


_said: set[str] = set()
"""Releases of which this process has said that they are too new."""


@contextlib.contextmanager
def building(version: str, say: Say) -> Iterator[None]:
    """No other process of this user builds an image of the release meanwhile. The lock ends with its process."""
    with contextlib.ExitStack() as stack:
        # Without a folder of its own, a user may build an image twice, which does no harm.
        with contextlib.suppress(OSError):
            path = user_cache() / f"build-{version}.lock"
            path.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(path.open("w"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"waiting until another process has built the image of Kafka {version}")
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure_images(client: Any, version: str, say: Say) -> None:
    """The image of a version and what makes its clusters start fast. Raises InfrastructureError."""
    ensure_image(client, version, say)
    ensure_class_archives(client, version, image_for(version, client), say)


def ensure_image(client: Any, version: str, say: Say) -> None:
    """Pull or build the broker image of a version and the base image. Raises InfrastructureError."""
    if not is_present(client, image_for(version, client)):
        if pulled(client, official_image(version), say):
            say(f"image {official_image(version)}: pulled")
        else:
            _ensure_base(client, say)
            build_broker(client, version, say)
    else:
        say(f"image {image_for(version, client)}: present")
    _ensure_base(client, say)


def listed(client: Any) -> Iterator[tuple[str, str, str, int | None]]:
    """(Kafka version, image, state, bytes) of the tested releases, others that are there, and the base image."""
    versions = {release.tested for release in RELEASES.values()} | set(_present(client))
    names = {each: image_for(each, client) for each in sorted(versions, key=_numbers)}
    for version, name in {**names, "(agents)": agent_image()}.items():
        if not is_present(client, name):
            yield version, name, "absent: kafkacheck image build", None
            continue
        origin = "built here" if name.startswith("kafkacheck/") else "pulled"
        yield version, name, origin, int(client.images.get(name).attrs["Size"])


def _present(client: Any) -> Iterator[str]:
    """Releases whose images the engine has."""
    for image in client.images.list():
        for tag in image.tags:
            # Podman names the registry as well.
            if found := re.search(r"(?:^|/)(?:apache|kafkacheck)/kafka:(\d+\.\d+\.\d+)(?:-\w+)?$", tag):
                yield found[1]


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _ensure_base(client: Any, say: Say) -> None:
    if is_present(client, agent_image()):
        return
    if pulled(client, f"debian:{SUITE}-slim", say):
        say(f"building {agent_image()} on debian:{SUITE}-slim")
        with tempfile.TemporaryDirectory(prefix="kafkacheck-") as folder:
            shutil.copy(compose_dir() / "image" / "agent.Dockerfile", Path(folder) / "Dockerfile")
            shutil.copy(compose_dir() / "image" / "packages.txt", folder)
            _build(client, folder, agent_image())
        return
    say(f"building {agent_image()} from Debian packages, about a minute")
    packages = (compose_dir() / "image" / "packages.txt").read_text().split()
    build_from_debian(client, agent_image(), packages, say)


def build_from_debian(client: Any, image: str, packages: Sequence[str], say: Say) -> None:
    """An image with Debian's smallest system and these packages. Raises InfrastructureError."""
    if shutil.which("debootstrap") is None:
        debian.install(["debootstrap"], why="no registry answers, so the image is built here", say=say)
    with tempfile.TemporaryDirectory(prefix="kafkacheck-") as folder:
        root = Path(folder) / "root"
        included = f"--include={','.join(packages)}"
        debian.run(["debootstrap", "--variant=minbase", included, SUITE, str(root), *mirror()])
        # Streamed, because the file system has half a gigabyte.
        with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as tar:
            assert tar.stdout is not None
            repository, tag = image.split(":")
            client.api.import_image_from_stream(tar.stdout, repository=repository, tag=tag)
        if tar.returncode:
            raise InfrastructureError(f"tar of the new file system ended with status {tar.returncode}")
    if not is_present(client, image):
        raise InfrastructureError(f"The engine accepted the file system, but has no image {image!r}.")


def build_broker(client: Any, version: str, say: Say) -> None:
    say(f"building {local_image(version)} from Maven artifacts")
    if shutil.which("mvn") is None:
        debian.install(["maven"], why="no registry answers, so Kafka's jars are fetched by Maven", say=say)
    with tempfile.TemporaryDirectory(prefix="kafkacheck-") as folder:
        context = Path(folder)
        fetch_jars(version, context / "libs")
        shutil.copy(compose_dir() / "image" / "broker.Dockerfile", context / "Dockerfile")
        _build(client, folder, local_image(version), BASE=agent_image())


def fetch_jars(version: str, folder: Path) -> None:
    """The jars of a release and its logging, by Maven. Raises InfrastructureError."""
    release = release_of(version)
    with tempfile.TemporaryDirectory(prefix="kafkacheck-") as elsewhere:
        try:
            debian.run(
                [
                    "mvn", "-q", "-B", "-f", str(compose_dir() / "image" / "pom.xml"), f"-P{release.logging}",
                    "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}",
                    f"-Dkafka.version={version}",
                ],
                cwd=elsewhere,
            )  # fmt: skip
        except InfrastructureError as error:
            # The second text is that of a failure which Maven remembers.
            if not re.search("Could not find artifact|was not found in", str(error)):
                raise
            raise InfrastructureError(
                f"Maven finds no Kafka {version}: choose a release that exists, such as {release.tested}"
            ) from None


def _build(client: Any, folder: str, tag: str, **arguments: str) -> None:
    try:
        client.images.build(path=folder, tag=tag, buildargs=arguments, rm=True, labels={CONTENT: tag})
    except DockerException as error:
        raise InfrastructureError(f"The engine could not build {tag}: {error}") from error


def pulled(client: Any, image: str, say: Say) -> bool:
    """Whether the image is present or could be pulled.

    An unreachable registry is no error: the image is built then.
    """
    if is_present(client, image):
        return True
    say(f"asking the registry for {image}")
    try:
        client.images.pull(*image.split(":"))
    except APIError:
        return False
    return True


def mirror() -> list[str]:
    """The Debian mirror of this machine as an argument for debootstrap; empty for debootstrap's default."""
    sites = _debian_sites()
    if not sites:
        # apt knows the origin of a site only after its lists were fetched, which a new machine may not have done.
        debian.run(["apt-get", "update", "-qq"])
        sites = _debian_sites()
    return sites[:1]


def _debian_sites() -> list[str]:
    command = ["apt-get", "indextargets", "--format", "$(SITE) $(ORIGIN)"]
    done = subprocess.run(command, capture_output=True, text=True)
    return [line.split(" ", 1)[0] for line in done.stdout.splitlines() if line.endswith("Debian")]
