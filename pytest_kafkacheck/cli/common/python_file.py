"""Values that a user's Python file binds at its top level."""

from __future__ import annotations

import runpy
from pathlib import Path
from traceback import extract_tb

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.wrong_keyword import wrong_keyword


def bound_values(file: Path) -> list[object]:
    """Each value once, also where two names are bound to it.

    Raises UsageError for a file that does not exist, is no Python file, or cannot be run; it names the line.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    if file.suffix != ".py":
        raise UsageError(f"{file}: expected a Python file (.py)")
    try:
        names = runpy.run_path(str(file))
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
        where = f"{file}, line {lines[-1]}," if lines else str(file)
        said = wrong_keyword(error) or f"{type(error).__name__}: {error}"
        raise UsageError(f"{where} cannot be run: {said}") from error
    found: list[object] = []
    for value in names.values():
        if not any(value is other for other in found):
            found.append(value)
    return found
