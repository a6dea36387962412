"""Mutants of a module: one node of its syntax tree replaced at a time."""

from __future__ import annotations
import __future__

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType, ModuleType

ANNOTATIONS = __future__.annotations.compiler_flag

LONG, AROUND = 200, 40
"""Characters."""

Rule = Callable[[ast.AST], Iterable[ast.AST]]
"""The nodes that may stand in place of a node; none where the rule does not apply."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    module: str
    where: str
    """The function, method (``Class.method``) or constant in which it lies."""
    change: str
    """The text of the node, before and after. It does not depend on the line, so that a list of mutants stays
    valid when other code of the module changes."""
    compiled: Callable[[bool], CodeType]
    """True: of the whole module, False: of the statement of the module in which the change lies."""

    @property
    def name(self) -> str:
        return f"{self.module.rpartition('.')[2]}.{self.where}: {self.change}"


def mutants(module: ModuleType, rules: Sequence[Rule], *, skip: Iterable[str] = ()) -> Iterator[Mutant]:
    """skip: functions and constants that stay as they are."""
    tree = ast.parse(inspect.getsource(module))
    counts: dict[tuple[str, str], int] = {}
    for where, root, statement in definitions(tree):
        if where in skip:
            continue
        for replace, node in list(places(root)):
            for other in (each for rule in rules for each in rule(node)):
                change = _change(_text(node), _text(other))
                number = counts[where, change] = counts.get((where, change), 0) + 1
                ast.fix_missing_locations(ast.copy_location(other, node))
                yield Mutant(
                    module=module.__name__,
                    where=where,
                    change=change + (f" (#{number})" if number > 1 else ""),
                    compiled=partial(_compiled, tree, statement, replace, node, other),
                )


def _compiled(
    tree: ast.Module,
    statement: ast.stmt,
    replace: Callable[[ast.AST], None],
    node: ast.AST,
    other: ast.AST,
    whole: bool,
) -> CodeType:
    replace(other)
    code = compile(
        tree if whole else ast.Module(body=[statement], type_ignores=[]), "mutant", "exec", ANNOTATIONS
    )
    replace(node)
    return code


def definitions(tree: ast.Module) -> Iterator[tuple[str, ast.AST, ast.stmt]]:
    """Each function, method and constant of a module: its name, its node, and the statement in which it lies."""
    for each in tree.body:
        match each:
            case ast.FunctionDef():
                yield each.name, each, each
            case ast.ClassDef():
                yield from (
                    (f"{each.name}.{inner.name}", inner, each)
                    for inner in each.body
                    if isinstance(inner, ast.FunctionDef)
                )
            case ast.Assign(targets=[ast.Tuple() as several]):
                yield ast.unparse(several), each, each
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, each, each


def places(root: ast.AST, *, with_texts: bool = False) -> Iterator[tuple[Callable[[ast.AST], None], ast.AST]]:
    """Every node below the root that is evaluated, and a function that puts another one in its place.

    with_texts: also the parts of f-strings."""
    for name, held in ast.iter_fields(root):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "targets"):
            continue
        for index, node in enumerate(held if isinstance(held, list) else [held]):
            if not isinstance(node, ast.AST) or _is_docstring(root, name, index, node):
                continue
            yield _replacing(root, name, index if isinstance(held, list) else None), node
            if with_texts or not isinstance(node, ast.JoinedStr):
                yield from places(node, with_texts=with_texts)


def _replacing(parent: ast.AST, name: str, index: int | None) -> Callable[[ast.AST], None]:
    def replace(node: ast.AST) -> None:
        if index is None:
            setattr(parent, name, node)
        else:
            getattr(parent, name)[index] = node

    return replace


def _is_docstring(parent: ast.AST, name: str, index: int, node: ast.AST) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(parent, ast.FunctionDef) and name == "body" and index == 0 and text


def _change(before: str, after: str) -> str:
    """Of long texts, only what differs, with some text around it."""
    if max(len(before), len(after)) > LONG:
        first = next(
            (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
            min(len(before), len(after)),
        )
        most = min(len(before), len(after)) - first
        last = next((i for i in range(most) if before[-1 - i] != after[-1 - i]), most)
        begin, end = max(0, first - AROUND), max(0, last - AROUND)
        before, after = before[begin : len(before) - end], after[begin : len(after) - end]
    return f"{before} -> {after}"


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
