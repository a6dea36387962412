"""Mutants as data in tests/data/mutants: single changes of the product that stated test files notice.

A file has one table for each test file, which must fail with each of its mutants alone:

    ["tests/nemesis/test_every_fault.py"]
    "nemesis/faults/kill.py Kill.inject" = [["end_process(context)", "pass"]]

The key is a module and a function, class or constant in it. Each pair is a piece of its text and what stands there
instead. The text is that of `ast.unparse`, so that neither comments nor line breaks count; the piece must occur once.
Test files of several packages are separated by blanks.

From the command line, all mutants of files, or only those of certain test files:

    python -m tests.support.mutation.by_file tests/data/mutants/*.toml [--only tests/nemesis]
"""

from __future__ import annotations

import argparse
import ast
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]

LIMIT = 600.0
"""Seconds for the tests of one mutant. A mutant that makes them hang is noticed, too."""

LEFT_OUT = (".git", ".venv*", "dist", "__pycache__", ".*_cache", ".kafkacheck")


class DoesNotApply(ValueError):
    """The product has no such function, or its text has the piece not exactly once."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One mutant. tests: files, of which at least one test must fail."""

    module: str
    where: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.module} {self.where}: {self.old!r} -> {self.new!r}"

    def source(self, root: Path = ROOT) -> str:
        """The text of the whole module with the change."""
        tree = ast.parse((root / self.module).read_text())
        body, index = _definition(tree, self.where)
        text = ast.unparse(body[index])
        if text.count(self.old) != 1:
            raise DoesNotApply(f"{self}: the text occurs {text.count(self.old)} times in\n{text}")
        body[index : index + 1] = ast.parse(text.replace(self.old, self.new)).body
        return ast.unparse(tree)


def read(file: Path) -> list[Listed]:
    """All mutants of a file of data."""
    return [
        Listed(module=module, where=where, old=old, new=new, tests=tuple(tests.split()))
        for tests, places in tomllib.loads(file.read_text()).items()
        for (module, _, where), changes in ((key.partition(" "), each) for key, each in places.items())
        for old, new in changes
    ]


def survivors(mutants: Iterable[Listed]) -> Iterator[str]:
    """Those that no test notices, and those that do not apply, each with the reason."""
    with copy_of_the_project() as root:
        for mutant in mutants:
            original = (root / mutant.module).read_text()
            try:
                _write(root / mutant.module, mutant.source(root))
                if (problem := _survives(root, mutant.tests)) is not None:
                    yield f"{mutant}: {problem}"
            except DoesNotApply as problem:
                yield str(problem)
            finally:
                _write(root / mutant.module, original)


_WRITES = itertools.count(1)


def _write(module: Path, text: str) -> None:
    """With a time of its own, which is what Python compares with its bytecode."""
    module.write_text(text)
    moment = time.time() + 2 * next(_WRITES)
    os.utime(module, (moment, moment))


@contextmanager
def copy_of_the_project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root = Path(folder) / ROOT.name
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        yield root


def _survives(root: Path, tests: Sequence[str]) -> str | None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n0",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not nightly",
    ]
    # Without bytecode, each start takes 10 s of processor time.
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(root / "bytecode")}
    environment = {**os.environ, **bytecode, "PYTHONPATH": str(root)}
    try:
        done = subprocess.run(
            [*command, *tests], cwd=root, env=environment, capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return None
    # 2: a test module, or a part of the product that it imports, cannot be loaded; 1: a test failed.
    return None if done.returncode in (1, 2) else f"pytest ended with {done.returncode}: {done.stdout[-300:]}"


def _definition(tree: ast.Module, where: str) -> tuple[list[ast.stmt], int]:
    """The body that holds a function, a class or a constant, and its place there."""
    body: list[ast.stmt] = tree.body
    *owners, name = where.split(".")
    for owner in owners:
        body = next((each.body for each in body if isinstance(each, _NAMED) and each.name == owner), [])
    for index, each in reversed([*enumerate(body)]):  # the last one of overloads
        if (isinstance(each, _NAMED) and each.name == name) or (
            isinstance(each, (ast.Assign, ast.AnnAssign)) and ast.unparse(each).startswith(name)
        ):
            return body, index
    raise DoesNotApply(f"{where}: there is no such function, class or constant")


_NAMED = (ast.FunctionDef, ast.ClassDef)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument(
        "--only", default="", help="only mutants whose test files have this text in their names"
    )
    chosen = parser.parse_args()
    found = [each for file in chosen.files for each in read(file) if chosen.only in " ".join(each.tests)]
    left = 0
    for problem in survivors(found):
        left += 1
        sys.stdout.write(f"SURVIVES {problem}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(found)} mutants, {left} not noticed\n")
    sys.exit(left > 0)


if __name__ == "__main__":
    main()
