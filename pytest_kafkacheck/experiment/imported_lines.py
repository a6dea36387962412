"""A history as JSON lines, imported into a folder in which it can be judged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzers.catalogue.registry import require_known
from analyzers.history.surroundings import Unit
from analyzers.verdict.promises import require_promises
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.stored_json import read_json, what_is_wrong
from workloads.history.lines.imports import import_lines
from workloads.history.lines.parse import BadLines

FILE = "imported.json"


@dataclass(frozen=True, kw_only=True)
class ImportedLines:
    """A folder with it keeps this in ``imported.json``, so that it is judged again by the same rules.

    path      the file.
    home      the folder with its tables.
    clients   names by process number, where the file does not use numbers.
    unit      in which its times are shown.
    requires  promises without which the verdict is unknown; None: those that the history is about.
    allow     anomalies that are reported without effect.
    """

    path: Path
    home: Path
    clients: Mapping[int, str]
    requires: frozenset[str] | None
    allow: frozenset[str]
    unit: Unit = "s"

    def write(self) -> None:
        data = {
            # A folder that holds its file may be moved.
            "path": self.path.name if self.path.parent == self.home else str(self.path.resolve()),
            "clients": self.clients,
            "unit": self.unit,
            "requires": None if self.requires is None else sorted(self.requires),
            "allow": sorted(self.allow),
        }
        (self.home / FILE).write_text(json.dumps(data, indent=2) + "\n")

    @classmethod
    def read(cls, home: Path) -> ImportedLines | None:
        """Of a folder; None if nothing was imported into it. Raises UsageError for a file that `write` did not
        write."""
        file = home / FILE
        if not file.exists():
            return None
        data = read_json(file)
        try:
            requires = data["requires"]
            return cls(
                path=home / data["path"],
                home=home,
                clients={int(number): str(name) for number, name in data["clients"].items()},
                requires=None if requires is None else require_promises(requires),
                allow=require_known(data["allow"]),
                unit=data.get("unit", "s"),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{file}: not what an import has written: {what_is_wrong(error)}") from error


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
    lines = ImportedLines(
        path=path,
        home=home,
        clients=found.clients,
        requires=required,
        allow=allowed | require_known(allow),
        unit=found.unit,
    )
    lines.write()
    return lines
