"""A check that our sibling packages are imported from where they were installed: their names are common ones."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pytest_kafkacheck.errors import UsageError

SIBLINGS = ("workloads", "nemesis", "analyzers")


def check_siblings(home: Path | None = None) -> None:
    """Raise UsageError if a folder or file of the same name hides one of our packages. The error names its path.

    home  the folder that holds our packages; default: the one that holds this package.
    """
    home = home or Path(__file__).resolve().parents[1]
    for name in SIBLINGS:
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin is None or origin.parents[1] != home:
            found = (spec and (spec.origin or list(spec.submodule_search_locations or []))) or "nothing"
            raise UsageError(
                f"kafkacheck needs its own package {name!r} from {home}, but importing {name!r} finds {found}.\n"
                f"A folder or file of that name comes earlier on sys.path. Rename it, or run pytest with "
                f"--import-mode=importlib and without the folder on sys.path (`pytest`, not `python -m pytest`)."
            )
