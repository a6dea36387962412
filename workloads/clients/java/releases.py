"""The releases of Apache Kafka's Java client, as names of client libraries have them."""

from __future__ import annotations

import re

JAVA = "java"

DEFAULT_RELEASE = "4.3.1"
"""Of kafka-clients: the newest that is tested with all workloads."""

LEAST = (2, 8)

_NAME = re.compile(rf"{JAVA}(?:-(?P<release>.*))?")
_RELEASE = re.compile(r"(\d+)\.(\d+)\.\d+")


def is_java(name: str) -> bool:
    """Whether the name of a library means a Java client, of whatever release."""
    return _NAME.fullmatch(name) is not None


def release_in(name: str) -> str:
    """The release that the name of a library means: "3.7.2" of "java-3.7.2". Raises ValueError as `checked`."""
    found = _NAME.fullmatch(name)
    assert found is not None, name
    release = found["release"]
    return DEFAULT_RELEASE if release is None else checked(release)


def checked(release: object, least: tuple[int, int] = LEAST) -> str:
    """Raises ValueError for what is no release of kafka-clients that is supported, or is of an earlier line."""
    numbers = _RELEASE.fullmatch(release) if isinstance(release, str) else None
    if numbers is None:
        raise ValueError(f"{release!r}: expected a release of kafka-clients, such as '3.7.2'")
    if (int(numbers[1]), int(numbers[2])) < least:
        raise ValueError(f"{release!r}: expected a release of kafka-clients from {least[0]}.{least[1]}.0 on")
    return str(release)
