"""Rules for the methods of Spark's data frames and windows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy

from tests.support.mutation.sites import Rule
from tests.support.mutation.sql import OTHER_FUNCTION

LEFT_OUT = {"where", "distinct", "unionByName", "union", "withColumn"}
"""Methods that return rows of the same columns, or a column more."""

KEYED = {"partitionBy", "groupBy", "orderBy"}

HOW = {"left": "inner", "left_semi": None, "left_anti": None}
"""By kind of join, what stands in its place; None: no join."""


def calls(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="F"), attr="desc"), args=[inner]):
            yield inner
        case ast.Call(func=ast.Attribute(value=ast.Name(id="F"), attr=name)) if name in OTHER_FUNCTION:
            yield _calling(node, OTHER_FUNCTION[name])
        case ast.Call(func=ast.Attribute(value=receiver, attr=name)) if name in LEFT_OUT:
            yield receiver
        case ast.Call(func=ast.Attribute(value=receiver, attr="join"), args=[_, _, ast.Constant(value=how)]):
            other = HOW.get(how)
            yield _with(node, 2, ast.Constant(value=other)) if other else receiver
        case ast.Call(func=ast.Attribute(attr="rowsBetween" | "rangeBetween"), args=[_, end]):
            match end:
                case ast.Constant(value=0):
                    yield _with(node, 1, ast.Constant(value=-1))
                case ast.UnaryOp(op=ast.USub()):
                    yield _with(node, 1, ast.Constant(value=0))
        case ast.Call(func=ast.Attribute(attr=name), args=[_, _, *_] as args) if name in KEYED:
            for index, each in enumerate(args):
                if not isinstance(each, ast.Starred) and (index or name != "orderBy"):
                    other_call = copy(node)
                    other_call.args = [*args[:index], *args[index + 1 :]]
                    yield other_call
        case ast.List(elts=[_, _, *_] as names) if len(names) < 7 and all(map(_is_name, names)):
            for index, each in enumerate(names):
                if not isinstance(each, ast.Starred):
                    yield ast.List(elts=[*names[:index], *names[index + 1 :]], ctx=node.ctx)
        case ast.Tuple(elts=[ast.Constant(value=int()), ast.Constant(value=int()), *_] as numbers):
            yield ast.Tuple(elts=[*numbers[::-1]], ctx=node.ctx)


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Starred) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _calling(node: ast.Call, name: str) -> ast.AST:
    other = copy(node)
    other.func = copy(node.func)
    other.func.attr = name  # type: ignore[attr-defined]
    return other


def _with(node: ast.Call, index: int, argument: ast.expr) -> ast.AST:
    other = copy(node)
    other.args = [*node.args[:index], argument, *node.args[index + 1 :]]
    return other


FRAMES: tuple[Rule, ...] = (calls,)
