"""Keeps the modules that a package knows and those that Python knows the same, after a test with `pytester`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

PACKAGES = ("analyzers", "nemesis", "pytest_kafkacheck", "workloads")


@pytest.fixture
def pytester(pytester: pytest.Pytester) -> Iterator[pytest.Pytester]:
    """As pytest's own. An inner session in this process loads modules, and pytester removes them from `sys.modules`.

    Their packages still have them as attributes, so `from workloads import stored` in a later test would get a module
    whose classes are not those that other modules import.
    """
    yield pytester
    forget_removed_modules()


def forget_removed_modules() -> None:
    for package in [module for name, module in sys.modules.items() if name.split(".")[0] in PACKAGES]:
        for name, value in list(vars(package).items()):
            is_submodule = isinstance(value, ModuleType) and value.__name__ == f"{package.__name__}.{name}"
            if is_submodule and sys.modules.get(value.__name__) is not value:
                delattr(package, name)
