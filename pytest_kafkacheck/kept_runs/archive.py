"""A run as one file, to send to somebody who is to look at it."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_kafkacheck.errors import UsageError

SECRET = re.compile(r"password|secret|token|jaas|credential|private.?key|passphrase", re.IGNORECASE)
"""Names of settings whose values do not leave the machine."""

REMOVED = "(removed by kafkacheck pack)"

TEXTS = (".jsonl", ".log", ".txt", ".html", ".md")
"""Files besides JSON in which secret values are looked for. Histories hold what clients did, not how they connect."""

SHORTEST = 4
"""Characters of a secret that is replaced in text; a shorter one occurs everywhere."""


def pack(run: Path, file: Path) -> dict[str, int]:
    """Write ``<name of the run>/...`` as a tar.gz. Returns the bytes in it by part, such as ``history``.

    Settings whose names say that they are secret have no value in it, and no text of it has their values. A shrink
    that was made of the run is left out: its runs are runs of their own.
    Raises UsageError for a file that exists or cannot be written.
    """
    sizes: dict[str, int] = {}
    hidden = sorted(secrets(run), key=len, reverse=True)
    try:
        with tarfile.open(file, "x:gz", compresslevel=6) as archive:
            for source in _files(run):
                inside = source.relative_to(run)
                content = source.read_bytes()
                if source.suffix == ".json":
                    content = _json_without(content, hidden)
                elif source.suffix in TEXTS:
                    content = _without(content, hidden)
                entry = tarfile.TarInfo(str(Path(run.name) / inside))
                entry.size, entry.mtime = len(content), int(source.stat().st_mtime)
                archive.addfile(entry, io.BytesIO(content))
                sizes[inside.parts[0]] = sizes.get(inside.parts[0], 0) + len(content)
    except FileExistsError as error:
        raise UsageError(f"{file}: exists; name another file, or remove it first") from error
    except BaseException as error:
        file.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise UsageError(f"{file}: cannot be written ({error})") from error
        raise
    return sizes


def secrets(run: Path) -> set[str]:
    """Values of secret settings in the run's JSON files."""
    found: set[str] = set()
    for file in run.glob("*.json"):
        try:
            found |= set(_secrets(json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, ValueError, RecursionError):
            continue
    return {each for each in found if len(each) >= SHORTEST and not each.isdecimal()}


def _secrets(data: Any, *, is_secret: bool = False) -> Iterator[str]:
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _secrets(value, is_secret=is_secret or SECRET.search(name) is not None)
    elif isinstance(data, list):
        for value in data:
            yield from _secrets(value, is_secret=is_secret)
    elif is_secret and isinstance(data, str):
        yield data


def _json_without(content: bytes, hidden: list[str]) -> bytes:
    """Value by value: a secret of digits only is no part of a number."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return _without(content, hidden)
    return json.dumps(_shown(data, hidden), indent=2).encode() + b"\n"


def _shown(data: Any, hidden: list[str], *, is_secret: bool = False) -> Any:
    if isinstance(data, Mapping):
        return {
            name: _shown(value, hidden, is_secret=is_secret or SECRET.search(name) is not None)
            for name, value in data.items()
        }
    if isinstance(data, list):
        return [_shown(value, hidden, is_secret=is_secret) for value in data]
    if not isinstance(data, str):
        return data
    return REMOVED if is_secret else _without(data.encode(), hidden).decode()


def _without(content: bytes, hidden: list[str]) -> bytes:
    for secret in hidden:
        for form in (secret, json.dumps(secret)[1:-1]):
            content = content.replace(form.encode(), REMOVED.encode())
    return content


def _files(run: Path) -> list[Path]:
    found = (each for each in run.rglob("*") if each.is_file() and not each.is_symlink())
    return sorted(each for each in found if each.relative_to(run).parts[0] != "shrink")
