"""Regenerates every generated file of the project: ``.venv/bin/python docs/generate``.

Each module in this folder whose name does not begin with an underscore has a function
``generate(root: Path) -> dict[Path, str]``. It returns the files that it generates: absolute path to whole text. To
generate parts of a page that people write, read the page and replace the blocks between markers (see `_blocks`).

``--check`` writes nothing. It lists the files that are not up to date, and exits with status 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

COMMAND = ".venv/bin/python docs/generate"


def generated() -> dict[Path, str]:
    """Every generated file with the text that it should have."""
    files: dict[Path, str] = {}
    for path in sorted(HERE.glob("*.py")):
        if not path.name.startswith("_"):
            found = import_module(path.stem).generate(ROOT)
            assert not files.keys() & found.keys(), f"{path.name} generates what another module does"
            files |= found
    return files


def main() -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where a file is stale")
    only_check = parser.parse_args().check
    stale = [
        (path, text)
        for path, text in generated().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in stale:
        name = path.relative_to(ROOT)
        if only_check:
            print(f"{name} is not up to date: run `{COMMAND}`")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{name}: written")
    return 1 if only_check and stale else 0


if __name__ == "__main__":
    # The folder of this file is on the path already. The project's own packages come from this checkout.
    sys.path.insert(1, str(ROOT))
    sys.exit(main())
