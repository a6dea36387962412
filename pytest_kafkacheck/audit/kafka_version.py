"""A Kafka release as a value that can be compared, also one that kafkacheck does not run."""

from __future__ import annotations

import re

from pytest_kafkacheck.errors import UsageError

Version = tuple[int, int, int]


def parse_version(text: str, *, where: str = "version") -> Version:
    """(4, 1, 1) from "4.1.1", and (0, 10, 2) from "0.10.2.1": before 1.0, releases had four numbers.

    "4.1" is (4, 1, 0). Raises UsageError.
    """
    if not isinstance(text, str) or not re.fullmatch(r"\d{1,3}(\.\d{1,3}){1,3}", text):
        raise UsageError(f"{where}={text!r}: expected a Kafka release, such as 4.1.1")
    first, second, third = (*map(int, text.split(".")), 0)[:3]
    return first, second, third


def version_text(version: Version) -> str:
    return ".".join(map(str, version))
