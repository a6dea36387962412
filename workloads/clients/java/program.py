"""Runs our Java client with a release of kafka-clients."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from workloads.java_runtime import MINIMUM, build_of, candidates
from workloads.user_cache import user_cache

JAR = Path(__file__).with_name("client.jar")
MAIN = "kafkacheck.client.Main"

OPTIONS = (
    # They halve the processor time of a start, and a client of a test does not run long enough to earn it back.
    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1", "-XX:-UsePerfData", "-Xmx128m",
    # Standard output belongs to the protocol.
    "-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr",
)  # fmt: skip

NOWHERE = "127.0.0.1:1"
"""No broker listens there."""

TRAINING: tuple[dict[str, Any], ...] = (
    {
        "do": "open",
        "role": "producer",
        "config": {"bootstrap.servers": NOWHERE, "max.block.ms": "200"},
        "topics": ["t"],
    },
    {
        "do": "open",
        "role": "consumer",
        "config": {"bootstrap.servers": NOWHERE, "group.id": "g", "auto.offset.reset": "none"},
        "start": [{"topic": "t", "partition": 0, "offset": 0}],
    },
    {"do": "poll", "timeout_ms": 100},
    {"do": "close", "timeout_ms": 100},
)  # fmt: skip
"""Requests after which most classes of a client are loaded."""

ARCHIVE_LIMIT = 60
"""Seconds to make an archive, which takes about two."""


class NoJavaClient(ValueError):
    """It is not on this machine. The text says what to do."""


def jars_of(release: str) -> Path:
    """The folder of this user for kafka-clients of that release and what it depends on."""
    return user_cache() / "java-clients" / release


def is_installed(release: str) -> bool:
    return (jars_of(release) / f"kafka-clients-{release}.jar").is_file()


def check_installed(release: str) -> None:
    """Raises NoJavaClient if something is missing that a client of that release needs."""
    if not candidates():
        raise NoJavaClient(
            f"a Java client needs a Java runtime, {MINIMUM} or later: neither JAVA_HOME nor PATH has one; install "
            f"one, or run `kafkacheck setup` as root"
        )
    if not JAR.is_file():
        raise NoJavaClient(f"{JAR.name} is not built in this checkout of kafkacheck: run `make java-client`")
    if not is_installed(release):
        raise NoJavaClient(
            f"kafka-clients {release} is not on this machine: run `kafkacheck setup --clients {release}`"
        )


def command(release: str) -> list[str]:
    """Starts a client. Raises NoJavaClient."""
    check_installed(release)
    java = candidates()[0]
    archive = archive_of(release, java)
    shared = [f"-XX:SharedArchiveFile={archive}"] if archive.is_file() else []
    return _command(java, release, *shared)


def archive_of(release: str, java: Path) -> Path:
    """Of the classes that a client loads (AppCDS). With it a client starts in half the time; the JVM ignores one of
    other jars."""
    parts = (build_of(java), JAR.read_bytes())
    return jars_of(release) / f"classes-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.jsa"


def ensure_archive(release: str, java: Path) -> None:
    """Make the archive if there is none. Clients start without it as well, so a failure is none of theirs.

    Raises OSError and subprocess.SubprocessError.
    """
    archive = archive_of(release, java)
    with (jars_of(release) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if archive.is_file():
            return
        unfinished = archive.with_suffix(".unfinished")
        with suppress(FileNotFoundError):
            unfinished.unlink()
        lines = [json.dumps({"id": number, **each}) for number, each in enumerate(TRAINING)]
        subprocess.run(
            _command(java, release, f"-XX:ArchiveClassesAtExit={unfinished}"),
            input="".join(f"{line}\n" for line in lines).encode(),
            capture_output=True,
            timeout=ARCHIVE_LIMIT,
            check=True,
        )
        os.replace(unfinished, archive)


def _command(java: Path, release: str, *options: str) -> list[str]:
    # The JVM uses an archive only with the same class path, in the same order.
    path = os.pathsep.join(map(str, (JAR, *sorted(jars_of(release).glob("*.jar")))))
    return [str(java), *OPTIONS, *options, "-cp", path, MAIN]
