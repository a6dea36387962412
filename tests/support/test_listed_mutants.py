"""Each mutant of tests/data/mutants is noticed by the test files that it names, all of which `make test` runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.mutation import by_file

LISTS = sorted((Path(__file__).parents[1] / "data" / "mutants").glob("*.toml"))


@pytest.mark.parametrize("file", LISTS, ids=lambda file: file.stem)
def test_each_applies_to_the_present_source(file: Path) -> None:
    for mutant in by_file.read(file):
        mutant.source()  # raises DoesNotApply, which names it
        assert all(Path(by_file.ROOT, tests.partition("::")[0]).exists() for tests in mutant.tests), mutant


@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=[pytest.mark.cluster] if file.stem == "cluster" else [], id=file.stem)
        for file in LISTS
    ],
)
def test_each_is_noticed(file: Path) -> None:
    mutants = by_file.read(file)
    assert mutants
    assert [*by_file.survivors(mutants)] == []
