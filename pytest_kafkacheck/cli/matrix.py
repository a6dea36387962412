"""``kafkacheck matrix``: run the cells of a matrix, and print what each configuration keeps and what it costs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say, show
from pytest_kafkacheck.cli.common.options import (
    add_directory_option,
    add_spark_options,
    bound_values,
    spark_options,
)
from pytest_kafkacheck.cli.common.results import (
    add_matrix_outputs,
    check_matrix_outputs,
    write_json,
    write_matrix,
)
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.matrix.cell import Cell
    from pytest_kafkacheck.matrix.matrix import Matrix

TRIES = 3


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a Python file with ConfigMatrix(...) * scenarios(...)"
    )
    parser.add_argument(
        "--cell", metavar="PATTERN", help="only cells whose name matches, such as 'leader-*acks=1*'"
    )
    parser.add_argument(
        "--tries",
        metavar="N",
        type=int,
        default=TRIES,
        help="runs of a cell whose loss does not occur; default: %(default)s",
    )
    parser.add_argument(
        "--list", action="store_true", help="print the cells with what is expected; run nothing"
    )
    parser.add_argument(
        "--skip-impossible", action="store_true", help="run the rest where some cells are impossible"
    )
    add_matrix_outputs(parser)
    add_spark_options(parser)
    add_directory_option(parser)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.matrix.batch import check_cells, run_cells

    if options.tries < 1:
        raise UsageError(f"--tries {options.tries}: expected 1 or more")
    check_matrix_outputs(options)
    matrix = load(options.file, skip_impossible=options.skip_impossible)
    cells = [cell for cell in matrix if options.cell is None or fnmatchcase(cell.id, options.cell)]
    if not cells:
        raise UsageError(f"--cell {options.cell}: matches none of {', '.join(cell.id for cell in matrix)}")
    if options.list:
        return _list(options, cells, matrix.impossible)
    with Harness(options.dir, say=say, show=show, **spark_options(options)) as harness:
        check_cells(harness, cells)
        results = run_cells(harness, cells, tries=options.tries, say=say)
    return write_matrix(options, results, matrix.impossible)


def _list(options: argparse.Namespace, cells: Sequence[Cell], impossible: Mapping[str, str]) -> int:
    if options.json is not None:
        listed = [
            {"cell": cell.id, "expected": cell.expected, "why": [*cell.predicted.why]} for cell in cells
        ]
        write_json(options.json, {"cells": listed, "impossible": dict(impossible)})
    if options.json != "-":
        for cell in cells:
            print(f"{cell.id}: {cell.expected}{_reasons(cell.predicted.why)}")
        for name, reason in impossible.items():
            print(f"{name}: impossible: {reason}")
    return AS_EXPECTED


def _reasons(why: tuple[str, ...]) -> str:
    return f" ({'; '.join(why)})" if why else ""


def load(file: Path, *, skip_impossible: bool) -> Matrix:
    """The matrix that a Python file binds at its top level; several are one. Raises UsageError."""
    from pytest_kafkacheck.matrix.matrix import Matrix

    found = [value for value in bound_values(file) if isinstance(value, Matrix)]
    if not found:
        raise UsageError(
            f"{file}: binds no matrix at its top level, such as `matrix = ConfigMatrix(...) * scenarios(...)`"
        )
    cells = dict.fromkeys(cell for matrix in found for cell in matrix.every)
    return Matrix(tuple(cells), skip_impossible or all(matrix.skip_impossible for matrix in found))


COMMAND = Command(
    name="matrix",
    help="what configurations keep in each scenario, and what they cost",
    order=32,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck matrix matrix.py --list",
        "kafkacheck matrix matrix.py --cell 'leader-*acks=1*' --markdown matrix.md",
    ),
)
