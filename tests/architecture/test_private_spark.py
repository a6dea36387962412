"""The private parts of PySpark, Py4J and Spark are used in one folder, which alone a new release can break."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "analyzers" / "spark" / "internals"

MODULES = (
    "pyspark.java_gateway",
    "pyspark.serializers",
    "pyspark.core",
    "pyspark.sql.classic",
    "pyspark.sql.connect",
)
"""Modules without documentation for users, and Py4J's except its errors."""

ACCESSORS = ("getattr", "setattr", "hasattr", "delattr")
PYSPARK = ("_j", "_sc", "_gateway", "_active", "_instantiated", "_PYSPARK", "_session")
"""How private names of PySpark begin."""


def private_uses(source: str) -> Iterator[str]:
    """Attributes that begin with ``_``, of anything but ``self``, also by `getattr`, and modules."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(attr=name) if name.startswith("_") and not name.startswith("__"):
                yield f"{node.lineno}: {ast.unparse(node)}"
            case ast.Call(func=ast.Name(id=called), args=[_, ast.Constant(value=str(name)), *_]) if (
                called in ACCESSORS and name.startswith("_") and not name.startswith("__")
            ):
                yield f"{node.lineno}: {ast.unparse(node)}"
            case ast.ImportFrom(module=str(name)) | ast.Import(names=[ast.alias(name=name), *_]) if (
                name.startswith(MODULES) or (name.startswith("py4j") and name != "py4j.protocol")
            ):
                yield f"{node.lineno}: {name}"
            case ast.Constant(value=str(text)) if text.startswith(("_PYSPARK", "PYSPARK_GATEWAY")):
                yield f"{node.lineno}: {text}"


def test_private_parts_of_spark_are_used_in_one_folder() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{use}"
        for path in (ROOT / "analyzers").rglob("*.py")
        if not path.is_relative_to(FOLDER)
        for use in private_uses(path.read_text())
    ]
    assert found == []


def test_other_packages_use_none() -> None:
    """They have private parts of their own, so only PySpark's names are looked for."""
    found = [
        f"{path.relative_to(ROOT)}:{use}"
        for package in ("pytest_kafkacheck", "workloads", "nemesis")
        for path in (ROOT / package).rglob("*.py")
        if "pyspark" in (text := path.read_text()) or "spark" in path.name
        for use in private_uses(text)
        if use.partition(": ")[2].rpartition(".")[2].startswith(PYSPARK)
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "spark._jvm.java.lang.System.exit(0)", "frame._jdf", "session._jsparkSession", "SparkContext._gateway = None",
        "getattr(spark, '_sc', None)", "from pyspark.java_gateway import launch_gateway", "import py4j.java_gateway",
        "environment['_PYSPARK_DRIVER_CONN_INFO_PATH']", "x = self.spark._jsc.sc()",
    ],
)  # fmt: skip
def test_private_parts_are_seen(source: str) -> None:
    assert len([*private_uses(source)]) == 1


def test_the_folder_is_not_empty() -> None:
    uses = [use for path in FOLDER.glob("*.py") for use in private_uses(path.read_text())]
    assert len(uses) > 20
