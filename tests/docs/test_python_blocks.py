"""Every block of Python in the documentation compiles, and its imports exist.

Blocks run as a module. Test functions that take the fixture `kafkacheck` run up to its call, so that each
experiment of the documentation is one that kafkacheck accepts. Not run here:

- what comes after that call, because it needs a cluster: tests/cluster and examples/ run such tests;
- test functions with other fixtures, and blocks in `FRAGMENTS`, which begin in the middle of a test.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import pytest_kafkacheck
from tests.docs.markdown import PAGES, Block, blocks

FOUND = [each for page in PAGES for each in blocks(page) if each.language == "python"]
FRAGMENTS = {
    "clusters.md": {"kafkacheck_cluster"},
    "clients.md": {"kafkacheck_recorder"},
    "scenarios.md": {"Claim"},
    "architecture.md": {"Writer", "run", "process", "begin", "end"},
}
"""Names that a block of the page may use without defining them: fixtures of the test around it, variables, and what a
file imports that the block shows in part."""
ARGUMENTS = {"seed": 7}
"""Of parametrized tests."""

each_block = pytest.mark.parametrize("block", FOUND, ids=str)


class _AcceptedError(Exception):
    """An experiment was made, and its test asks to run it."""


def _kafkacheck(experiment: object) -> None:
    assert isinstance(experiment, pytest_kafkacheck.Experiment)
    raise _AcceptedError


@each_block
def test_imports_exist(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Import):
            for each in node.names:
                import_module(each.name)
        elif isinstance(node, ast.ImportFrom):
            module = import_module(str(node.module))
            missing = [each.name for each in node.names if not hasattr(module, each.name)]
            assert not missing, f"{node.module} has no {missing}"


@each_block
def test_the_block_runs_up_to_its_cluster(block: Block) -> None:
    # A fragment of an example uses the public names that the example above it has imported.
    names: dict[str, Any] = {
        "__name__": "example",
        **{each: getattr(pytest_kafkacheck, each) for each in pytest_kafkacheck.__all__},
    }
    try:
        exec(compile(block.text, str(block), "exec"), names)
    except NameError as error:
        if error.name in FRAGMENTS.get(block.page, ()):
            return
        raise
    for test in [each for name, each in names.items() if name.startswith("test_")]:
        _run_up_to_the_cluster(test)


def _run_up_to_the_cluster(test: Callable[..., Any]) -> None:
    parameters = inspect.signature(test).parameters
    if not parameters.keys() <= {"kafkacheck", *ARGUMENTS}:
        return
    given = {name: value for name, value in ARGUMENTS.items() if name in parameters}
    with pytest.raises(_AcceptedError):
        test(kafkacheck=_kafkacheck, **given)


def test_the_pages_have_blocks_of_python() -> None:
    assert len(FOUND) > 30
