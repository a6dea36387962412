"""Every anomaly was seen on real brokers by a test that asserts it by name, or it is said why it cannot be."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from analyzers.catalogue.registry import CATALOGUE
from tests.support.sightings import PLANTED, SEEN

ROOT = Path(__file__).parents[2]


@cache
def functions(file: str) -> dict[str, ast.FunctionDef]:
    """Functions at the top level of a file, by name."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}


def test_each_anomaly_is_seen_or_planted() -> None:
    assert sorted([*SEEN, *PLANTED]) == sorted(each.name for each in CATALOGUE)


@pytest.mark.parametrize("anomaly", SEEN)
def test_the_named_test_asserts_the_anomaly(anomaly: str) -> None:
    file, _, name = SEEN[anomaly].partition("::")
    texts = {
        node.value
        for node in ast.walk(functions(file)[name])
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert anomaly in texts
