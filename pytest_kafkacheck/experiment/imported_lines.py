"""A history as JSON lines, imported into a folder in which it can be judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzers.catalogue.registry import require_known
from analyzers.verdict.promises import require_promises
from pytest_kafkacheck.errors import UsageError
from workloads.history.lines.imports import import_lines
from workloads.history.lines.parse import BadLines


@dataclass(frozen=True, kw_only=True)
class ImportedLines:
    """path      the file.
    home      the folder with its tables.
    clients   names by process number, where the file does not use numbers.
    requires  promises without which the verdict is unknown; None: those that the history is about.
    allow     anomalies that are reported without effect.
    """

    path: Path
    home: Path
    clients: Mapping[int, str]
    requires: frozenset[str] | None
    allow: frozenset[str]


def import_run(
    path: Path, home: Path, *, requires: Sequence[str] | None = None, allow: Sequence[str] = ()
) -> ImportedLines:
    """Import a file into a folder without history. Raises UsageError that names the bad lines.

    requires, allow  beside those of the file.
    """
    try:
        found = import_lines(path, home)
    except BadLines as error:
        raise UsageError(str(error)) from error
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path}: cannot be imported into {home} ({type(error).__name__}: {error})"
        ) from error
    try:
        required = None if found.requires is None else require_promises(found.requires)
        allowed = require_known(found.allow)
    except ValueError as error:
        raise UsageError(f"{path}: line 1: {error}") from error
    if requires is not None:
        required = require_promises(requires) | (required or frozenset())
    return ImportedLines(
        path=path,
        home=home,
        clients=found.clients,
        requires=required,
        allow=allowed | require_known(allow),
    )
