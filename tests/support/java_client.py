"""Apache Kafka's Java client, where this machine has it."""

from __future__ import annotations

import pytest

from workloads.clients.java import program
from workloads.clients.java.releases import DEFAULT_RELEASE, JAVA


def java_command(release: str = DEFAULT_RELEASE) -> list[str]:
    """Skips the test where that release is not on this machine."""
    try:
        return program.command(release)
    except program.NoJavaClient as error:
        pytest.skip(str(error))


def java_library(release: str = DEFAULT_RELEASE) -> str:
    """As `AppendLog.library` has it. Skips as `java_command`."""
    java_command(release)
    return f"{JAVA}-{release}"
