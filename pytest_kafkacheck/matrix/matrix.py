"""All cells of a matrix: those to run, and those that are impossible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.matrix.cell import Cell, Expected
from pytest_kafkacheck.matrix.config_matrix import ConfigMatrix
from pytest_kafkacheck.matrix.scenario import Scenario, all_scenarios

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True)
class Matrix:
    """every: all cells, also impossible ones. skip_impossible: whether the rest may run where there are some."""

    every: tuple[Cell, ...]
    skip_impossible: bool = False

    @cached_property
    def impossible(self) -> Mapping[str, str]:
        """Why, by name of configuration."""
        return {cell.chosen.name: reason for cell in self.every if (reason := cell.impossible) is not None}

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Those to run. Raises UsageError that lists the impossible ones, unless they are to be skipped, and where
        no other is left."""
        possible = tuple(cell for cell in self.every if cell.chosen.name not in self.impossible)
        listed = "; ".join(f"{name} ({reason})" for name, reason in self.impossible.items())
        if self.impossible and not self.skip_impossible:
            raise UsageError(
                f"{len(self.every) - len(possible)} of {len(self.every)} cells are impossible: {listed}. Leave these "
                f"values out, or let the rest run: ConfigMatrix(..., skip_impossible=True), or --skip-impossible"
            )
        if not possible:
            raise UsageError(f"every cell is impossible: {listed}")
        return possible

    def expecting(self, expected: Callable[[Cell], Expected | None]) -> Matrix:
        """The same cells, each with what this function returns instead of the prediction; None leaves that."""
        return replace(
            self, every=tuple(replace(cell, stated=expected(cell) or cell.stated) for cell in self.every)
        )

    @property
    def parametrize(self) -> pytest.MarkDecorator:
        """A decorator of a test with the argument ``cell``: one test for each."""
        import pytest

        return pytest.mark.parametrize("cell", [pytest.param(cell, id=cell.id) for cell in self.cells])

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)


@dataclass(frozen=True)
class Scenarios:
    """Made by `scenarios`; multiply a `ConfigMatrix` by it."""

    chosen: tuple[Scenario, ...]

    def __rmul__(self, configurations: object) -> Matrix:
        if not isinstance(configurations, ConfigMatrix):
            return NotImplemented
        return Matrix(
            tuple(Cell(chosen, scenario) for scenario in self.chosen for chosen in configurations.chosen),
            configurations.skip_impossible,
        )

    def __iter__(self) -> Iterator[Scenario]:
        return iter(self.chosen)


def scenarios(*names: str) -> Scenarios:
    """The scenarios of these names; without names, all. Raises UsageError that lists what there is."""
    known = all_scenarios()
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"no scenario {unknown[0]!r}; there are {', '.join(known)}")
    return Scenarios(tuple(known[name] for name in dict.fromkeys(names or known)))
