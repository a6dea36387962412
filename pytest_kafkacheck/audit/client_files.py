"""What the settings of producers and consumers, in files of Java's form, say of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_kafkacheck.cluster.spec.client_settings import parse_properties
from pytest_kafkacheck.errors import UsageError

ACKS = {"all": "all", "-1": "all", "1": 1, "0": 0}
RESETS = {
    "earliest": "earliest", "smallest": "earliest", "beginning": "earliest",
    "latest": "latest", "largest": "latest", "end": "latest",
    "none": "none", "error": "none",
}  # fmt: skip
"""Also by librdkafka's names."""

BOOLEANS = {"true": True, "false": False}


class Read(NamedTuple):
    """known: fields of a `Configuration`. unknown: fields with the values that the program may give them."""

    known: dict[str, Any]
    unknown: dict[str, tuple[Any, ...]]


def read_producer(file: Path) -> Read:
    """Raises UsageError naming the file, the setting and what is allowed."""
    return of_producer(_read(file), lambda _: str(file))


def read_consumer(file: Path) -> Read:
    """Raises UsageError as `read_producer` does."""
    return of_consumer(_read(file), lambda _: str(file))


Where = Callable[[str], str]
"""The place of a setting."""


def of_producer(settings: Mapping[str, str], where: Where) -> Read:
    known: dict[str, Any] = {}
    for name in ("acks", "request.required.acks"):
        if name in settings:
            known["acks"] = _one_of(where, name, settings[name], ACKS)
    if (name := "enable.idempotence") in settings:
        known["idempotence"] = _one_of(where, name, settings[name], BOOLEANS)
    return Read(known, {})


def of_consumer(settings: Mapping[str, str], where: Where) -> Read:
    """With Kafka's defaults for what is not in the file.

    librdkafka takes a record for processed as soon as the program has it, unless enable.auto.offset.store=false; a
    file that has this setting is one for librdkafka.
    """
    is_auto = _one_of(where, "enable.auto.commit", settings.get("enable.auto.commit", "true"), BOOLEANS)
    stored = settings.get("enable.auto.offset.store")
    reset = _one_of(where, "auto.offset.reset", settings.get("auto.offset.reset", "latest"), RESETS)
    known = {"auto_offset_reset": reset}
    if is_auto and stored is not None and _one_of(where, "enable.auto.offset.store", stored, BOOLEANS):
        return Read({**known, "commit": "auto-asynchronous"}, {})
    by_program = ("auto", "auto-asynchronous") if is_auto and stored is None else None
    return Read(known, {"commit": by_program or ("after-processing", "before-processing")})


def _read(file: Path) -> Mapping[str, str]:
    try:
        return parse_properties(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text file"
        raise UsageError(f"{file}: cannot be read: {reason}") from error


def _one_of(where: Where, name: str, value: str, allowed: Mapping[str, Any]) -> Any:
    if value.strip().lower() not in allowed:
        raise UsageError(f"{where(name)}: {name}={value}: expected {', '.join(allowed)}")
    return allowed[value.strip().lower()]
