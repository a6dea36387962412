"""The client of Apache Kafka's Java library in examples/java_client, as a client library of workloads."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

JAR = Path(__file__).resolve().parents[2] / "examples" / "java_client" / "target" / "client.jar"

JAVA = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-jar", str(JAR)]
"""Starts in half the processor time that the defaults take, and up to ten of them run at the same time."""


def java_command() -> list[str]:
    """Skips the test where the client is not built."""
    if not JAR.exists():
        pytest.skip("the Java client is not built: make java-client")
    return JAVA


def java_library() -> str:
    """As `AppendLog.library` has it."""
    return f"command:{shlex.join(java_command())}"
