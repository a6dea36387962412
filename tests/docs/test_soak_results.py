"""docs/soak.md: the tables of soaks have what was measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.soak_memory import START, thirds

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "generate"))
    import soak_results

    yield soak_results
    for name in ("soak_results", "_blocks"):
        sys.modules.pop(name, None)


def test_a_column_has_the_median_of_each_third() -> None:
    samples = [{"at": START + second, "soak": 100.0 + second} for second in range(-30, 90)]
    for sample in samples[::6]:
        sample["heap"] = 50.0
    assert thirds(samples) == {"soak": [114, 144, 174], "heap": [50, 50, 50]}


def test_a_soak_has_a_row_and_one_with_samples_rows_of_memory(page: Any) -> None:
    summary = {
        "seconds": 600, "rounds": 9, "results": {"valid": 8, "invalid": 0, "unknown": 1}, "versions": {"4.1.1": 9},
        "faults": {"kill": {"effective": 3, "without_effect": 1}}, "promises": {"a": 1}, "pairs": [1, 2],
    }  # fmt: skip
    soaks = [
        {"arguments": "--x", "summary": summary, "memory": {"jvm": [1, 2, 3]}},
        {"arguments": "--y", "summary": summary},
    ]
    assert (
        page.results(soaks).splitlines()[2] == "| `--x` | 10 | 9 | 8 | 0 | 1 | 4.1.1 × 9 | 3 of 4 | 1 | 2 |"
    )
    assert page.memory(soaks).splitlines()[2:] == ["| `--x` | jvm | 1 | 2 | 3 |"]


def test_the_page_has_both_tables(page: Any) -> None:
    (text,) = page.generate(ROOT).values()
    assert text == (ROOT / "docs" / "soak.md").read_text(encoding="utf-8")
