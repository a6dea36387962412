"""The sibling packages have common names: make sure that it is ours that get imported."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pytest_kafkacheck.errors import UsageError

SIBLINGS = ("workloads", "nemesis", "analyzers")


def check_siblings(home: Path | None = None) -> None:
    """Raise UsageError naming the path that shadows one of our packages.

    `home` is the folder that holds our packages; default: where this one lies.
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
