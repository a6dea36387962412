"""Mutants in a list: each with the place of the change, the code before and after it, and the tests that notice it.

A place is a function, a method or a constant of a module. The code is compared by its syntax tree, and a text by
its content, so that neither a line number nor the layout of the source matters.
"""

from __future__ import annotations

import ast
import inspect
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.mutation.sites import definitions, places

LISTS = Path(__file__).parents[2] / "data" / "mutants"


@dataclass(frozen=True, kw_only=True)
class Listed:
    module: str
    where: str
    before: str
    """Python: an expression or a statement. With is_text: a part of a text, such as SQL."""
    after: str
    is_text: bool = False
    number: int = 1
    """Of the places in `where` with this code, from 1 on."""
    tests: str
    """The file with tests of which one fails, or the id of a test without its parameters."""

    @property
    def name(self) -> str:
        return f"{self.module}.{self.where}: {self.before} -> {self.after}"

    def altered(self) -> dict[str, Any]:
        """The globals of the module with this change."""
        module = import_module(self.module)
        tree = ast.parse(inspect.getsource(module))
        found = 0
        for root in (root for where, root, _ in definitions(tree) if where == self.where):
            for replace, node in list(places(root, with_texts=self.is_text)):
                other = self._other(node)
                if other is not None:
                    found += 1
                    if found == self.number:
                        replace(ast.fix_missing_locations(ast.copy_location(other, node)))
        if found < self.number:
            raise LookupError(f"{self.name}: {self.where} has {found} places with this code")
        return executed(module, tree)

    def _other(self, node: ast.AST) -> ast.AST | None:
        if self.is_text:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and self.before in node.value:
                return ast.Constant(value=node.value.replace(self.before, self.after, 1))
            return None
        before, after = pair(self.before, self.after)
        return after if isinstance(node, type(before)) and unparsed(node) == unparsed(before) else None


def executed(module: ModuleType, tree: ast.Module) -> dict[str, Any]:
    """The globals of a module whose source is this tree. Dataclasses look up the module of their name for types."""
    defined: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    defined["__package__"] = module.__package__
    assert sys.modules[module.__name__] is module
    exec(compile(tree, f"mutant of {module.__file__}", "exec"), defined)
    return defined


def pair(before: str, after: str) -> tuple[ast.AST, ast.AST]:
    """Two expressions, or two statements."""
    (old,), (new,) = ast.parse(before).body, ast.parse(after).body
    if isinstance(old, ast.Expr) and isinstance(new, ast.Expr):
        return old.value, new.value
    return old, new


def unparsed(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node))


def read(file: Path) -> Iterator[Listed]:
    for tests, mutants in tomllib.loads(file.read_text()).items():
        for each in mutants:
            yield Listed(tests=tests, **each)
