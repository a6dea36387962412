"""What a cluster of plain processes needs of this machine: Kafka's jars, class archives, what its faults need."""

from __future__ import annotations

import logging
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from nemesis.registry import FAULTS, OF_APPLICATIONS, lacking
from pytest_kafkacheck.cluster.processes import boot
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import CapabilityError, InfrastructureError
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.setup import debian
from pytest_kafkacheck.setup.capabilities import PROBES
from pytest_kafkacheck.setup.class_archives import archives_of
from pytest_kafkacheck.setup.image_build import building, fetch_jars
from workloads.applications.confinement import why_not
from workloads.user_cache import user_cache

log = logging.getLogger(__name__)

ARCHIVES = "class-archives"

PROGRAMS = {"java": "openjdk-17-jre-headless", "nft": "nftables", "ip": "iproute2", "unshare": "util-linux"}
"""Debian's packages, by a program of each."""


def ensure_kafka_files(version: str, say: Say) -> Path:
    """The folder with a release's jars and class archives. What is missing on this machine is installed and made.

    Raises InfrastructureError where that is impossible.
    """
    if missing := [package for program, package in PROGRAMS.items() if shutil.which(program) is None]:
        debian.install(missing, why="nodes run as processes of this machine", say=say)
    if shutil.which("mvn") is None and not _files(version).is_dir():
        debian.install(["maven"], why="Kafka's jars are fetched by Maven", say=say)
    with building(version, say):
        if not (files := _files(version)).is_dir():
            say(f"fetching Kafka {version} by Maven")
            files.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=files.parent, prefix=f"{files.name}-") as folder:
                fetch_jars(version, Path(folder) / "files" / "libs")
                (Path(folder) / "files").rename(files)
        if not (files / ARCHIVES).is_dir():
            say(
                f"archiving the classes that nodes of Kafka {version} load, so that clusters start in half the time"
            )
            try:
                _archive_classes(version, files)
            except (InfrastructureError, OSError) as error:
                log.warning("no class archives for Kafka %s, clusters start more slowly: %s", version, error)
    return files


def _archive_classes(version: str, files: Path) -> None:
    spec = ClusterSpec(version=version, brokers=1)
    run = f"train-{secrets.token_hex(4)}"
    with (
        tempfile.TemporaryDirectory(prefix="kafkacheck-") as logs,
        boot.running(spec, run=run, logs=Path(logs), kafka=files, boot="train") as cluster,
    ):
        archives = archives_of(cluster)
    with tempfile.TemporaryDirectory(dir=files) as folder:
        (made := Path(folder) / ARCHIVES).mkdir()
        for name, content in archives.items():
            (made / f"{name}.jsa").write_bytes(content)
        made.rename(files / ARCHIVES)


def _files(version: str) -> Path:
    return user_cache() / f"kafka-{version}"


def require_faults(faults: Iterable[str]) -> None:
    """Raise CapabilityError, with the reasons, when such a cluster or this machine cannot do all of these faults."""
    named = tuple(faults)
    boot.require_faults(named)
    needs = {need for name in named for need in FAULTS[name].needs}
    able = {need: why_not(need) if need in OF_APPLICATIONS else _why_not(need) for need in sorted(needs)}
    if missing := lacking(named, able):
        reasons = "; ".join(f"{fault}: {why}" for fault, why in missing.items())
        raise CapabilityError(f"this host cannot do what the experiment asks for: {reasons}")


def _why_not(need: str) -> str | None:
    done = subprocess.run(["unshare", "--net", "bash", "-c", PROBES[need]], capture_output=True, text=True)
    return (
        None if done.returncode == 0 else (done.stdout + done.stderr).strip() or f"status {done.returncode}"
    )
