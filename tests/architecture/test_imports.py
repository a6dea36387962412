"""No file imports another one in a circle, however indirectly and wherever the import stands."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

PACKAGES = ("pytest_kafkacheck", "nemesis", "workloads", "analyzers")


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Every import of every file: also inside functions and under TYPE_CHECKING."""
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def test_no_file_imports_another_in_a_circle(graph: grimp.ImportGraph) -> None:
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(f"these files import each other in a circle: {' <- '.join(error.args[1])}")


def test_the_check_for_circles_sees_imports_inside_functions(graph: grimp.ImportGraph) -> None:
    # `Spark.start` imports the session when it is called, because the plugin must load without PySpark.
    assert "analyzers.spark.session" in graph.find_modules_directly_imported_by("pytest_kafkacheck.spark")


@pytest.mark.parametrize("leaf", ["pytest_kafkacheck.plugin", "pytest_kafkacheck.cli"])
def test_nothing_imports_the_plugin_or_a_command(graph: grimp.ImportGraph, leaf: str) -> None:
    importers = {
        importer
        for module in graph.modules
        if module == leaf or module.startswith(f"{leaf}.")
        for importer in graph.find_modules_that_directly_import(module)
    }
    outside = {each for each in importers if each != leaf and not each.startswith(f"{leaf}.")}
    assert outside - {"pytest_kafkacheck.__main__"} == set()
