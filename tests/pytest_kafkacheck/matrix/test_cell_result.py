"""What runs of a cell showed, as a result."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_kafkacheck import ConfigMatrix, scenarios
from pytest_kafkacheck.errors import VerdictError
from pytest_kafkacheck.matrix.cell import Cell
from pytest_kafkacheck.matrix.cell_result import CellResult, Shown, worst_state
from pytest_kafkacheck.matrix.table import as_csv, as_json, markdown, plain, rows, summary

KEPT = Shown(path="runs/1", written=1204, lost=0, acks_in_window=7, without_acks=3.14, latency_median=0.002,
             latency_99=0.01)  # fmt: skip
LOST = replace(KEPT, lost=510)
REFUSED = replace(KEPT, acks_in_window=0)


def cell(scenario: str = "leader-killed", **values: Any) -> Cell:
    return (ConfigMatrix(**{name: [value] for name, value in values.items()}) * scenarios(scenario)).cells[0]


SAFE = cell()
LOSING = cell(acks=1)
REFUSING = cell("isr-of-one-killed")


@pytest.mark.parametrize(
    ("of", "shown", "state"),
    [
        (SAFE, KEPT, "as predicted"),
        (SAFE, LOST, "not as predicted"),
        (SAFE, REFUSED, "not as predicted"),
        (SAFE, replace(KEPT, anomalies=("duplicate",)), "not as predicted"),
        (SAFE, replace(KEPT, unproved=("kill of 1 had no effect",)), "not exercised"),
        (SAFE, replace(KEPT, doubts=("a reader stopped",)), "not exercised"),
        (LOSING, LOST, "as predicted"),
        (LOSING, KEPT, "not reproduced"),
        (SAFE, replace(LOST, unproved=("kill of 1 had no effect",)), "not as predicted"),
        (LOSING, replace(LOST, doubts=("a reader stopped",)), "as predicted"),
        (LOSING, replace(LOST, unproved=("kill of 1 had no effect",)), "not exercised"),
        (LOSING, replace(KEPT, unproved=("kill of 1 had no effect",)), "not exercised"),
        (REFUSING, REFUSED, "as predicted"),
        (REFUSING, KEPT, "not as predicted"),
        (REFUSING, replace(LOST, acks_in_window=0), "not as predicted"),
    ],
)
def test_the_state_of_a_cell(of: Cell, shown: Shown, state: str) -> None:
    assert CellResult(of, (shown,)).state == state


def test_a_loss_that_does_not_occur_is_no_pass_and_says_how_often_it_was_tried() -> None:
    result = CellResult(LOSING, (KEPT, KEPT, KEPT))
    assert result.needs_another_try
    assert result.verdict == "loss not reproduced in 3 tries"
    with pytest.raises(VerdictError, match="loss not reproduced in 3 tries"):
        result.assert_as_predicted()
    assert worst_state([CellResult(SAFE, (KEPT,)), result]) == "not reproduced"


def test_a_loss_whose_fault_was_not_proved_is_named_with_what_is_missing() -> None:
    result = CellResult(LOSING, (replace(LOST, unproved=("kill of 1 had no effect",)),))
    assert result.needs_another_try
    assert result.verdict == "not exercised: 510 of 1,204 lost, but kill of 1 had no effect"


def test_a_failure_names_what_was_shown_what_was_expected_and_why() -> None:
    with pytest.raises(VerdictError) as raised:
        CellResult(SAFE, (LOST,)).assert_as_predicted()
    said = str(raised.value)
    assert "not as predicted: broken: 510 of 1,204 lost, expected: keeps" in said
    assert "an in-sync follower has every acknowledged record" in said
    assert "runs/1" in said


def test_the_table_in_every_form() -> None:
    results = [CellResult(SAFE, (KEPT,)).to_json(), CellResult(LOSING, (LOST,)).to_json()]
    page = markdown(results, {"acks=1-idempotence=true": "needs acks=all"})
    assert (
        "| leader-killed | acks=all | keeps | kept 1,204 of 1,204 | as predicted | 3.1 s | – | 2.0 / 10.0 ms |"
        in page
    )
    assert "- acks=1-idempotence=true: needs acks=all" in page
    assert json.loads(as_json(results, {}))["cells"][1]["lost"] == 510
    first, second = csv.DictReader(io.StringIO(as_csv(results)))
    assert (first["acks"], first["lost"], second["acks"], second["lost"]) == ("all", "0", "1", "510")
    assert plain(results)[0].startswith("scenario")
    assert summary(results) == "2 cells: 2 as predicted"


def test_each_line_says_where_another_release_than_the_one_asked_for_showed_it() -> None:
    for asked, where in (("3.9.1", f" (shown on {SAFE.version})"), (SAFE.version, ""), (None, "")):
        result = CellResult(replace(SAFE, asked=asked), (KEPT,))
        (row,) = rows([result.to_json()])
        assert [text for text in row if "shown on" in text] == [text for text in row[3:5] if where]
        assert result.guarantee.endswith(where or result.guarantee)
        assert result.verdict == f"as predicted{where}"
        assert (result.to_json()["version"], result.to_json()["asked"]) == (
            SAFE.version,
            asked or SAFE.version,
        )
