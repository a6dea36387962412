"""Rules for plain Python: comparisons, conditions, numbers, orders, and steps that are left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy

from tests.support.mutation.sites import Rule

OTHERS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
"""By comparison: the one with the other boundary, and the opposite."""

SWAPPED = {"min": "max", "max": "min", "sum": "max"}


def comparisons(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            for other in OTHERS[type(operator)]:
                ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
                yield ast.Compare(left=node.left, ops=ops, comparators=node.comparators)


def conditions(node: ast.AST) -> Iterator[ast.AST]:
    """One operand less; a negation less; the other branch; the opposite of a condition that is not a comparison."""
    match node:
        case ast.BoolOp():
            yield from (_without(node, "values", index) for index in range(len(node.values)))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=inner):
            yield inner
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.If(test=ast.Name() | ast.Attribute() | ast.NamedExpr()):
            yield ast.If(
                test=ast.UnaryOp(op=ast.Not(), operand=node.test), body=node.body, orelse=node.orelse
            )
        case ast.comprehension(ifs=[_, *_]):
            other = copy(node)
            other.ifs = []
            yield other


def values(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool() as value):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value=value + 1)
        case ast.BinOp(op=ast.Add()):
            yield ast.BinOp(left=node.left, op=ast.Sub(), right=node.right)
        case ast.BinOp(op=ast.Sub()):
            yield ast.BinOp(left=node.left, op=ast.Add(), right=node.right)
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            yield ast.Call(
                func=ast.Name(id=SWAPPED[name], ctx=ast.Load()), args=node.args, keywords=node.keywords
            )
        case ast.Call(func=ast.Name(id="sorted")):
            # No order at all would be that of a set, which is the right one by chance in some processes.
            back = ast.Slice(step=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)))
            yield ast.Subscript(value=node, slice=back, ctx=ast.Load())


def omissions(node: ast.AST) -> Iterator[ast.AST]:
    """A named argument, a part of an order, an element of a set, the limits of a slice, or a statement less."""
    match node:
        case ast.Call(keywords=[_, *_]):
            yield from (_without(node, "keywords", index) for index in range(len(node.keywords)))
        case ast.Lambda(body=ast.Tuple(elts=parts)):
            yield from (
                ast.Lambda(args=node.args, body=_without(node.body, "elts", index))
                for index in range(len(parts))
            )
        case ast.Set(elts=[_, _, *_]):
            yield from (_without(node, "elts", index) for index in range(len(node.elts)))
        case ast.Subscript(slice=ast.Slice()):
            yield node.value
        case ast.Expr() | ast.AugAssign() | ast.Break():
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()


def _without(node: ast.AST, field: str, index: int) -> ast.AST:
    other = copy(node)
    rest = [each for number, each in enumerate(getattr(node, field)) if number != index]
    if isinstance(node, ast.BoolOp) and len(rest) == 1:
        return rest[0]  # type: ignore[no-any-return]
    setattr(other, field, rest)
    return other


LOGIC: tuple[Rule, ...] = (comparisons, conditions, values, omissions)
